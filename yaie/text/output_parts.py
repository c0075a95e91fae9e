"""Answer parts: text, reasoning and tool calls, found by a parser in the generated text.

`SequenceText` pushes text through one parser, so whole and streamed answers are parsed alike. A
parser's result does not depend on the chunk sizes.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec.structs import replace


class TextPart(msgspec.Struct, frozen=True):
    """Text of the answer itself."""

    text: str


class ReasoningPart(msgspec.Struct, frozen=True):
    """Text that the model thought before its answer."""

    text: str


class ToolCallPart(msgspec.Struct, frozen=True):
    """Growth of one tool call; the first part has the call's name."""

    index: int  # call number in the answer, from 0
    name: str = ""
    arguments: str = ""  # to append to the call's JSON text
    call_id: str = ""  # the model's own id, with the first part


Part = TextPart | ReasoningPart | ToolCallPart


def with_call_id(part: Part, prefix: str) -> Part:
    """Return a call's first part with a fresh id unless it has one; later parts unchanged."""
    if not isinstance(part, ToolCallPart) or not part.name or part.call_id:
        return part
    return replace(part, call_id=f"{prefix}{uuid.uuid4().hex[:24]}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One whole tool call."""

    name: str
    arguments: str  # the JSON text of an object
    call_id: str = ""  # the model's own


def text_of(parts: Iterable[Part]) -> str:
    """Return the text of the answer itself."""
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def reasoning_of(parts: Iterable[Part]) -> str:
    """Return the text of the reasoning."""
    return "".join(part.text for part in parts if isinstance(part, ReasoningPart))


def calls_of(parts: Iterable[Part]) -> tuple[ToolCall, ...]:
    """Return the calls of a whole answer."""
    growths: dict[int, list[ToolCallPart]] = {}
    for part in parts:
        if isinstance(part, ToolCallPart):
            growths.setdefault(part.index, []).append(part)
    return tuple(
        ToolCall(each[0].name, "".join(part.arguments for part in each), each[0].call_id)
        for each in growths.values()
    )


def merged(parts: Iterable[Part]) -> list[Part]:
    """Return the parts, with neighbours of one type or one call merged."""
    runs: list[list[Part]] = []
    for part in parts:
        is_new = isinstance(part, ToolCallPart) and part.name
        if runs and type(runs[-1][0]) is type(part) and not is_new:
            runs[-1].append(part)
        else:
            runs.append([part])
    return [_join(run) for run in runs]


def _join(run: list[Part]) -> Part:
    first = run[0]
    if len(run) == 1:
        return first
    if isinstance(first, ToolCallPart):
        calls = (part for part in run if isinstance(part, ToolCallPart))
        return replace(first, arguments="".join(part.arguments for part in calls))
    texts = (part for part in run if not isinstance(part, ToolCallPart))
    return replace(first, text="".join(part.text for part in texts))


class OutputParser(Protocol):
    """Parser of one sequence's text."""

    @property
    def markers(self) -> Collection[str]:
        """Texts of special tokens that the parser reads; all others are hidden from it."""

    @property
    def may_end(self) -> bool:
        """True if the parser may end the sequence; it reads token by token then."""

    @property
    def is_done(self) -> bool:
        """True once the parser ends the sequence: later text is dropped."""

    @property
    def fault(self) -> str:
        """Reason why a tool call could not be parsed; its markup is text then. Else empty."""

    def push(self, text: str) -> list[Part]:
        """Add text; return the parts certain now."""

    @property
    def is_in_call(self) -> bool:
        """True if the text ended inside a tool call."""

    def end(self, *, is_cut: bool = False) -> list[Part]:
        """Return the parts still held back, at the end of the sequence.

        Of a text that was cut, the beginning of a marker is no part.
        """


class PlainText:
    """Parser of models without markup: all of it is text."""

    markers: Collection[str] = ()
    may_end = False
    is_done = False
    is_in_call = False
    fault = ""

    def push(self, text: str) -> list[Part]:
        """Return the text as one part."""
        return [TextPart(text)] if text else []

    def end(self, *, is_cut: bool = False) -> list[Part]:
        """Return an empty list: all text was given."""
        return []
