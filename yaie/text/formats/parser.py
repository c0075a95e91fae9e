"""Parsers of one sequence's text: `StepParser`, and `MarkupParser` for most syntaxes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence

from yaie.text.formats.calls import Calls
from yaie.text.formats.json_values import Malformed
from yaie.text.formats.reader import SPACE, Reader, Steps
from yaie.text.formats.syntax import CallSyntax, Thinking
from yaie.text.formats.tool import Tool
from yaie.text.output_parts import Part, ReasoningPart, TextPart, merged


class StepParser(ABC):
    """Base of parsers that are one generator over the text."""

    markers: Collection[str] = ()

    def __init__(
        self,
        tools: Sequence[Tool],
        max_calls: int | None = None,
        new_id: Callable[[], str] = str,
    ) -> None:
        self._parts: list[Part] = []
        self._reader = Reader()
        by_name = {tool.name: tool for tool in tools}
        self._calls = Calls(self._parts, by_name, max_calls, new_id)
        self._steps = self._run()

    @property
    def fault(self) -> str:
        """Reason why a tool call could not be parsed; else empty."""
        return self._calls.fault

    @property
    def may_end(self) -> bool:
        """True if the parser may end the sequence."""
        return self._calls.max_calls is not None

    @property
    def is_done(self) -> bool:
        """True once later text is dropped."""
        return self._calls.is_full

    def push(self, text: str) -> list[Part]:
        """Add text; return the parts certain now."""
        if text:
            self._reader.add(text)
            next(self._steps, None)
        return self._drain()

    def end(self) -> list[Part]:
        """Return the parts still held back, at the end of the sequence."""
        self._reader.is_ended = True
        next(self._steps, None)
        return self._drain()

    def _drain(self) -> list[Part]:
        parts = merged(self._parts)
        self._parts.clear()
        return parts

    @abstractmethod
    def _run(self) -> Steps[None]:
        """Read all text; add the parts."""

    def _skip_rest(self) -> Steps[None]:
        while (yield from self._reader.take()):
            pass


class MarkupParser(StepParser):
    """Parser of text with markers; it holds back what may begin one, and space before one."""

    def __init__(
        self,
        syntax: CallSyntax | None,
        thinking: Thinking | None,
        *,
        is_thinking: bool = False,
        tools: Sequence[Tool] = (),
        max_calls: int | None = None,
    ) -> None:
        super().__init__(tools, max_calls, str if syntax is None else syntax.new_id)
        self._syntax = syntax
        self._thinking = thinking
        self._is_thinking = is_thinking  # the prompt has opened the reasoning
        self._space = ""  # held back: dropped beside a marker
        self._is_behind_marker = False
        self.markers = () if syntax is None else syntax.markers
        if thinking is not None:
            self.markers = (*self.markers, *thinking.markers)

    def _run(self) -> Steps[None]:
        if self._thinking is not None:
            yield from self._think(self._thinking)
        openers = self._syntax.openers if self._syntax is not None else ()
        hidden = self._thinking.hidden if self._thinking is not None else ()
        if self._syntax is not None and self._syntax.is_bare:
            yield from self._bare_call(self._syntax)
        while not self.is_done:
            text, opener = yield from self._reader.before((*openers, *hidden))
            self._show(text)
            if opener in hidden:
                self._is_behind_marker, self._space = True, ""
            elif opener is not None and self._syntax is not None:
                yield from self._call(self._syntax, opener)
            elif not text:
                self._show_space()
                return
        yield from self._skip_rest()

    def _think(self, thinking: Thinking) -> Steps[None]:
        if not self._is_thinking:
            self._reader.record()
            yield from self._reader.skip()
            self._space = self._reader.recorded()
        if self._is_thinking or (yield from self._reader.accept(thinking.opener)):
            self._space = ""
            self._is_behind_marker = True
            yield from self._reason(thinking)

    def _reason(self, thinking: Thinking) -> Steps[None]:
        if self._is_thinking:  # a model may repeat what its prompt has written
            yield from self._reader.skip()
            yield from self._reader.accept(thinking.opener)
        yield from self._reader.skip()
        space = ""
        while True:
            piece, closer = yield from self._reader.before((thinking.closer,))
            text = space + piece
            shown = text.rstrip(SPACE)
            space = text[len(shown) :]
            if shown:
                self._parts.append(ReasoningPart(shown))
            if closer is not None or not piece:
                return

    def _bare_call(self, syntax: CallSyntax) -> Steps[None]:
        self._reader.record()
        yield from self._reader.skip()
        self._space += self._reader.recorded()
        if (yield from self._reader.peek()) in ("{", "["):
            yield from self._call(syntax, "")

    def _call(self, syntax: CallSyntax, opener: str) -> Steps[None]:
        """Read the calls behind an opener; without a name it is text."""
        num_before = self._calls.num_begun
        may_follow = True
        while may_follow and not self._calls.is_full:
            self._reader.record()
            try:
                yield from syntax.read(self._reader, self._calls, opener)
                may_follow = False
            except Malformed as error:
                markup = self._reader.recorded()
                if not self._calls.is_open:
                    is_answer = syntax.is_bare and not opener
                    if not is_answer:
                        self._calls.note(
                            f"a tool call was not parsed, and its markup stays text: {error}"
                        )
                    is_first = num_before == self._calls.num_begun
                    self._show(opener + markup if is_first else markup)
                    return
                may_follow = yield from self._abandon(syntax, str(error))
        self._reader.recorded()
        self._space = ""
        self._is_behind_marker = True

    def _abandon(self, syntax: CallSyntax, reason: str) -> Steps[bool]:
        """End a call with broken arguments; they stay as the model wrote them.

        Return whether another call may follow.
        """
        self._calls.note(f"the arguments of call {self._calls.num_begun - 1}: {reason}")
        while True:
            text, end = yield from self._reader.before((*syntax.closers, *syntax.ends))
            self._calls.add(text)
            if end is not None or not text:
                break
        self._calls.end()
        if end not in syntax.ends:
            return False
        yield from self._reader.skip()
        for closer in syntax.closers:
            if (yield from self._reader.accept(closer)):
                return False
        return bool((yield from self._reader.peek()))

    def _show(self, text: str) -> None:
        text = self._space + text
        if self._is_behind_marker:
            text = text.lstrip(SPACE)
        shown = text.rstrip(SPACE)
        self._space = text[len(shown) :]
        if shown:
            self._is_behind_marker = False
            self._parts.append(TextPart(shown))

    def _show_space(self) -> None:
        if self._space and not self._is_behind_marker:
            self._parts.append(TextPart(self._space))
