"""Stop strings in text that arrives in pieces.

Used by `SequenceText`. A possible beginning of a stop string is held back, and a found one is
never shown in part. The result does not depend on the size of the pieces. Each character costs a
few steps, however much text is held back (Knuth-Morris-Pratt): clients choose the stop strings.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache


class StopScanner:
    """Search for the stop string complete first; among those, for the longest."""

    def __init__(self, stops: Sequence[str], include: bool = False) -> None:
        self._stops = tuple(stops)
        self._failures = tuple(_failures(stop) for stop in self._stops)
        self._matched = [0] * len(self._stops)  # characters of each at the end of the text
        self._first_characters = {stop[0] for stop in self._stops}
        self._include = include
        self._held = ""  # as long as the longest match

    def push(self, text: str, *, may_stop: bool = True) -> tuple[str, str | None]:
        """Add text; return the text to show now, and the stop string found, if any.

        After a match the rest of the text is dropped and the scanner is done. Without `may_stop`
        a stop string that ends in `text` counts as text, but one that only begins in it does not.
        """
        if not self._held and self._first_characters.isdisjoint(text):
            return text, None
        buffer = self._held + text
        for end, character in enumerate(text, start=len(self._held) + 1):
            stop = self._longest_match_at(character, may_stop)
            if stop is not None:
                self._held = ""
                return buffer[: end if self._include else end - len(stop)], stop
        shown_len = len(buffer) - max(self._matched, default=0)
        self._held = buffer[shown_len:]
        return buffer[:shown_len], None

    def flush(self) -> str:
        """Return the text still held back, at the end of a sequence."""
        held, self._held = self._held, ""
        self._matched = [0] * len(self._stops)
        return held

    def _longest_match_at(self, character: str, may_stop: bool) -> str | None:
        longest: str | None = None
        for index, stop in enumerate(self._stops):
            failures = self._failures[index]
            matched = self._matched[index]
            while matched and stop[matched] != character:
                matched = failures[matched - 1]
            if stop[matched] == character:
                matched += 1
            if matched == len(stop):
                if may_stop and (longest is None or len(stop) > len(longest)):
                    longest = stop
                matched = failures[matched - 1]
            self._matched[index] = matched
        return longest


@lru_cache(maxsize=256)  # the sequences of a request share their stop strings
def _failures(stop: str) -> array[int]:
    """Return the KMP failure function.

    For each prefix of `stop`, by its last index: the length of its longest proper border.
    """
    failures = array("i", [0])
    matched = 0
    for character in stop[1:]:
        while matched and stop[matched] != character:
            matched = failures[matched - 1]
        if stop[matched] == character:
            matched += 1
        failures.append(matched)
    return failures
