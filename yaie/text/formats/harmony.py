"""Harmony, the format of gpt-oss: messages with channels and recipients."""

from __future__ import annotations

import re
from collections.abc import Sequence

from yaie.text.formats.calls import Calls
from yaie.text.formats.json_values import Malformed, read_value
from yaie.text.formats.lark import Lark
from yaie.text.formats.parser import StepParser
from yaie.text.formats.reader import Reader, Steps
from yaie.text.formats.syntax import CallSyntax
from yaie.text.formats.tool import Tool
from yaie.text.output_parts import ReasoningPart, TextPart

_START, _CHANNEL, _MESSAGE = "<|start|>", "<|channel|>", "<|message|>"
_CONSTRAIN, _END, _CALL, _RETURN = "<|constrain|>", "<|end|>", "<|call|>", "<|return|>"
_ENDS = (_END, _CALL, _RETURN)
_RECIPIENT = re.compile(r"to=([\w.:/-]+)")
_FUNCTIONS = "functions."
_SHOWN_CHANNELS = ("final", "commentary")


class Harmony(CallSyntax):
    """Calls as messages to a function, in the channel `commentary`."""

    name = "harmony"
    other_markers = (_START, _CHANNEL, _MESSAGE, _CONSTRAIN, _END, _CALL, _RETURN)

    def read(self, reader: Reader, calls: Calls, opener: str) -> Steps[None]:
        """Raise `Malformed`: `HarmonyParser` reads the messages."""
        yield from reader.peek()
        raise Malformed("harmony has no call outside a message")

    def write(self, tool: Tool, lark: Lark) -> str:
        """Return the expression of one call, up to its arguments' end."""
        head = f"{_CHANNEL}commentary to={_FUNCTIONS}{tool.name} {_CONSTRAIN}json{_MESSAGE}"
        return f"{lark.text(head)} {lark.json(tool.parameters)}"

    def around(self, call: str, lark: Lark, is_parallel: bool) -> str:
        """Return the expression for one call after an optional reasoning message."""
        return f"{self._thought(lark)} {call}"

    def final(self, answer: str, lark: Lark) -> str:
        """Return the expression of an answer in the channel `final`."""
        return f"{self._thought(lark)} {lark.text(f'{_CHANNEL}final{_MESSAGE}')} {answer}"

    def _thought(self, lark: Lark) -> str:
        behind = f"{_END}{_START}assistant"
        return f"({lark.text(f'{_CHANNEL}analysis{_MESSAGE}')} {lark.up_to(behind)})?"


HARMONY = Harmony()


class HarmonyParser(StepParser):
    """Parser of one sequence in harmony: reasoning in `analysis`, calls by their recipient."""

    markers = HARMONY.other_markers

    def __init__(self, tools: Sequence[Tool] = (), max_calls: int | None = None) -> None:
        super().__init__(tools, max_calls)
        self._has_text = False

    def _run(self) -> Steps[None]:
        while not self.is_done:
            if (yield from self._starts_message()):
                yield from self._message()
            elif self._reader.is_cut or (yield from self._body("")) is None:
                break
        yield from self._skip_rest()

    def _starts_message(self) -> Steps[bool]:
        yield from self._reader.skip()
        for mark in (_START, _CHANNEL, _MESSAGE, "to="):
            if (yield from self._reader.starts_with(mark)):
                return True
        return False

    def _message(self) -> Steps[None]:
        """Read a message; one whose header has no `<|message|>` before its end has no body."""
        yield from self._reader.accept(_START)
        header, mark = yield from self._header()
        if mark != _MESSAGE:
            if mark is not None or _CHANNEL in header:
                self._calls.note("a message without <|message|> was dropped")
            return
        recipient = _RECIPIENT.search(header)
        full = "" if recipient is None else recipient[1]
        name = full.removeprefix(_FUNCTIONS)
        if name and (name != full or name in self._calls.tools):
            yield from self._call(name)
            return
        channel = header.partition(_CHANNEL)[2].lstrip()
        # Messages to other recipients, and in unknown channels, are a model's own steps.
        is_shown = not name and (not channel or channel.startswith(_SHOWN_CHANNELS))
        yield from self._body("text" if is_shown else "reasoning")

    def _header(self) -> Steps[tuple[str, str | None]]:
        """Read a header up to its mark, or up to the next header."""
        header = ""
        while True:
            text, mark = yield from self._reader.up_to((_MESSAGE, *_ENDS, _START))
            header += text
            if mark is not None or not text:
                break
        if mark is not None and mark != _START:
            yield from self._reader.accept(mark)
        return header, mark

    def _call(self, name: str) -> Steps[None]:
        self._calls.begin(name)
        yield from self._reader.skip()
        try:
            yield from read_value(self._reader, self._calls.add, _ENDS)
            yield from self._reader.skip()
        except Malformed as error:
            self._calls.note(f"the arguments of call {self._calls.num_begun - 1}: {error}")
        while True:
            text, end = yield from self._reader.up_to(_ENDS, drops_cut=True)
            self._calls.add(text)
            if end is not None or not text:
                break
        self._is_in_call = end is None
        self._calls.end()
        yield from self._reader.accept(end or "")

    def _body(self, kind: str) -> Steps[str | None]:
        """Read the text up to the end of its message; return that mark, None at the very end."""
        space = "\n\n" if kind != "reasoning" and self._has_text else ""
        while True:
            text, end = yield from self._reader.before(_ENDS)
            if text and kind == "reasoning":
                self._parts.append(ReasoningPart(text))
            elif text:
                self._parts.append(TextPart(space + text))
                space, self._has_text = "", True
            if end is not None or not text:
                return end
