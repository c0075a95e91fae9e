"""`Reader`: text that arrives in chunks, for parsers written as generators.

A generator yields while it needs more text. Each method's result depends only on the text, never on
the chunk boundaries. At the end of the text nothing waits.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import lru_cache
from typing import TypeVar

Result = TypeVar("Result")
Steps = Generator[None, None, Result]  # yields while it needs more text

SPACE = " \t\r\n"


class Reader:
    """Text not read yet, and whether more may come."""

    def __init__(self) -> None:
        self.is_ended = False
        self.is_cut = False  # the text ended before its author wanted
        self._text = ""
        self._at = 0
        self._read: list[str] | None = None  # everything read since `record`

    def add(self, text: str) -> None:
        """Append text."""
        self._text = self._text[self._at :] + text
        self._at = 0

    def record(self) -> None:
        """Begin to keep what is read, for `recorded`."""
        self._read = []

    def recorded(self) -> str:
        """Return the text read since `record`, and stop keeping it."""
        read, self._read = self._read or [], None
        return "".join(read)

    def peek(self) -> Steps[str]:
        """Return the next character without reading it; empty at the end."""
        while self._at >= len(self._text):
            if self.is_ended:
                return ""
            yield
        return self._text[self._at]

    def ahead(self, length: int) -> Steps[str]:
        """Return the next characters without reading them; fewer at the end."""
        while len(self._text) - self._at < length and not self.is_ended:
            yield
        return self._text[self._at : self._at + length]

    def take(self) -> Steps[str]:
        """Read one character; empty at the end."""
        found = yield from self.peek()
        self._advance(len(found))
        return found

    def skip(self, characters: str = SPACE) -> Steps[None]:
        """Read past characters of a set."""
        while (found := (yield from self.peek())) and found in characters:
            self._advance(1)

    def starts_with(self, word: str) -> Steps[bool]:
        """Return whether `word` comes next, without reading it."""
        while True:
            rest = self._text[self._at : self._at + len(word)]
            if len(rest) == len(word) or self.is_ended or not word.startswith(rest):
                return rest == word
            yield

    def accept(self, word: str) -> Steps[bool]:
        """Read `word` if it comes next; return whether it does."""
        is_next = yield from self.starts_with(word)
        if is_next:
            self._advance(len(word))
        return is_next

    def run_of(self, pattern: re.Pattern[str]) -> str:
        """Read the characters at hand that a pattern matches."""
        found = pattern.match(self._text, self._at)
        return self._advance(found.end() - self._at) if found else ""

    def close(self, mark: str) -> Steps[bool]:
        """Read an end mark, or its beginning at the end of the text; return True if there is one.

        A text that ends inside a mark was cut there.
        """
        if (yield from self.accept(mark)):
            return True
        rest = self._text[self._at :]
        is_cut = rest != "" and len(rest) < len(mark) and mark.startswith(rest)
        if is_cut:  # and the text has ended, since `accept` did not wait
            self._advance(len(rest))
        return is_cut

    def before(self, markers: tuple[str, ...]) -> Steps[tuple[str, str | None]]:
        """Read text up to a marker, and the marker; return both, as far as they have arrived.

        A possible beginning of a marker stays unread. Without a marker the second value is None:
        call again, until the text is empty too, which is the end.
        """
        text, marker = yield from self.up_to(markers)
        if marker is not None:
            self._advance(len(marker))
        return text, marker

    def up_to(
        self, markers: tuple[str, ...], *, drops_cut: bool = False
    ) -> Steps[tuple[str, str | None]]:
        """Read text up to a marker, as `before`; the marker stays unread.

        With `drops_cut`, or if the text was cut, the beginning of a marker at its end is dropped.
        """
        search = _search(markers)
        while True:
            if found := search.search(self._text, self._at):
                return self._advance(found.start() - self._at), found.group()
            is_held = drops_cut or self.is_cut or not self.is_ended
            held = self._hold_len(markers) if is_held else 0
            if text := self._advance(len(self._text) - self._at - held):
                return text, None
            if self.is_ended:
                self._advance(held)
                return "", None
            yield

    def until(self, markers: tuple[str, ...]) -> Steps[tuple[str, str | None]]:
        """Read all text up to a marker, and the marker; None at the end of the text."""
        texts = []
        while True:
            text, marker = yield from self.before(markers)
            texts.append(text)
            if marker is not None or not text:
                return "".join(texts), marker

    def _hold_len(self, markers: tuple[str, ...]) -> int:
        """Return the length of the longest text suffix that may begin a marker."""
        longest = max(map(len, markers), default=1) - 1
        end = self._text[max(self._at, len(self._text) - longest) :] if longest else ""
        for at, character in enumerate(end):
            for marker in markers:
                if marker[0] == character and marker.startswith(end[at:]):
                    return len(end) - at
        return 0

    def _advance(self, length: int) -> str:
        read = self._text[self._at : self._at + length]
        self._at += length
        if self._read is not None and read:
            self._read.append(read)
        return read


@lru_cache(maxsize=256)
def _search(markers: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for any marker; at one position the first marker wins."""
    return re.compile("|".join(map(re.escape, markers)) if markers else r"(?!)")
