"""Acceptance: how often the tokens of a kind of guess are right, for one sequence. Pure.

Counts of all sequences fade slowly. A sequence begins with their share and soon trusts its own
counts of a source, since texts differ more than kinds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from yaie.engine.drafts.drafter import Guess
from yaie.engine.request import Sequence

_KEPT = 0.98  # of the counts of all sequences, by observation
_KEPT_OF_ONE = 0.9  # of one sequence's counts
_WEIGHT_OF_ALL = 4.0  # own tokens that the share of all counts as
_WEIGHT_OF_ASSUMED = 4.0
MOST = 0.98  # no guess is certain


@dataclass(slots=True)
class _Counts:
    right: float = 0.0
    tried: float = 0.0

    def add(self, right: int, tried: int, kept: float) -> None:
        self.right = self.right * kept + right
        self.tried = self.tried * kept + tried


class Acceptance:
    """Counts of right tokens, by kind of guess, and by sequence and source."""

    def __init__(self) -> None:
        self._of_kind: defaultdict[tuple[str, int], _Counts] = defaultdict(_Counts)
        self._of_sequence: dict[Sequence, dict[str, _Counts]] = {}

    def share(self, sequence: Sequence, guess: Guess) -> float:
        """Return the probability that the next token of a guess is right, below 1."""
        kind = self._of_kind[guess.kind]
        assumed = guess.assumed * _WEIGHT_OF_ASSUMED
        share = (kind.right + assumed) / (kind.tried + _WEIGHT_OF_ASSUMED)
        own = self._of_sequence.get(sequence, {}).get(guess.source)
        if own is not None:
            share = (own.right + share * _WEIGHT_OF_ALL) / (own.tried + _WEIGHT_OF_ALL)
        return min(share, MOST)

    def note(self, sequence: Sequence, guess: Guess, num_right: int, num_tried: int) -> None:
        """Count the right ones of the guess's first tokens, up to the first wrong one."""
        if not num_tried:
            return
        self._of_kind[guess.kind].add(num_right, num_tried, _KEPT)
        own = self._of_sequence.setdefault(sequence, {}).setdefault(guess.source, _Counts())
        own.add(num_right, num_tried, _KEPT_OF_ONE)

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Forget all other sequences."""
        self._of_sequence = {
            each: counts for each, counts in self._of_sequence.items() if each in sequences
        }
