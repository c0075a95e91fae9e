"""Syntaxes with the name outside the JSON of the arguments: Mistral, DeepSeek, Kimi."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Container

from yaie.text.formats.calls import Calls, read_arguments, read_name
from yaie.text.formats.json_calls import read_json_calls
from yaie.text.formats.json_values import Malformed
from yaie.text.formats.lark import Lark
from yaie.text.formats.reader import Reader, Steps
from yaie.text.formats.syntax import CallSyntax, name_and
from yaie.text.formats.tool import Tool

_ID_CHARACTERS = string.ascii_letters + string.digits
_KIMI_PREFIX = re.compile(r"functions?[.:/]")
_KIMI_NUMBER = re.compile(r"[:._-]?[0-9]+$")
_ID_LEN = 9  # Mistral's templates refuse others


class Mistral(CallSyntax):
    """Calls after `[TOOL_CALLS]`: a list of JSON calls, or each a name and `[ARGS]`."""

    openers = ("[TOOL_CALLS]",)
    other_markers = ("[ARGS]", "[CALL_ID]")

    def __init__(self, name: str, *, is_list: bool) -> None:
        self.name = name
        self._is_list = is_list

    def new_id(self) -> str:
        """Return an id that Mistral's templates take."""
        return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(_ID_LEN))

    def read(self, reader: Reader, calls: Calls, opener: str) -> Steps[None]:
        """Read the list, or one call."""
        yield from reader.skip()
        if (yield from reader.peek()) in ("[", "{"):
            yield from read_json_calls(reader, calls)
            return
        name = yield from read_name(reader)
        call_id = ""
        if (yield from reader.accept("[CALL_ID]")):
            call_id = yield from read_name(reader)
        if not (yield from reader.accept("[ARGS]")) and (yield from reader.peek()) != "{":
            raise Malformed("[ARGS] is missing")
        calls.begin(name, call_id)
        yield from read_arguments(reader, calls)
        calls.end()

    def write(self, tool: Tool, lark: Lark) -> str:
        """Return the expression of one call."""
        if self._is_list:
            begin = lark.text(name_and("arguments", tool))
            return f"{begin} {lark.json(tool.parameters)} {lark.text('}')}"
        begin = lark.text(f"[TOOL_CALLS]{tool.name}[ARGS]")
        return f"{begin} {lark.json(tool.parameters)}"

    def around(self, call: str, lark: Lark, is_parallel: bool) -> str:
        """Return the expression of all calls."""
        if not self._is_list:
            return f"{call}+" if is_parallel else call
        more = f' (", " {call})*' if is_parallel else ""
        return f"{lark.text('[TOOL_CALLS][')} {call}{more} {lark.text(']')}"


class DeepSeek(CallSyntax):
    """Calls between DeepSeek's marks; the arguments of V3 and R1 stand in a code block."""

    openers = ("<｜tool▁calls▁begin｜>",)
    closers = ("<｜tool▁calls▁end｜>",)
    other_markers = ("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>")
    ends = other_markers[2:]

    def __init__(self, name: str, *, has_block: bool) -> None:
        self.name = name
        self._has_block = has_block

    def read(self, reader: Reader, calls: Calls, opener: str) -> Steps[None]:
        """Read the calls up to the closer."""
        begin, _, _ = self.other_markers
        yield from reader.skip()
        if not (yield from reader.accept(begin)):
            raise Malformed(f"{begin} is missing")
        while True:
            yield from self._read_call(reader, calls)
            yield from reader.skip()
            if calls.is_full:
                return
            reader.record()
            if not (yield from reader.accept(begin)):
                break
        yield from reader.close(self.closers[0])

    def _read_call(self, reader: Reader, calls: Calls) -> Steps[None]:
        _, separator, end = self.other_markers
        name = yield from read_name(reader)
        if not (yield from reader.accept(separator)):
            raise Malformed(f"{separator} is missing after the name")
        yield from reader.skip()
        is_block = (yield from reader.peek()) != "{"
        if is_block:  # the first word was the kind of the tool
            name = yield from read_name(reader)
            yield from reader.skip()
            yield from reader.accept("```json")
        calls.begin(name)
        yield from read_arguments(reader, calls)
        yield from reader.skip()
        if is_block:
            yield from reader.accept("```")
        yield from reader.skip()
        if not (yield from reader.close(end)):
            raise Malformed(f"{end} is missing after the arguments")
        calls.end()

    def write(self, tool: Tool, lark: Lark) -> str:
        """Return the expression of one call."""
        begin, separator, end = self.other_markers
        if self._has_block:
            before = f"{begin}function{separator}{tool.name}\n```json\n"
            behind = f"\n```{end}"
        else:
            before, behind = f"{begin}{tool.name}{separator}", end
        return f"{lark.text(before)} {lark.json(tool.parameters)} {lark.text(behind)}"

    def around(self, call: str, lark: Lark, is_parallel: bool) -> str:
        """Return the expression of all calls."""
        between = '"\\n" ' if self._has_block else ""
        more = f" ({between}{call})*" if is_parallel else ""
        return f"{lark.text(self.openers[0])} {call}{more} {lark.text(self.closers[0])}"


