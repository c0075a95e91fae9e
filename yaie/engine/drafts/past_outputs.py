"""Past outputs: guesses from answers that ended, within one namespace. Pure.

Agents repeat their calls, and forms repeat their phrases from answer to answer. A namespace sees
its own answers only: the speed of an answer would tell of the text that drafted for it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from typing import Any

import numpy as np

from yaie.engine.drafts.drafter import Guess
from yaie.engine.drafts.token_search import LONGEST_MATCH
from yaie.engine.request import Sequence, SequenceState
from yaie.kvcache.node import Tokens

NUM_TOKENS = 1 << 18  # that are kept of all answers; the oldest are overwritten
LEAST_MATCH = 4
_HALF_RIGHT = 12  # equal tokens before a guess of which half is right
_FACTORS = (0x9E3779B97F, 0x85EBCA6B1D, 0xC2B2AE35D3, 0x27D4EB2F17)  # sums stay below 2**63


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer in the ring, with the end of its prompt."""

    namespace: Hashable
    start: int
    end: int


class OutputRing:
    """The tokens of past answers, and a table that finds their runs of `LEAST_MATCH` tokens.

    Memory: 16 bytes for each of `num_tokens`, from the first answer on.
    """

    def __init__(self, num_tokens: int = NUM_TOKENS) -> None:
        self._tokens = np.zeros(num_tokens, dtype=np.int32)
        self._numbers = np.zeros(num_tokens, dtype=np.int32)  # of the answer of each token
        # Place after a run, by its hash; a newer run replaces an older one.
        self._ends = np.zeros(2 * num_tokens, dtype=np.int32)
        self._kept: dict[int, _Kept] = {}
        self._next = 0
        self._count = 0

    def __len__(self) -> int:
        """Number of answers."""
        return len(self._kept)

    def add(self, namespace: Hashable, tokens: Tokens) -> None:
        """Keep an answer, or its last tokens if it is longer than the ring."""
        tokens = tokens[-len(self._tokens) :]
        if len(tokens) <= LEAST_MATCH:
            return
        start = self._next if self._next + len(tokens) <= len(self._tokens) else 0
        end = self._next = start + len(tokens)
        for number in np.unique(self._numbers[start:end]).tolist():
            self._kept.pop(number, None)
        self._count += 1
        self._tokens[start:end] = tokens
        self._numbers[start:end] = self._count
        self._kept[self._count] = _Kept(namespace, start, end)
        wide = tokens.astype(np.int64)
        runs = [wide[first : first - LEAST_MATCH] for first in range(LEAST_MATCH)]
        self._ends[self._hash(runs, namespace)] = np.arange(start + LEAST_MATCH, end)

    def find(self, namespace: Hashable, run: SequenceOf[int]) -> int:
        """Return a place after a run of `LEAST_MATCH` tokens, or of another with its hash; or 0."""
        return int(self._ends[self._hash(run, namespace)])

    def _hash(self, run: SequenceOf[Any], namespace: Hashable) -> Any:
        """Return the entry of a run; of many, where each token is an array."""
        mixed = sum(token * factor for token, factor in zip(run, _FACTORS, strict=True))
        return (mixed ^ (mixed >> 23) ^ (hash(namespace) & 0xFFFFFF)) % len(self._ends)

    def match_at(self, place: int, namespace: Hashable, end: Tokens) -> int:
        """Return how many tokens before a place equal the last of `end`; 0 in other namespaces."""
        kept = self._kept_at(place)
        if kept is None or kept.namespace != namespace:
            return 0
        before = self._tokens[max(kept.start, place - len(end)) : place]
        differs = np.flatnonzero(before[::-1] != end[::-1][: len(before)])
        return int(differs[0]) if len(differs) else len(before)

    def _kept_at(self, place: int) -> _Kept | None:
        if not 0 < place < len(self._tokens):
            return None
        return self._kept.get(int(self._numbers[place]))

    def read(self, place: int, limit: int) -> tuple[int, ...]:
        """Return at most `limit` tokens of an answer from a place on."""
        kept = self._kept_at(place)
        end = place if kept is None else min(place + limit, kept.end)
        return tuple(self._tokens[place:end].tolist())


class PastOutputs:
    """Guesses from answers of the same namespace that have ended."""

    def __init__(self) -> None:
        self._ring: OutputRing | None = None
        self._live: set[Sequence] = set()
        self._followed: dict[Sequence, tuple[int, int]] = {}  # a place, and the output's length

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        """Return what followed the last tokens in an answer; at most as many as were equal."""
        self._live.add(sequence)
        ring, namespace = self._ring, sequence.request.namespace
        if ring is None:
            return None
        run: SequenceOf[int] = sequence.output[-LEAST_MATCH:]
        if len(run) < LEAST_MATCH:
            run = last_tokens(sequence)[-LEAST_MATCH:].tolist()
        if len(run) < LEAST_MATCH:
            return None
        place = ring.find(namespace, run)
        if not (place or sequence in self._followed):
            return None  # most often, and at little cost
        end = last_tokens(sequence)
        length = ring.match_at(place, namespace, end)
        followed, num_output = self._followed.get(sequence, (0, 0))
        if followed:
            further = followed + len(sequence.output) - num_output
            at_further = ring.match_at(further, namespace, end)
            if at_further >= length:
                place, length = further, at_further
        if length < LEAST_MATCH:
            self._followed.pop(sequence, None)
            return None
        self._followed[sequence] = place, len(sequence.output)
        found = ring.read(place, min(limit, length))
        return Guess(found, "past", length, length / (length + _HALF_RIGHT)) if found else None

    def forget_all(self) -> None:
        """Forget every ended answer, and free the memory."""
        self._ring = None
        self._followed.clear()
        self._live = {each for each in self._live if each.state is not SequenceState.FINISHED}

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Keep the answers of ended sequences; forget all sequences except the given ones."""
        for sequence in self._live.difference(sequences):
            if sequence.state is SequenceState.FINISHED and len(sequence.output):
                if self._ring is None:
                    self._ring = OutputRing()
                prompt = sequence.request.prompt[-LONGEST_MATCH:]
                output = np.array(sequence.output, dtype=np.int32)
                self._ring.add(sequence.request.namespace, np.concatenate([prompt, output]))
        self._live.intersection_update(sequences)
        self._followed = {each: at for each, at in self._followed.items() if each in sequences}


def last_tokens(sequence: Sequence) -> Tokens:
    """Return the last tokens of prompt and output, at most `LONGEST_MATCH`."""
    output = np.array(sequence.output[-LONGEST_MATCH:], dtype=np.int32)
    missing = LONGEST_MATCH - len(output)
    if not missing:
        return output
    return np.concatenate([sequence.request.prompt[-missing:], output])
