"""Stop strings and stop patterns in text that arrives in chunks.

Used by `SequenceText`. A possible start of a stop is held back, and a stop is never shown, not even
in part. The result does not depend on the chunk sizes. For stop strings each character costs a few
steps, however much text is held back (Knuth-Morris-Pratt); `PatternSearch` limits its time.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache

from yaie.text.stop_patterns import PatternSearch, stop_patterns


class StopScanner:
    """Search for the stop complete first; among those, for the longest.

    `patterns` are regular expressions; the stop that one finds is named by its pattern. Raises
    `InvalidRequest` for a wrong one.
    """

    def __init__(
        self, stops: Sequence[str], include: bool = False, patterns: Sequence[str] = ()
    ) -> None:
        self._stops = tuple(stops)
        self._failures = tuple(_failures(stop) for stop in self._stops)
        self._matched = [0] * len(self._stops)  # characters of each at the end of the text
        self._first_characters = {stop[0] for stop in self._stops}
        self._search = PatternSearch(stop_patterns(tuple(patterns))) if patterns else None
        self._include = include
        self._held = ""  # as long as the longest match

    def push(self, text: str, *, may_stop: bool = True) -> tuple[str, str | None]:
        """Add text; return the text to show now, and the stop found, if any.

        After a match the rest of the text is dropped and the scanner is done. Without `may_stop`
        a stop that ends in `text` counts as text, but one that only begins in it does not.
        """
        search = self._search
        if search is None and not self._held and self._first_characters.isdisjoint(text):
            return text, None
        buffer = self._held + text
        match_end, match, pattern = 0, "", ""
        if search is not None and (found := search.push(text, may_stop=may_stop)):
            match_end, match, pattern = found
        for at, character in enumerate(text, start=1):
            end = len(self._held) + at
            stop = self._longest_match_at(character)
            length = len(stop or "")
            if at == match_end and len(match) > length:
                length, stop = len(match), pattern
            if stop is not None and may_stop:
                self._held = ""
                return buffer[: end if self._include else end - length], stop
        num_held = max(self._matched, default=0)
        if search is not None:
            num_held = max(num_held, search.num_held)
        shown_len = len(buffer) - num_held
        self._held = buffer[shown_len:]
        return buffer[:shown_len], None

    def flush(self) -> str:
        """Return the text still held back, at the end of a sequence."""
        held, self._held = self._held, ""
        self._matched = [0] * len(self._stops)
        if self._search is not None:
            self._search.clear()
        return held

    def _longest_match_at(self, character: str) -> str | None:
        longest: str | None = None
        for index, stop in enumerate(self._stops):
            failures = self._failures[index]
            matched = self._matched[index]
            while matched and stop[matched] != character:
                matched = failures[matched - 1]
            if stop[matched] == character:
                matched += 1
            if matched == len(stop):
                if longest is None or len(stop) > len(longest):
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
