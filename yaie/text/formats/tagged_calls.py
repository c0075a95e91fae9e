"""Syntaxes with a tag for each argument: Qwen3-Coder, GLM, Seed, MiniMax.

The tags hold plain text. Arguments become JSON by the types of the tool's schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yaie.text.formats.calls import Calls, read_name
from yaie.text.formats.json_values import Malformed
from yaie.text.formats.lark import Lark
from yaie.text.formats.reader import Reader, Steps
from yaie.text.formats.syntax import CallSyntax
from yaie.text.formats.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """Marks of one family around names, keys and values."""

    call: tuple[str, str]
    name: tuple[str, str]
    function_end: str = ""
    key: tuple[str, str]
    value: tuple[str, str]
    has_lines: bool = True  # values stand in lines of their own


class TaggedCalls(CallSyntax):
    """Calls with one tag or two for each argument."""

    def __init__(self, name: str, tags: Tags) -> None:
        self.name = name
        self.openers = (tags.call[0],)
        self.closers = (tags.call[1],)
        self.other_markers = tuple(filter(None, (*tags.key, *tags.value)))
        self._tags = tags

    def read(self, reader: Reader, calls: Calls, opener: str) -> Steps[None]:
        """Read the calls up to the closer."""
        yield from reader.skip()
        while True:
            yield from self._read_call(reader, calls)
            yield from reader.skip()
            opens = self._tags.name[0]
            if calls.is_full or not opens:
                break
            reader.record()
            if not (yield from reader.starts_with(opens)):
                break
        yield from reader.accept(self.closers[0])

    def _read_call(self, reader: Reader, calls: Calls) -> Steps[None]:
        tags = self._tags
        if not (yield from reader.accept(tags.name[0])):
            raise Malformed(f"{tags.name[0]} is missing")
        name = yield from read_name(reader)
        yield from reader.skip()
        if not (yield from reader.accept(tags.name[1])):
            raise Malformed(f"{tags.name[1]} is missing behind the name")
        calls.begin(name)
        yield from reader.skip()
        while (yield from reader.accept(tags.key[0])):
            yield from self._read_argument(reader, calls)
            yield from reader.skip()
        if calls.has_arguments:
            calls.add("}")
        if not tags.function_end or not (yield from reader.accept(tags.function_end)):
            yield from self._check_end(reader)
        calls.end()

    def _check_end(self, reader: Reader) -> Steps[None]:
        """Raise `Malformed` unless the end of the whole markup stands for that of the function."""
        if not (yield from reader.starts_with(self.closers[0])):
            raise Malformed(f"{self._tags.function_end or self.closers[0]} is missing")

    def _read_argument(self, reader: Reader, calls: Calls) -> Steps[None]:
        tags = self._tags
        key, end = yield from reader.until((tags.key[1],))
        if end is None:
            raise Malformed("the text ended inside an argument")
        if tags.value[0]:
            yield from reader.skip()
            if not (yield from reader.accept(tags.value[0])):
                raise Malformed(f"{tags.value[0]} is missing")
        key = key.strip()
        calls.add(f"{', ' if calls.has_arguments else '{'}{json.dumps(key)}: ")
        if tags.has_lines:
            yield from reader.accept("\n")
        schema = calls.schema_of(key)
        if types_of(schema) == {"string"}:
            yield from self._read_string(reader, calls)
            return
        text, end = yield from reader.until((tags.value[1],))
        calls.add(json_of(text.strip(), schema))
        if end is None:
            raise Malformed("the text ended inside an argument")

    def _read_string(self, reader: Reader, calls: Calls) -> Steps[None]:
        """Read a value as a JSON string, as it arrives."""
        calls.add('"')
        held = ""  # a line break before the closing tag belongs to it
        while True:
            piece, end = yield from reader.before((self._tags.value[1],))
            text = held + piece
            held = "\n" if self._tags.has_lines and text.endswith("\n") else ""
            calls.add(json.dumps(text.removesuffix(held), ensure_ascii=False)[1:-1])
            if end is not None or not piece:
                break
        calls.add('"')
        if end is None:
            raise Malformed("the text ended inside an argument")

    def write(self, tool: Tool, lark: Lark) -> str:
        """Return the expression of one call, its arguments in the schema's order."""
        tags = self._tags
        line = "\n" if tags.has_lines else ""
        opening = f"{tags.call[0]}\n{tags.name[0]}" if tags.name[0] else tags.call[0]
        parts = [lark.text(f"{opening}{tool.name}{tags.name[1]}\n")]
        required = tool.parameters.get("required", ())
        for key, schema in tool.parameters.get("properties", {}).items():
            between = f"\n{tags.value[0]}" if tags.value[0] else ""
            opening = lark.text(f"{tags.key[0]}{key}{tags.key[1]}{between}{line}")
            closing = f"{line}{tags.value[1]}"
            if types_of(schema) == {"string"} and "enum" not in schema:
                written = f"{opening} {lark.up_to(closing)} {lark.text(chr(10))}"
            else:
                value = self._value(schema, tool, lark)
                written = f"{opening} {value} {lark.text(closing + chr(10))}"
            parts.append(written if key in required else f"({written})?")
        ending = f"{tags.function_end}\n" if tags.function_end else ""
        return " ".join([*parts, lark.text(f"{ending}{tags.call[1]}")])

    def _value(self, schema: Mapping[str, Any], tool: Tool, lark: Lark) -> str:
        if types_of(schema) == {"string"}:
            return "(" + " | ".join(lark.text(str(each)) for each in schema["enum"]) + ")"
        shared = {key: tool.parameters[key] for key in _SHARED if key in tool.parameters}
        return lark.json({**schema, **shared})

    def around(self, call: str, lark: Lark, is_parallel: bool) -> str:
        """Return the expression of all calls."""
        return f'{call} ("\\n" {call})*' if is_parallel else call


