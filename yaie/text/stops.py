"""Stop strings, found in text that arrives in pieces.

Used by `SequenceText`. Text that may turn out to begin a stop string is held back, so that no part
of one is ever shown; what is found does not depend on how the text was cut into pieces. Each
character costs the same few steps whatever is held back (Knuth, Morris and Pratt's automaton): the
text is the model's, but the stop strings are a client's.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache


class StopScanner:
    """Looks for the stop string that is complete first; among those, the longest."""

    def __init__(self, stops: Sequence[str], include: bool = False) -> None:
        self._stops = tuple(stops)
        self._fallbacks = tuple(_fallbacks(stop) for stop in self._stops)
        self._matched = [0] * len(self._stops)  # characters of each that the text ends with
        self._first_characters = {stop[0] for stop in self._stops}
        self._include = include
        self._held = ""  # as long as the longest that is matched

    def push(self, text: str, *, may_stop: bool = True) -> tuple[str, str | None]:
        """Take more text; return what may be shown and the stop string found, if any.

        After a match the rest of the text is dropped and the scanner is done. Where it may not
        stop, a stop string that ends in this text is text, and one that begins in it is not.
        """
        if not self._held and self._first_characters.isdisjoint(text):
            return text, None
        buffer = self._held + text
        for end, character in enumerate(text, start=len(self._held) + 1):
            stop = self._longest_that_ends_with(character, may_stop)
            if stop is not None:
                self._held = ""
                return buffer[: end if self._include else end - len(stop)], stop
        shown_len = len(buffer) - max(self._matched, default=0)
        self._held = buffer[shown_len:]
        return buffer[:shown_len], None

    def flush(self) -> str:
        """The text still held back, at the end of a sequence."""
        held, self._held = self._held, ""
        self._matched = [0] * len(self._stops)
        return held

    def _longest_that_ends_with(self, character: str, may_stop: bool) -> str | None:
        longest: str | None = None
        for index, stop in enumerate(self._stops):
            fallbacks = self._fallbacks[index]
            matched = self._matched[index]
            while matched and stop[matched] != character:
                matched = fallbacks[matched - 1]
            if stop[matched] == character:
                matched += 1
            if matched == len(stop):
                if may_stop and (longest is None or len(stop) > len(longest)):
                    longest = stop
                matched = fallbacks[matched - 1]
            self._matched[index] = matched
        return longest


@lru_cache(maxsize=256)  # the sequences of a request have the same ones
def _fallbacks(stop: str) -> array[int]:
    """For each beginning of `stop`, by its last place: how long the longest shorter beginning is
    that it ends with."""
    fallbacks = array("i", [0])
    matched = 0
    for character in stop[1:]:
        while matched and stop[matched] != character:
            matched = fallbacks[matched - 1]
        if stop[matched] == character:
            matched += 1
        fallbacks.append(matched)
    return fallbacks