class Kimi(CallSyntax):
    """Calls between Kimi's markers; the name is inside the id, as `functions.NAME:0`."""

    name = "kimi"
    # Models also write the marks of the section in the singular, or omit them.
    openers = (
        "<|tool_calls_section_begin|>",
        "<|tool_call_section_begin|>",
        "<|tool_call_begin|>",
    )
    closers = ("<|tool_calls_section_end|>", "<|tool_call_section_end|>")
    other_markers = ("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>")
    ends = other_markers[2:]

    def read(self, reader: Reader, calls: Calls, opener: str) -> Steps[None]:
        """Read the calls up to the closer."""
        begin, arguments, end = self.other_markers
        yield from reader.skip()
        if opener != begin and not (yield from reader.accept(begin)):
            raise Malformed(f"{begin} is missing")
        while True:
            yield from reader.skip()
            call_id = yield from read_name(reader)
            yield from reader.skip()
            if not (yield from reader.accept(arguments)):
                raise Malformed(f"{arguments} is missing after the name")
            calls.begin(_kimi_name(call_id, calls.tools), call_id)
            yield from read_arguments(reader, calls)
            yield from reader.skip()
            if not (yield from reader.close(end)):
                raise Malformed(f"{end} is missing after the arguments")
            calls.end()
            if calls.is_full:
                return
            yield from reader.skip()
            reader.record()
            if not (yield from reader.accept(begin)):
                break
        for closer in self.closers:
            if (yield from reader.close(closer)):
                return

    def write(self, tool: Tool, lark: Lark) -> str:
        """Return the expression of one call."""
        begin, arguments, end = self.other_markers
        before = f"{lark.text(f'{begin}functions.{tool.name}:')} /[0-9]+/ {lark.text(arguments)}"
        return f"{before} {lark.json(tool.parameters)} {lark.text(end)}"

    def around(self, call: str, lark: Lark, is_parallel: bool) -> str:
        """Return the expression of all calls."""
        more = "+" if is_parallel else ""
        return f"{lark.text(self.openers[0])} {call}{more} {lark.text(self.closers[0])}"


def _kimi_name(call_id: str, tools: Container[str]) -> str:
    """Return the name in an id, as the request has it where it has one such tool."""
    named = _KIMI_PREFIX.sub("", call_id, count=1) if _KIMI_PREFIX.match(call_id) else call_id
    for name in (call_id, named, named.partition(":")[0], _KIMI_NUMBER.sub("", named)):
        if name in tools:
            return name
    return named.partition(":")[0] or call_id


MISTRAL = Mistral("mistral", is_list=False)
MISTRAL_LIST = Mistral("mistral_list", is_list=True)
DEEPSEEK = DeepSeek("deepseek", has_block=False)
DEEPSEEK_V3 = DeepSeek("deepseek_v3", has_block=True)
KIMI = Kimi()
