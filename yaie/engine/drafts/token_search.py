"""Token search: finds the places of a text that continue like a given end. Pure.

A search compares whole arrays, some microseconds for 10,000 tokens, so a text needs no index: it
costs nothing until a sequence is drafted for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yaie.kvcache.node import Tokens

LONGEST_MATCH = 32  # tokens that are compared


class GrowingText:
    """Tokens in one array that grows at its end."""

    __slots__ = ("_length", "_tokens")

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = np.empty(len(tokens) + max(len(tokens) // 2, 64), dtype=np.int32)
        self._tokens[: len(tokens)] = tokens
        self._length = len(tokens)

    def __len__(self) -> int:
        return self._length

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens; amortised O(1) for each."""
        end = self._length + len(tokens)
        if end > len(self._tokens):
            grown = np.empty(2 * end, dtype=np.int32)
            grown[: self._length] = self._tokens[: self._length]
            self._tokens = grown
        self._tokens[self._length : end] = tokens
        self._length = end

    def view(self) -> Tokens:
        """Return the tokens without a copy."""
        return self._tokens[: self._length]


def find_continuation(text: Tokens, end: Tokens, least: int) -> tuple[int, int]:
    """Return the place in `text` after the longest run that `end` ends with, and its length.

    The last place of the longest runs; (0, 0) if no run has `least` tokens. A run of `end` itself
    at the end of `text` does not count: nothing follows it.
    """
    if len(end) < least or len(text) <= least:
        return 0, 0
    # Few places are left after one token: only it is compared with the whole text.
    places = np.flatnonzero(text[least - 1 : -1] == end[-1]) + least
    for length in range(1, min(len(end), LONGEST_MATCH)):
        longer = places[places > length] if length >= least else places
        longer = longer[text[longer - length - 1] == end[-length - 1]]
        if not len(longer):
            return (int(places[-1]), length) if length >= least and len(places) else (0, 0)
        places = longer
    if not len(places):
        return 0, 0
    return int(places[-1]), min(len(end), LONGEST_MATCH)
