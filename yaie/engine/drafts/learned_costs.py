"""Learned costs: how much longer steps with more rows take, from the steps that ran. Pure.

A measurement before the first request is short, and other work on the machine may distort it. Steps
show the costs too. Contexts grow and other work comes and goes, so that only ratios of nearby steps
mean something: one factor follows the speed of all steps quickly, and the growth from size to
size follows the steps with drafts slowly.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import exp, log

from yaie.engine.drafts.draft_lengths import UNMEASURED, RowCosts

_LEARNED = 0.05  # of an error, by the growth between sizes
_FOLLOWED = 0.2  # of an error, by the factor
_MOST_ERROR = log(2.0)  # a step that took longer was interrupted
_LEAST_GROWTH = 0.25  # of the usual one, at the start: a flat measurement was disturbed
# Growth that is too high is never seen: no draft pays. So it fades with each step without drafts,
# until one is tried again.
_FADED = 0.002


class LearnedCosts:
    """Costs of steps by their rows, in the time unit of the costs to begin with."""

    def __init__(self, start: RowCosts) -> None:
        """Begin with `start`, for at least two sizes."""
        self.costs = start
        self._sizes = [num_rows for num_rows, _ in start.measured]
        self._first = start.measured[0][1]
        measured = _find_growth([time for _, time in start.measured])
        usual = _find_growth([UNMEASURED.cost(size) for size in self._sizes])
        self._growth = [
            max(growth, _LEAST_GROWTH * each) for growth, each in zip(measured, usual, strict=True)
        ]
        self._fades_to = [min(pair) for pair in zip(self._growth, usual, strict=True)]
        self._speed: float | None = None  # logarithm of seconds by the unit
        self._update()

    def observe(self, num_rows: int, num_drafted: int, seconds: float) -> None:
        """Learn from a step in which each sequence sampled, with `num_drafted` of the rows."""
        if seconds <= 0:
            return
        planning = self.costs.planning if num_drafted else 0.0
        found = log(seconds / (self.costs.cost(num_rows) + planning))
        if self._speed is None:
            self._speed = found
        error = max(-_MOST_ERROR, min(found - self._speed, _MOST_ERROR))
        self._speed += error * _FOLLOWED
        if num_drafted:
            self._grow(num_rows - num_drafted, num_rows, error * _LEARNED)
        else:
            self._fade()

    def _grow(self, low: int, high: int, change: float) -> None:
        """Change the growth from `low` to `high` rows."""
        places = [
            place
            for place, (before, after) in enumerate(pairwise(self._sizes))
            if before < high and after > low
        ] or [len(self._growth) - 1]
        for place in places:
            self._growth[place] = max(0.0, self._growth[place] + change / len(places))
        self._update()

    def _fade(self) -> None:
        if all(growth <= end for growth, end in zip(self._growth, self._fades_to, strict=True)):
            return
        self._growth = [
            growth - max(0.0, growth - end) * _FADED
            for growth, end in zip(self._growth, self._fades_to, strict=True)
        ]
        self._update()

    def _update(self) -> None:
        times = [self._first * exp(total) for total in accumulate(self._growth, initial=0.0)]
        points = tuple(zip(self._sizes, times, strict=True))
        self.costs = RowCosts(points, self.costs.planning)


def _find_growth(times: list[float]) -> list[float]:
    return [log(high / low) for low, high in pairwise(times)]
