"""Sessions of callers: a session sends calls, and an ended call may release the next ones.

Token ids are unique to their segment, so two prompts share exactly their common leading segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from yaie.kvcache.node import Tokens


class Segments:
    """Source of segments: runs of token ids, each id used once. `lengths` scales their lengths."""

    def __init__(self, lengths: float = 1.0) -> None:
        self._lengths = lengths
        self._next = 1
        self.starts: list[int] = []  # first token id of each segment, ascending

    def make(self, length: int) -> Tokens:
        """Return a new segment of `length` tokens, scaled; at least one."""
        scaled = max(1, round(length * self._lengths))
        segment = np.arange(self._next, self._next + scaled, dtype=np.int32)
        self.starts.append(self._next)
        self._next += len(segment)
        return segment


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """One request: the segments of its prompt, and one scripted output for each sequence."""

    prompt: tuple[Tokens, ...]
    outputs: tuple[Tokens, ...]
    tenant: str = ""
    think_s: float = 0.0  # from the end of the call that released it to its arrival

    @property
    def prompt_len(self) -> int:
        """Length of the prompt in tokens."""
        return sum(map(len, self.prompt))


class Session(Protocol):
    """One caller."""

    def first(self) -> list[Call]:
        """Return the calls that are sent at once."""

    def after(self, call: Call) -> list[Call]:
        """Return the calls that the end of `call` releases."""


class Turns:
    """A session whose calls follow one another."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = list(calls)
        self._following = dict(pairwise(calls))

    def first(self) -> list[Call]:
        """Return the first call."""
        return self._calls[:1]

    def after(self, call: Call) -> list[Call]:
        """Return the next call, if there is one."""
        following = self._following.get(call)
        return [] if following is None else [following]


class TreeOfThoughts:
    """A beam search over thoughts: expand each beam by samples, evaluate them, keep the best.

    Each phase waits for the one before it. `samples` are the outputs of each expansion in order;
    `scores` those of each evaluation.
    """

    def __init__(
        self,
        root: tuple[Tokens, ...],
        samples: Sequence[tuple[Tokens, ...]],
        scores: Sequence[Tokens],
        question: Tokens,
        *,
        levels: int = 3,
        beams: int = 3,
    ) -> None:
        self._root = root
        self._samples, self._scores = iter(samples), iter(scores)
        self._question = question  # appended to a thought to evaluate it
        self._levels_left, self._beams = levels, beams
        self._phase: list[Call] = []
        self._open: set[Call] = set()  # calls of the phase that have not ended
        self._expands = True  # False: the phase evaluates

    def first(self) -> list[Call]:
        """Return the expansion of the root."""
        return self._begin([Call(self._root, next(self._samples))], expands=True)

    def after(self, call: Call) -> list[Call]:
        """Return the calls of the next phase when the last call of this one has ended."""
        self._open.discard(call)
        if self._open:
            return []
        if self._expands:
            self._levels_left -= 1
            if not self._levels_left:
                return []
            thoughts = [(*each.prompt, output) for each in self._phase for output in each.outputs]
            evaluations = [
                Call((*thought, self._question), (next(self._scores),)) for thought in thoughts
            ]
            return self._begin(evaluations, expands=False)
        # The prompts without the question are the thoughts; every third is taken for a best one.
        thoughts = [each.prompt[:-1] for each in self._phase]
        kept = thoughts[:: max(1, len(thoughts) // self._beams)][: self._beams]
        return self._begin([Call(beam, next(self._samples)) for beam in kept], expands=True)

    def _begin(self, calls: list[Call], *, expands: bool) -> list[Call]:
        self._phase, self._open, self._expands = calls, set(calls), expands
        return calls
