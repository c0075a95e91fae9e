"""Values between tags: plain text that becomes JSON by the types of its parameter, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from yaie.text.formats.json_values import refuse_constant
from yaie.text.formats.lark import Lark
from yaie.text.formats.parameter_schema import TYPE_NAMES, Variant, resolve_reference
from yaie.text.formats.reader import SPACE
from yaie.text.formats.string_patterns import string_patterns
from yaie.text.formats.tool import Tool

_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_WORDS = {"boolean": ("true", "false", "True", "False"), "null": ("null", "None")}
_FIRSTS = {"object": "{", "array": "[", "number": "-0123456789", "integer": "-0123456789"}
_NUMBERS = frozenset(("integer", "number"))


class TaggedValue:
    """Writer of one argument's JSON, from its text as it arrives."""

    def __init__(self, types: frozenset[str], *, has_lines: bool) -> None:
        self._types = types
        self._line = "\n" if has_lines else ""  # before the closing tag, to which it belongs
        self._held = ""  # not written yet
        self._is_string = False  # certainly; its beginning is written

    def push(self, text: str) -> str:
        """Add text; return the JSON text certain now."""
        self._held += text
        if not self._is_string:
            if "string" not in self._types or self._may_be_other():
                return ""
            self._is_string = True
            return '"' + self._certain()
        return self._certain()

    def end(self) -> tuple[str, bool]:
        """Return the rest of the JSON text, and whether the value has a type of the schema."""
        if self._is_string:
            return '"', True
        text = self._held.strip(SPACE)
        text = _PYTHON_WORDS.get(text, text)
        kind = json_type(text)
        if kind in self._types or (kind in _NUMBERS and self._types & _NUMBERS):
            return text, True
        if "string" in self._types:
            return _quote(self._held.removesuffix(self._line)), True
        return _quote(text), False

    def _certain(self) -> str:
        held = self._line if self._held.endswith(self._line) else ""
        written, self._held = self._held.removesuffix(held), held
        return _quote(written)[1:-1]

    def _may_be_other(self) -> bool:
        """Return whether the text so far may be JSON of a type other than string."""
        if self._types == {"string"}:
            return False
        begun = self._held.lstrip(SPACE)
        if not begun:
            return True
        if any(begun[0] in _FIRSTS.get(each, "") for each in self._types):
            return True
        word = begun.rstrip(SPACE)
        return any(each.startswith(word) for kind in self._types for each in _WORDS.get(kind, ()))


def json_type(text: str) -> str:
    """Return the type of a JSON text that no string is; empty for other text."""
    try:
        value = json.loads(text, parse_constant=refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return ""
    return "" if isinstance(value, str) else TYPE_NAMES[type(value)]


def write_value(
    schema: object, tool: Tool, lark: Lark, ending: str, excluded: Sequence[str]
) -> str:
    """Return the expression of a value that follows a schema, and of the ending after it."""
    variants = tool.schema.variants_of(schema)
    types = frozenset().union(*(each.types for each in variants))
    strings = [each for each in variants if "string" in each.types]
    texts = [text for each in strings for text in _write_strings(each, lark, ending, excluded)]
    if any(not _is_constrained(each) for each in strings) and types != {"string"}:
        return lark.up_to(ending, excluded=excluded)  # any text is a value
    if types != {"string"}:
        others = {"type": sorted(types - {"string"})} if strings else {}
        whole = [schema, others] if others else [schema]
        texts.append(f"{lark.json(_with_references(whole, tool))} {lark.text(ending)}")
    return f"({' | '.join(dict.fromkeys(texts))})"


def _with_references(schemas: Sequence[object], tool: Tool) -> dict[str, Any]:
    """Return a schema of the values that follow all schemas, with what these refer to."""
    names: dict[str, str] = {}

    def move(schema: dict[str, Any]) -> dict[str, Any]:
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        return schema | {"$ref": f"#/$defs/{names.setdefault(reference, str(len(names)))}"}

    def copy(schema: object) -> Any:
        return json.loads(json.dumps(schema), object_hook=move)

    whole: dict[str, Any] = {"allOf": copy(list(schemas))}
    targets: dict[str, Any] = {}
    while len(targets) < len(names):  # in the order of `names`, which grows
        reference = list(names)[len(targets)]
        target = resolve_reference(tool.parameters, reference)
        targets[names[reference]] = True if target is None else copy(target)
    return {"$defs": targets, **whole} if targets else whole


def _write_strings(
    variant: Variant, lark: Lark, ending: str, excluded: Sequence[str]
) -> Iterator[str]:
    if variant.values is None:
        yield lark.up_to(ending, list(string_patterns(variant.strings)), excluded)
        return
    for value in variant.values:
        if isinstance(value, str):
            yield lark.text(value + ending)


def _is_constrained(variant: Variant) -> bool:
    return variant.values is not None or any(True for _ in string_patterns(variant.strings))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _finite(written: str) -> float:
    number = float(written)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{written} is too large")
    return number