_SHARED = ("$defs", "definitions")  # schemas that those of arguments refer to
_KINDS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_WORDS = {"True": "true", "False": "false", "None": "null"}  # of Python


def types_of(schema: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a schema allows; empty if it does not tell."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return set(map(str, kind))
    if isinstance(schema.get("enum"), list):
        return {_KINDS.get(type(each), "object") for each in schema["enum"]}
    found: set[str] = set()
    for key in ("anyOf", "oneOf"):
        for each in schema.get(key) or ():
            inner = types_of(each) if isinstance(each, Mapping) else set()
            if not inner:
                return set()
            found |= inner
    return found


def json_of(text: str, schema: Mapping[str, Any]) -> str:
    """Return the JSON of a value written as plain text: by its type, else a string."""
    types = types_of(schema)
    try:
        value = json.loads(_WORDS.get(text, text), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False)
    kind = _KINDS[type(value)]
    is_number = kind in ("integer", "number") and types & {"integer", "number"}
    if types and kind not in types and not is_number:
        return json.dumps(text, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


QWEN3_CODER = TaggedCalls(
    "qwen3_coder",
    Tags(
        call=("<tool_call>", "</tool_call>"),
        name=("<function=", ">"),
        function_end="</function>",
        key=("<parameter=", ">"),
        value=("", "</parameter>"),
    ),
)
SEED = TaggedCalls(
    "seed",
    Tags(
        call=("<seed:tool_call>", "</seed:tool_call>"),
        name=("<function=", ">"),
        function_end="</function>",
        key=("<parameter=", ">"),
        value=("", "</parameter>"),
        has_lines=False,
    ),
)
MINIMAX = TaggedCalls(
    "minimax",
    Tags(
        call=("<minimax:tool_call>", "</minimax:tool_call>"),
        name=('<invoke name="', '">'),
        function_end="</invoke>",
        key=('<parameter name="', '">'),
        value=("", "</parameter>"),
        has_lines=False,
    ),
)
GLM = TaggedCalls(
    "glm",
    Tags(
        call=("<tool_call>", "</tool_call>"),
        name=("", ""),
        key=("<arg_key>", "</arg_key>"),
        value=("<arg_value>", "</arg_value>"),
        has_lines=False,
    ),
)
