"""Syntaxes with JSON calls: Hermes and Qwen, Granite, Phi, Llama 3, and JSON without a marker."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from yaie.text.formats.calls import Calls, JsonCall
from yaie.text.formats.lark import Lark
from yaie.text.formats.reader import SPACE, Reader, Steps
from yaie.text.formats.syntax import CallSyntax, name_and
from yaie.text.formats.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLayout:
    """Text around JSON calls, as models of a family write it."""

    opening: str = ""  # before all calls
    before: str = ""  # each call
    behind: str = ""  # each call
    separator: str | None = None  # None: one call only
    closing: str = ""  # after all calls
    name_key: str = "name"
    arguments_key: str = "arguments"


class JsonCalls(CallSyntax):
    """JSON calls: one, several, or a list after each opener."""

    def __init__(
        self,
        name: str,
        layout: CallLayout,
        *,
        opener: str = "",
        closer: str = "",
        is_bare: bool = False,
    ) -> None:
        self.name = name
        self.openers = (opener,) if opener else ()
        self.closers = (closer,) if closer else ()
        self.is_bare = is_bare
        self._layout = layout

    def read(self, reader: Reader, calls: Calls, opener: str) -> Steps[None]:
        """Read the calls and the closer."""
        yield from read_json_calls(reader, calls, is_bare=not opener)
        for closer in self.closers:
            yield from reader.close(closer)

    def write(self, tool: Tool, lark: Lark) -> str:
        """Return the expression of one call."""
        layout = self._layout
        head = name_and(layout.arguments_key, tool, layout.name_key)
        begin = lark.text(layout.before + head)
        return f"{begin} {lark.json(tool.parameters)} {lark.text('}' + layout.behind)}"

    def around(self, call: str, lark: Lark, is_parallel: bool) -> str:
        """Return the expression of all calls."""
        layout = self._layout
        if is_parallel and layout.separator is not None:
            call = f"{call} ({lark.text(layout.separator)} {call})*"
        return " ".join(filter(None, (lark.text(layout.opening), call, lark.text(layout.closing))))

    def text_of(self, calls: Iterable[tuple[str, str]]) -> str:
        """Return calls as the model writes them: names, and arguments as JSON text."""
        layout = self._layout
        written = (
            f'{layout.before}{{"{layout.name_key}": {json.dumps(name, ensure_ascii=False)}, '
            f'"{layout.arguments_key}": {arguments}}}{layout.behind}'
            for name, arguments in calls
        )
        separator = "\n" if layout.separator is None else layout.separator
        return f"{layout.opening}{separator.join(written)}{layout.closing}"


def read_json_calls(reader: Reader, calls: Calls, *, is_bare: bool = False) -> Steps[None]:
    """Read one call, several, or a list, and the brackets after them."""
    yield from reader.skip()
    if (yield from reader.accept("[")):
        yield from reader.skip()
    while True:
        yield from JsonCall(reader, calls, is_bare=is_bare).read()
        yield from reader.skip(SPACE + ",;]}")
        if calls.is_full or (yield from reader.peek()) != "{":
            return
        reader.record()


HERMES = JsonCalls(
    "hermes",
    CallLayout(before="<tool_call>\n", behind="\n</tool_call>", separator="\n"),
    opener="<tool_call>",
    closer="</tool_call>",
)
GRANITE = JsonCalls(
    "granite",
    CallLayout(opening="<|tool_call|>[", separator=", ", closing="]"),
    opener="<|tool_call|>",
)
PHI = JsonCalls(
    "phi",
    CallLayout(opening="<|tool_call|>[", separator=", ", closing="]<|/tool_call|>"),
    opener="<|tool_call|>",
    closer="<|/tool_call|>",
)
NEMOTRON = JsonCalls(
    "nemotron",
    CallLayout(opening="<TOOLCALL>[", separator=", ", closing="]</TOOLCALL>"),
    opener="<TOOLCALL>",
    closer="</TOOLCALL>",
)
APRIEL = JsonCalls(
    "apriel",
    CallLayout(opening="<tool_calls>[", separator=", ", closing="]</tool_calls>"),
    opener="<tool_calls>",
    closer="</tool_calls>",
)
COMMAND = JsonCalls(
    "command",
    CallLayout(
        opening="<|START_ACTION|>[",
        separator=", ",
        closing="]<|END_ACTION|>",
        name_key="tool_name",
        arguments_key="parameters",
    ),
    opener="<|START_ACTION|>",
    closer="<|END_ACTION|>",
)
LLAMA = JsonCalls(
    "llama", CallLayout(arguments_key="parameters"), opener="<|python_tag|>", is_bare=True
)
JSON = JsonCalls("json", CallLayout(), is_bare=True)
