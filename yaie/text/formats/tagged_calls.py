"""Call syntaxes with a tag for each argument: Qwen3-Coder, GLM, Seed, MiniMax.

The tags contain plain text. Arguments become JSON by the types in the tool's schema.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from yaie.text.formats.calls import Calls, read_name
from yaie.text.formats.json_values import Malformed
from yaie.text.formats.lark import Lark
from yaie.text.formats.parameter_schema import Variant
from yaie.text.formats.reader import SPACE, Reader, Steps
from yaie.text.formats.syntax import CallSyntax
from yaie.text.formats.tagged_values import TaggedValue, write_value
from yaie.text.formats.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """Marks of one family around names, keys and values."""

    call: tuple[str, str]
    name: tuple[str, str]
    function_end: str = ""
    key: tuple[str, str]
    value: tuple[str, str]
    has_lines: bool = True  # each value has a separate line


class TaggedCalls(CallSyntax):
    """Calls with one tag or two for each argument."""

    def __init__(self, name: str, tags: Tags) -> None:
        self.name = name
        self.openers = (tags.call[0],)
        self.closers = (tags.call[1],)
        self.other_markers = tuple(filter(None, (*tags.key, *tags.value)))
        self._tags = tags
        function_marks = filter(None, (tags.function_end, tags.name[0]))
        # Ends of a value: its end tag without the bracket, and marks where that is missing.
        self._value_ends = (
            tags.value[1].removesuffix(">"),
            tags.key[0],
            *tags.call,
            *function_marks,
        )
        self._marks = (tags.value[1], *self._value_ends[1:])  # between arguments

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
        yield from reader.close(self.closers[0])

    def _read_call(self, reader: Reader, calls: Calls) -> Steps[None]:
        tags = self._tags
        if not (yield from reader.accept(tags.name[0])):
            raise Malformed(f"{tags.name[0]} is missing")
        name = yield from read_name(reader)
        yield from reader.skip()
        has_end = yield from reader.accept(tags.name[1])
        if not has_end and not (yield from reader.starts_with(tags.key[0])):
            raise Malformed(f"{tags.name[1]} is missing after the name")
        calls.begin(name)
        while True:
            mark = yield from self._next_mark(reader, calls)
            if mark == tags.key[0]:
                yield from self._read_argument(reader, calls)
            elif mark != tags.value[1]:
                break
        if calls.has_arguments:
            calls.add("}")
        if mark == tags.function_end:
            yield from reader.skip()
            while mark and (yield from reader.accept(mark)):  # repeated
                yield from reader.skip()
        elif mark is None:
            calls.note(f"{tags.function_end or self.closers[0]} is missing")
        calls.end()

    def _next_mark(self, reader: Reader, calls: Calls) -> Steps[str | None]:
        """Return the next mark between arguments; None at the end of the text.

        Marks of keys, values and functions are read, others stay unread. Raises `Malformed` if
        the text ends inside the mark of a key.
        """
        tags = self._tags
        texts = []
        while True:
            text, mark = yield from reader.up_to(self._marks)
            texts.append(text)
            if mark is not None or not text:
                break
        between = "".join(texts).strip(SPACE)
        if mark is None and reader.is_cut and tags.function_end:
            raise Malformed("the text ended between arguments")
        if mark is None and between:
            if any(each.startswith(between) for each in (tags.function_end, *self.closers)):
                return between
            if tags.key[0].startswith(between):
                raise Malformed("the text ended between arguments")
        if between:
            calls.note(f"text between the arguments of call {calls.num_begun - 1} was dropped")
        if mark in (tags.key[0], tags.value[1], tags.function_end):
            yield from reader.accept(mark)
        return mark

    def _read_argument(self, reader: Reader, calls: Calls) -> Steps[None]:
        tags = self._tags
        key, end = yield from reader.until((tags.key[1],))
        if end is None:
            raise Malformed("the text ended inside an argument")
        if tags.value[0]:
            yield from reader.skip()
            if not (yield from reader.close(tags.value[0])):
                raise Malformed(f"{tags.value[0]} is missing")
        key = key.strip()
        calls.add(f"{', ' if calls.has_arguments else '{'}{json.dumps(key)}: ")
        if tags.has_lines:
            yield from reader.accept("\n")
        value = TaggedValue(calls.types_of(key), has_lines=tags.has_lines)
        is_ended = False
        while not is_ended:
            text, mark = yield from reader.up_to(self._value_ends, drops_cut=True)
            calls.add(value.push(text))
            if mark is None and not text:
                raise Malformed("the text ended inside an argument")
            if mark == self._value_ends[0]:
                is_ended = yield from self._ends_value(reader, value, calls)
            elif mark is not None:
                calls.note(f"{tags.value[1]} is missing after argument {key!r}")
                is_ended = True
        text, is_typed = value.end()
        calls.add(text)
        if not is_typed:
            calls.note(f"argument {key!r} of call {calls.num_begun - 1} has a wrong type")

    def _ends_value(self, reader: Reader, value: TaggedValue, calls: Calls) -> Steps[bool]:
        """Read the end tag of a value, also one without its bracket; return False for text."""
        yield from reader.accept(self._value_ends[0])
        following = yield from reader.peek()
        if following == ">":
            yield from reader.take()
        elif following and following not in SPACE + "<":
            calls.add(value.push(self._value_ends[0]))
            return False
        return True

    def write(self, tool: Tool, lark: Lark) -> str:
        """Return the expression of one call, its arguments in the schema's order."""
        tags = self._tags
        opening = f"{tags.call[0]}\n{tags.name[0]}" if tags.name[0] else tags.call[0]
        opening = lark.text(f"{opening}{tool.name}{tags.name[1]}\n")
        ways = [self._write_arguments(each, tool, lark) for each in tool.schema.variants]
        filled = list(dict.fromkeys(filter(None, ways)))
        arguments = f"({' | '.join(filled)}){'' if all(ways) else '?'}" if filled else ""
        ending = f"{tags.function_end}\n" if tags.function_end else ""
        return f"{opening} {arguments} {lark.text(f'{ending}{tags.call[1]}')}"

    def _write_arguments(self, variant: Variant, tool: Tool, lark: Lark) -> str:
        tags = self._tags
        line = "\n" if tags.has_lines else ""
        between = f"\n{tags.value[0]}" if tags.value[0] else ""
        excluded = self._value_ends[1:]
        written = []
        for key, schema in (
            dict.fromkeys(variant.required, variant.others) | dict(variant.properties)
        ).items():
            opening = lark.text(f"{tags.key[0]}{key}{tags.key[1]}{between}{line}")
            value = write_value(schema, tool, lark, f"{line}{tags.value[1]}", excluded)
            argument = f"{opening} {value} {lark.text(chr(10))}"
            written.append(argument if key in variant.required else f"({argument})?")
        return " ".join(written)

    def around(self, call: str, lark: Lark, is_parallel: bool) -> str:
        """Return the expression of all calls."""
        return f'{call} ("\\n" {call})*' if is_parallel else call


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
