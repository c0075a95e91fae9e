"""Parts of an answer: text, reasoning and tool calls, found by a parser in the generated text.

`SequenceText` pushes text through one parser, so whole and streamed answers are parsed alike. A
parser's result does not depend on the size of the pieces that it gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of the answer itself."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Text that the model thought before its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """Growth of one tool call; the first part of a call has its name."""

    index: int  # of the call in the answer, from 0
    name: str = ""
    arguments: str = ""  # to append to the call's JSON text
    call_id: str = ""  # the model's own id, with the first part


Part = TextPart | ReasoningPart | ToolCallPart


class OutputParser(Protocol):
    """Parser of one sequence's text."""

    @property
    def fault(self) -> str:
        """Reason why a tool call could not be parsed; its markup is text then. Else empty."""

    def push(self, text: str) -> list[Part]:
        """Add text; return the parts certain now."""

    def end(self) -> list[Part]:
        """Return the parts still held back, at the end of the sequence."""


class PlainText:
    """Parser of models without markup: all of it is text."""

    fault = ""

    def push(self, text: str) -> list[Part]:
        """Return the text as one part."""
        return [TextPart(text)] if text else []

    def end(self) -> list[Part]:
        """Return nothing: no text is held back."""
        return []
