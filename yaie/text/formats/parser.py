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
        self._is_in_call = False
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
        """Add text; return the parts that are certain now."""
        if text:
            self._reader.add(text)
            next(self._steps, None)
        return self._drain()

    @property
    def is_in_call(self) -> bool:
        """True if the text ended inside a call."""
        return self._is_in_call

    def end(self, *, is_cut: bool = False) -> list[Part]:
        """Return the parts still held back, at the end of the sequence.

        Of a text that was cut, the beginning of a marker is no part.
        """
        self._reader.is_ended, self._reader.is_cut = True, is_cut
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
    """Parser for text with markers; holds back what may begin a marker, and space before it."""

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
        self._space = ""  # held back: a marker may follow
        self._gap: str | None = None  # the space before a marker, until text follows
        self._has_text = False
        self._openers = () if syntax is None else syntax.openers
        self.markers = () if syntax is None else syntax.markers
        if thinking is not None:
            self.markers = (*self.markers, *thinking.markers)

    def _run(self) -> Steps[None]:
        syntax = self._syntax
        if self._thinking is not None:
            yield from self._think(self._thinking)
        hidden = self._thinking.hidden if self._thinking is not None else ()
        closers = syntax.closers if syntax is not None else ()
        if syntax is not None and syntax.is_bare:
            yield from self._bare_call(syntax)
        while not self.is_done:
            text, mark = yield from self._reader.before((*self._openers, *hidden, *closers))
            self._show(text)
            if mark in self._openers and syntax is not None:
                yield from self._call(syntax, mark)
            elif mark in hidden or (mark in closers and self._gap is not None):  # repeated
                self._pass_marker()
            elif mark is not None:
                self._show(mark)
            elif not text:
                if self._gap is None and self._space:
                    self._parts.append(TextPart(self._space))
                return
        yield from self._skip_rest()

    def _think(self, thinking: Thinking) -> Steps[None]:
        if not self._is_thinking:
            self._reader.record()
            yield from self._reader.skip()
            self._space = self._reader.recorded()
        if self._is_thinking or (yield from self._reader.accept(thinking.opener)):
            self._space = ""
            self._pass_marker()
            yield from self._reason(thinking)

    def _reason(self, thinking: Thinking) -> Steps[None]:
        """Read the reasoning; calls of the request's tools count there too."""
        if self._is_thinking:  # a model may repeat what its prompt has written
            yield from self._reader.skip()
            yield from self._reader.accept(thinking.opener)
        yield from self._reader.skip()
        while not self.is_done:
            text, mark = yield from self._reader.before((thinking.closer, *self._openers))
            self._show_reasoning(text)
            if mark in self._openers and self._syntax is not None:
                self._calls.only_known = True
                markup, _ = yield from self._read_calls(self._syntax, mark)
                self._calls.only_known = False
                self._show_reasoning(markup)
            elif mark is not None or not text:
                self._space = ""
                return

    def _show_reasoning(self, text: str) -> None:
        text = self._space + text
        shown = text.rstrip(SPACE)
        self._space = text[len(shown) :]
        if shown:
            self._parts.append(ReasoningPart(shown))

    def _bare_call(self, syntax: CallSyntax) -> Steps[None]:
        self._reader.record()
        yield from self._reader.skip()
        self._space += self._reader.recorded()
        if (yield from self._reader.peek()) in ("{", "["):
            yield from self._call(syntax, "")

    def _call(self, syntax: CallSyntax, opener: str) -> Steps[None]:
        """Read the calls after an opener; without a name it is text."""
        is_first = self._calls.num_begun
        markup, fault = yield from self._read_calls(syntax, opener)
        if self._calls.num_begun != is_first:
            self._pass_marker()
        is_answer = syntax.is_bare and not opener
        if fault and self._reader.is_cut and not markup:
            self._calls.note(
                "the answer was cut before the name of a tool call, and lacks the call"
            )
        elif fault and not is_answer:
            self._calls.note(f"a tool call was not parsed, and its markup stays text: {fault}")
        self._show(markup)

    def _read_calls(self, syntax: CallSyntax, opener: str) -> Steps[tuple[str, str]]:
        """Read calls; return the markup that is no call, and the reason."""
        num_before = self._calls.num_begun
        may_follow = True
        while may_follow and not self._calls.is_full:
            self._reader.record()
            try:
                yield from syntax.read(self._reader, self._calls, opener)
                may_follow = False
            except Malformed as error:
                markup = self._reader.recorded()
                if self._calls.is_open:
                    may_follow = yield from self._abandon(syntax, str(error))
                    continue
                if self._reader.is_cut:  # in the beginning of a call
                    yield from self._skip_rest()
                    return "", str(error)
                is_first = num_before == self._calls.num_begun
                return (opener if is_first else "") + markup, str(error)
        self._reader.recorded()
        if self._reader.is_cut:  # between calls
            yield from self._skip_rest()
        return "", ""

    def _abandon(self, syntax: CallSyntax, reason: str) -> Steps[bool]:
        """End a call with broken arguments; they stay as the model wrote them.

        Return whether another call may follow.
        """
        self._calls.note(f"the arguments of call {self._calls.num_begun - 1}: {reason}")
        while True:
            text, end = yield from self._reader.up_to(
                (*syntax.closers, *syntax.ends), drops_cut=True
            )
            self._calls.add(text)
            if end is not None or not text:
                break
        self._is_in_call = end is None
        self._calls.end()
        if end is None:
            return False
        yield from self._reader.accept(end)
        if end not in syntax.ends:
            return False
        yield from self._reader.skip()
        for closer in syntax.closers:
            if (yield from self._reader.accept(closer)):
                return False
        return bool((yield from self._reader.peek()))

    def _pass_marker(self) -> None:
        """Keep the space before a marker: it separates the text after it."""
        self._gap = self._gap or self._space
        self._space = ""

    def _show(self, text: str) -> None:
        text = self._space + text
        shown = text.rstrip(SPACE)
        self._space = text[len(shown) :]
        if not shown:
            return
        if self._gap is not None:
            begun = shown.lstrip(SPACE)
            separator = self._gap or shown[: -len(begun)] or "\n"
            shown = separator + begun if self._has_text else begun
        self._gap, self._has_text = None, True
        self._parts.append(TextPart(shown))
