"""Stop strings, found in text that arrives in pieces.

Used by `SequenceText`. Text that may turn out to begin a stop string is held back, so that no part
of one is ever shown; what is found does not depend on how the text was cut into pieces.
"""

from __future__ import annotations

from collections.abc import Sequence


class StopScanner:
    """Looks for the stop string that is complete first; among those, the longest."""

    def __init__(self, stops: Sequence[str], include: bool = False) -> None:
        self._stops = tuple(stops)
        self._include = include
        self._held = ""

    def push(self, text: str) -> tuple[str, str | None]:
        """Take more text; return what may be shown and the stop string found, if any.

        After a match the rest of the text is dropped and the scanner is done.
        """
        buffer = self._held + text
        match = self._first_match(buffer)
        if match is not None:
            start, end, stop = match
            self._held = ""
            return buffer[: end if self._include else start], stop
        held_len = max((_overlap(buffer, stop) for stop in self._stops), default=0)
        self._held = buffer[len(buffer) - held_len :]
        return buffer[: len(buffer) - held_len], None

    def flush(self) -> str:
        """The text still held back, at the end of a sequence."""
        held, self._held = self._held, ""
        return held

    def _first_match(self, buffer: str) -> tuple[int, int, str] | None:
        found = [
            (start + len(stop), start, stop)
            for stop in self._stops
            if (start := buffer.find(stop)) >= 0
        ]
        if not found:
            return None
        end, start, stop = min(found)
        return start, end, stop


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`, but not all of it."""
    start = text.find(stop[0], max(0, len(text) - len(stop) + 1))
    while start >= 0:
        if stop.startswith(text[start:]):
            return len(text) - start
        start = text.find(stop[0], start + 1)
    return 0
