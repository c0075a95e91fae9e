"""Check of a tool's arguments against the whole JSON schema, as the parser reports it.

Grammars leave keywords out, and free calls follow none. All keywords of draft 2020-12 count but
`format`, `$dynamicRef` and schemas of other documents; the older spellings of `items` and
`dependencies` too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeGuard

import regex

from yaie.text.formats.parameter_schema import resolve_reference

_MAX_CHECKS = 20_000  # schemas applied to values; clients choose how they branch
_MAX_DEPTH = 100
_PATTERN_TIMEOUT_S = 0.02  # of one search: clients choose the patterns
_MAX_SHOWN = 40  # characters of a value


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_IS_TYPE: Mapping[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and value == value // 1,
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def find_violation(schema: Mapping[str, Any], value: object) -> str:
    """Return where and how a JSON value violates a schema; empty if it does not.

    Empty too where the check would take too long.
    """
    try:
        return next(_Check(schema).violations(schema, value, ""), "")
    except (_TooLong, TimeoutError, RecursionError):
        return ""


class _TooLong(Exception):
    pass


class _Check:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._num_checks = 0
        self._depth = 0

    def violations(self, schema: object, value: Any, at: str) -> Iterator[str]:
        """Yield the violations of a schema by the value at a place."""
        if schema is False:
            yield f"{_place(at)} is not allowed"
        if not isinstance(schema, Mapping):
            return
        self._num_checks += 1
        if self._num_checks > _MAX_CHECKS or self._depth > _MAX_DEPTH:
            raise _TooLong
        self._depth += 1
        try:
            yield from self._of_value(schema, value, at)
            yield from self._of_schemas(schema, value, at)
            if isinstance(value, dict):
                yield from self._of_object(schema, value, at)
            elif isinstance(value, list):
                yield from self._of_array(schema, value, at)
        finally:
            self._depth -= 1

    def _is_valid(self, schema: object, value: Any) -> bool:
        return next(self.violations(schema, value, ""), None) is None

    def _of_value(self, schema: Mapping[str, Any], value: Any, at: str) -> Iterator[str]:
        kinds = schema.get("type")
        names = [kinds] if isinstance(kinds, str) else _list(kinds)
        known = [_IS_TYPE[name] for name in names if name in _IS_TYPE]
        if known and not any(is_type(value) for is_type in known):
            yield f"{_place(at)} is {_shown(value)}, not of type {' or '.join(names)}"
        if "const" in schema and not _equals(value, schema["const"]):
            yield f"{_place(at)} is {_shown(value)}, not {_shown(schema['const'])}"
        allowed = schema.get("enum")
        if isinstance(allowed, list) and not any(_equals(value, each) for each in allowed):
            yield f"{_place(at)} is {_shown(value)}, which enum does not list"
        if isinstance(value, str):
            pattern = schema.get("pattern")
            if isinstance(pattern, str) and not _matches(pattern, value):
                yield f"{_place(at)} is {_shown(value)}, which does not match pattern {pattern:.80}"
            yield from _of_size(schema, len(value), at, "minLength", "maxLength")
        if _is_number(value):
            yield from _of_number(schema, value, at)

    def _of_schemas(self, schema: Mapping[str, Any], value: Any, at: str) -> Iterator[str]:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield from self.violations(resolve_reference(self._root, reference), value, at)
        for each in _list(schema.get("allOf")):
            yield from self.violations(each, value, at)
        ways = _list(schema.get("anyOf"))
        if ways and not any(self._is_valid(each, value) for each in ways):
            yield f"{_place(at)} is {_shown(value)}, which no schema of anyOf allows"
        if ways := _list(schema.get("oneOf")):
            number = sum(self._is_valid(each, value) for each in ways)
            if number != 1:
                yield f"{_place(at)} is {_shown(value)}, which {number} schemas of oneOf allow"
        if "not" in schema and self._is_valid(schema["not"], value):
            yield f"{_place(at)} is {_shown(value)}, which not excludes"
        if "if" in schema:
            branch = "then" if self._is_valid(schema["if"], value) else "else"
            yield from self.violations(schema.get(branch), value, at)

    def _of_object(
        self, schema: Mapping[str, Any], value: dict[str, Any], at: str
    ) -> Iterator[str]:
        for name in _list(schema.get("required")):
            if isinstance(name, str) and name not in value:
                yield f"{_place(_join(at, name))} is missing"
        yield from _of_size(schema, len(value), at, "minProperties", "maxProperties")
        for name, inner in value.items():
            place = _join(at, name)
            if "propertyNames" in schema:
                yield from self.violations(schema["propertyNames"], name, f"the name {place}")
            for each in _of_name(schema, name):
                yield from self.violations(each, inner, place)
        for key in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, each in _map(schema.get(key)).items():
                if name in value:
                    needs = {"required": each} if isinstance(each, list) else each
                    yield from self.violations(needs, value, at)
        if (rest := schema.get("unevaluatedProperties")) is not None:
            known = set().union(*self._evaluated(_without(schema, "unevaluated"), value))
            for name in value.keys() - known:
                yield from self.violations(rest, value[name], _join(at, name))

    def _of_array(self, schema: Mapping[str, Any], value: list[Any], at: str) -> Iterator[str]:
        yield from _of_size(schema, len(value), at, "minItems", "maxItems")
        if schema.get("uniqueItems") is True:
            seen: set[str] = set()
            for number, item in enumerate(value):
                key = _key(item)
                if key in seen:
                    yield f"{_place(f'{at}[{number}]')} is {_shown(item)} again (uniqueItems)"
                seen.add(key)
        for number, item in enumerate(value):
            yield from self.violations(_of_index(schema, number), item, f"{at}[{number}]")
        if "contains" in schema:
            found = sum(self._is_valid(schema["contains"], item) for item in value)
            limits: dict[str, Any] = {"minContains": 1, **schema}
            yield from _of_size(limits, found, at, "minContains", "maxContains")
        if (rest := schema.get("unevaluatedItems")) is not None:
            known = set().union(*self._evaluated(_without(schema, "unevaluated"), value))
            for number, item in enumerate(value):
                if number not in known:
                    yield from self.violations(rest, item, f"{at}[{number}]")

    def _evaluated(self, schema: object, value: Any) -> Iterator[set[Any]]:
        """Yield sets of the members and items that a valid schema describes."""
        if not isinstance(schema, Mapping) or not self._is_valid(schema, value):
            return
        if isinstance(value, dict):
            has_all = "unevaluatedProperties" in schema
            yield {name for name in value if has_all or _of_name(schema, name)}
        elif isinstance(value, list):
            has_all = "unevaluatedItems" in schema
            yield {at for at in range(len(value)) if has_all or _of_index(schema, at) is not None}
            if "contains" in schema:
                yield {
                    at for at, item in enumerate(value) if self._is_valid(schema["contains"], item)
                }
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield from self._evaluated(resolve_reference(self._root, reference), value)
        for key in ("allOf", "anyOf", "oneOf"):
            for each in _list(schema.get(key)):
                yield from self._evaluated(each, value)
        if "if" in schema:
            is_met = self._is_valid(schema["if"], value)
            yield from self._evaluated(schema["if"], value)
            yield from self._evaluated(schema.get("then" if is_met else "else"), value)
        for name, each in _map(schema.get("dependentSchemas")).items():
            if name in value:
                yield from self._evaluated(each, value)


def _of_name(schema: Mapping[str, Any], name: str) -> list[object]:
    """Return the schemas of a member by its name."""
    properties = _map(schema.get("properties"))
    found = [properties[name]] if name in properties else []
    patterns = _map(schema.get("patternProperties"))
    found += [each for pattern, each in patterns.items() if _matches(pattern, name)]
    return found or [schema[key] for key in ("additionalProperties",) if key in schema]


def _of_index(schema: Mapping[str, Any], number: int) -> object:
    """Return the schema of an item; None without one."""
    items = schema.get("items")
    first = items if isinstance(items, list) else _list(schema.get("prefixItems"))
    if number < len(first):
        return first[number]
    return schema.get("additionalItems") if isinstance(items, list) else items


def _of_size(schema: Mapping[str, Any], size: int, at: str, least: str, most: str) -> Iterator[str]:
    for key, is_wrong in ((least, int.__lt__), (most, int.__gt__)):
        limit = schema.get(key)
        if _is_number(limit) and is_wrong(size, int(limit)):
            yield f"{_place(at)} has {size}, against {key} {limit}"


def _of_number(schema: Mapping[str, Any], value: float, at: str) -> Iterator[str]:
    checks: tuple[tuple[str, Callable[[Any, Any], bool]], ...] = (
        ("minimum", lambda value, limit: value >= limit),
        ("maximum", lambda value, limit: value <= limit),
        ("exclusiveMinimum", lambda value, limit: value > limit),
        ("exclusiveMaximum", lambda value, limit: value < limit),
        ("multipleOf", lambda value, step: not step or _is_multiple(value, step)),
    )
    for key, is_right in checks:
        limit = schema.get(key)
        if limit is True:  # draft 4
            limit = schema.get(key.replace("exclusiveM", "m"))
        if _is_number(limit) and not is_right(value, limit):
            yield f"{_place(at)} is {_shown(value)}, against {key} {limit}"


def _is_multiple(value: float, step: float) -> bool:
    return Fraction(str(value)) % Fraction(str(step)) == 0


def _without(schema: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key: each for key, each in schema.items() if not key.startswith(prefix)}


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern is found; True for one that cannot be read. Raises TimeoutError."""
    try:
        found = regex.search(pattern, text, timeout=_PATTERN_TIMEOUT_S)
    except regex.error:
        return True
    return found is not None


def _equals(one: object, other: object) -> bool:
    return _key(one) == _key(other)


def _key(value: object) -> str:
    """Return a text that equal JSON values share: 1 and 1.0 do, true and 1 do not."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{name!r}:{_key(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_key, value)) + "]"
    if _is_number(value) and value == value // 1:
        return str(int(value))
    return repr(value)


def _place(at: str) -> str:
    return at.removeprefix(".") or "the object"


def _join(at: str, name: str) -> str:
    return f"{at}.{name[:_MAX_SHOWN]}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
