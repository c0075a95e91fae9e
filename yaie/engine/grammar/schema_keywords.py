"""Keywords of a JSON schema that llguidance cannot enforce: their places, and a copy without them.

A grammar writes JSON from left to right. It cannot compare items (`uniqueItems`), look ahead, or
exclude what another schema allows (`not`).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar
from yaie.text.formats.parameter_schema import TYPES, resolve_reference

# Refused by llguidance; tests compare the names with its own.
UNHELD = frozenset(
    (
        "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "contains",
        "dependencies", "dependentRequired", "dependentSchemas", "else", "if", "maxContains",
        "minContains", "not", "propertyNames", "then", "unevaluatedItems",
        "unevaluatedProperties", "uniqueItems",
    )
)  # fmt: skip
FORMATS = frozenset(
    (
        "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "unknown",
        "uri", "uuid",
    )
)  # fmt: skip
_ANNOTATIONS = frozenset(
    (
        "$comment", "default", "deprecated", "description", "example", "examples", "readOnly",
        "title", "writeOnly",
    )
)  # fmt: skip
# Keywords by the kind of their value.
_SCHEMAS = frozenset(
    (
        "additionalItems", "additionalProperties", "contains", "else", "if", "items", "not",
        "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    )
)  # fmt: skip
_LISTS = frozenset(("allOf", "anyOf", "items", "oneOf", "prefixItems"))
_MAPS = frozenset(
    ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
)
# Values without effect, and keywords without one of which a keyword has no effect.
_NO_EFFECT: dict[str, tuple[object, ...]] = {
    "uniqueItems": (False,),
    "not": (False,),
    "propertyNames": (True,),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), (True, {})),
    **dict.fromkeys(("dependencies", "dependentRequired", "dependentSchemas"), ({},)),
}
_NEEDED = {
    "minContains": {"contains"},
    "maxContains": {"contains"},
    "if": {"then", "else"},
    "then": {"if"},
    "else": {"if"},
}
_COUNTS = ("minProperties", "maxProperties")


@dataclass(frozen=True, slots=True)
class Unheld:
    """One keyword that a grammar cannot hold."""

    path: tuple[str, ...]  # of the schema inside the whole one
    keyword: str
    reason: str = ""
    is_annotation: bool = False  # JSON Schema lets programs ignore it

    def __str__(self) -> str:
        where = f" at {'.'.join(self.path)}" if self.path else ""
        return f"{self.keyword!r}{where}" + (f" ({self.reason})" if self.reason else "")


Edit = Callable[[Mapping[str, Any], tuple[str, ...]], dict[str, Any]]


def drop_unheld(
    root: Mapping[str, Any], *, annotations: bool = False, patterns: bool = False
) -> tuple[dict[str, Any], list[Unheld]]:
    """Return a copy without the keywords that a grammar cannot hold, and these keywords.

    Keywords that allow every value are dropped without a word; with `annotations` also titles,
    descriptions and defaults. `patterns`: each regular expression is tried, in milliseconds.
    """
    unheld: list[Unheld] = []

    def edit(schema: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        kept = {}
        for key, value in schema.items():
            if (annotations and key in _ANNOTATIONS) or _allows_all(schema, key):
                continue
            found = _find_unheld(root, schema, key, path)
            if found is None and patterns:
                found = _find_pattern(schema, key, path)
            if found is None:
                kept[key] = value
            else:
                unheld.append(found)
        return kept

    return _copy(root, edit), unheld


@lru_cache(maxsize=64)
def check_schema(grammar: Grammar) -> Grammar:
    """Return the grammar of a JSON schema without its keywords that have no effect.

    Other grammars are returned as they are. Raises `InvalidRequest` with path and name of a keyword
    that no grammar can hold.
    """
    if grammar.kind != "json_schema":
        return grammar
    try:
        schema = json.loads(grammar.source)
    except (ValueError, RecursionError):
        return grammar  # the compiler says where
    if not isinstance(schema, dict):
        return grammar
    kept, unheld = drop_unheld(schema)
    for each in unheld:
        if not each.is_annotation:
            raise refuse_keyword(grammar.param, each)
    if kept == schema:
        return grammar
    return Grammar(kind="json_schema", source=json.dumps(kept), param=grammar.param)


def refuse_keyword(param: str, unheld: Unheld) -> InvalidRequest:
    """Return the error for a keyword in the schema of a field."""
    return InvalidRequest(
        f"{param} has {unheld}, which no grammar can hold; change or remove it", param=param
    )


def check_compiles(grammar: Grammar) -> None:
    """Raise `InvalidRequest` for a JSON schema that llguidance refuses, with path and keyword."""
    fault = find_fault(grammar.source) if grammar.kind == "json_schema" else ""
    if fault:
        raise explain_fault(grammar, fault)


def explain_fault(grammar: Grammar, fault: str) -> InvalidRequest:
    """Return the error for a JSON schema that llguidance refuses by `fault`."""
    try:
        schema = json.loads(grammar.source)
    except (ValueError, RecursionError):
        schema = None
    if isinstance(schema, dict):
        for each in (*drop_unheld(schema, patterns=True)[1], *relax_alternatives(schema)[1]):
            if not each.is_annotation:
                return refuse_keyword(grammar.param, each)
    shown = " ".join(fault.split())[:400]
    return InvalidRequest(f"{grammar.param} is invalid: {shown}", param=grammar.param)


def relax_alternatives(root: Mapping[str, Any]) -> tuple[dict[str, Any], list[Unheld]]:
    """Return a copy with `anyOf` for each `oneOf`, and the keywords that this loosens."""
    loosened: list[Unheld] = []

    def edit(schema: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        edited = dict(schema)
        if "oneOf" not in edited:
            return edited
        if overlaps(root, schema["oneOf"]):
            loosened.append(Unheld(path, "oneOf", "its alternatives overlap"))
        ways: dict[str, Any] = {"anyOf": edited.pop("oneOf")}
        if "anyOf" in edited:
            return edited | {"allOf": [*_list(edited.get("allOf")), ways]}
        return edited | ways

    return _copy(root, edit), loosened


def overlaps(root: Mapping[str, Any], alternatives: object) -> bool:
    """Return whether llguidance takes alternatives of `oneOf` for overlapping ones."""
    shared = {key: root[key] for key in ("$defs", "definitions", "properties") if key in root}
    fault = find_fault(json.dumps({"allOf": [{"oneOf": alternatives}], **shared}))
    return "oneOf" in fault


@lru_cache(maxsize=1024)
def find_fault(source: str) -> str:
    """Return why llguidance cannot compile a JSON schema; empty if it can."""
    from llguidance import LLMatcher  # late: few requests have a grammar

    try:
        return LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(source))
    except ValueError as error:
        return str(error)


def _find_unheld(
    root: Mapping[str, Any], schema: Mapping[str, Any], key: str, path: tuple[str, ...]
) -> Unheld | None:
    value = schema[key]
    if key in UNHELD:
        return Unheld(path, key)
    if key == "format" and isinstance(value, str) and value not in FORMATS:
        kind = schema.get("type", "string")
        if "string" in (_list(kind) or [kind]):
            return Unheld(path, key, f"{value[:40]!r} is not known", is_annotation=True)
    if key == "$ref" and isinstance(value, str) and "$id" not in root:
        is_pointer = value.startswith("#/")
        if not value.startswith("#") or (is_pointer and resolve_reference(root, value) is None):
            return Unheld(path, key, f"{value[:80]!r} is not in the schema")
    if key in _COUNTS and isinstance(properties := schema.get("properties"), Mapping):
        required = _list(schema.get("required"))
        if any(name not in required for name in properties):
            return Unheld(path, key, "with optional properties")
    if key == "type" and not TYPES.issuperset(map(str, _list(value) or [value])):
        return Unheld(path, key, f"{value!r:.40} is not a JSON type")
    return None


def _find_pattern(schema: Mapping[str, Any], key: str, path: tuple[str, ...]) -> Unheld | None:
    value = schema[key]
    if key == "pattern" and isinstance(value, str):
        tried: Iterable[str] = [value]
    elif key == "patternProperties" and isinstance(value, Mapping):
        tried = value
    else:
        return None
    for pattern in tried:
        if fault := find_fault(json.dumps({"type": "string", "pattern": pattern})):
            return Unheld(path, key, fault.rpartition("error: ")[2].strip()[:100])
    return None


def _allows_all(schema: Mapping[str, Any], key: str) -> bool:
    """Return whether a keyword has no effect on what is valid."""
    value = schema[key]
    if key == "propertyNames" and isinstance(value, Mapping):  # a name is a string
        named = value.keys() - _ANNOTATIONS
        return named <= {"type"} and value.get("type", "string") == "string"
    if (needed := _NEEDED.get(key)) is not None:
        return not needed & schema.keys()
    return any(value == each and type(value) is type(each) for each in _NO_EFFECT.get(key, ()))


def _copy(root: Mapping[str, Any], edit: Edit) -> dict[str, Any]:
    """Return a copy of a schema in which every schema is edited, from the outside in."""
    copy: dict[str, Any] = {}
    waiting: deque[tuple[Mapping[str, Any], dict[str, Any], tuple[str, ...]]] = deque()
    waiting.append((root, copy, ()))
    while waiting:  # clients nest deeper than Python recurses
        schema, target, path = waiting.popleft()
        target.update(edit(schema, path))
        for key in tuple(target):
            for place, inner, name in _children(target, key):
                if isinstance(inner, Mapping):
                    place[name] = {}
                    step = () if name == key and place is target else (str(name),)
                    waiting.append((inner, place[name], (*path, key, *step)))
    return copy


def _children(schema: dict[str, Any], key: str) -> Iterator[tuple[Any, Any, Any]]:
    """Replace the containers below a keyword by copies; yield each, its values and their keys."""
    value = schema[key]
    if key in _MAPS and isinstance(value, Mapping):
        schema[key] = dict(value)
        yield from ((schema[key], inner, name) for name, inner in value.items())
    elif key in _LISTS and isinstance(value, list):
        schema[key] = kept = [each for each in value if not _is_never(key, each)] or list(value)
        yield from ((kept, inner, at) for at, inner in enumerate(tuple(kept)))
    elif key == "additionalItems" and not isinstance(schema.get("items"), list):
        return  # without effect
    elif key in _SCHEMAS:
        yield schema, value, key


def _is_never(key: str, alternative: object) -> bool:
    """Return whether nothing follows an alternative: `{"not": {}}`, as zod writes `undefined`."""
    if key not in ("anyOf", "oneOf") or not isinstance(alternative, Mapping):
        return False
    return "not" in alternative and alternative["not"] in ({}, True)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
