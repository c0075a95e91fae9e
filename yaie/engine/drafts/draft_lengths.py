"""Draft lengths: how many tokens of each guess pay for their rows. Pure.

A step of more rows takes longer, by a table that is measured at the start. A draft token yields one
more token with the probability that it and all before it are right. The lengths are those with the
most tokens a second.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass

LEAST_GAIN = 1.02  # in tokens a second; less is noise


@dataclass(frozen=True, slots=True)
class RowCosts:
    """Times of steps by their rows, in any unit: `(rows, time)` pairs, ascending in rows."""

    measured: tuple[tuple[int, float], ...]
    planning: float = 0.0  # time that a step with drafts takes in addition, for a new plan

    def cost(self, num_rows: int) -> float:
        """Return a step's time; between and after the measured ones it grows linearly."""
        points = self.measured
        if len(points) == 1 or num_rows <= points[0][0]:
            return points[0][1]
        for after in range(1, len(points)):
            if num_rows <= points[after][0] or after == len(points) - 1:
                break
        (low, before), (high, at_high) = points[after - 1], points[after]
        return before + (at_high - before) * (num_rows - low) / (high - low)


# Without a measurement: between the costs of weights in 16 and in 4 bits.
UNMEASURED = RowCosts(((1, 1.0), (8, 1.7), (16, 2.8), (32, 4.8)), planning=0.05)


def rising(measured: SequenceOf[tuple[int, float]], planning: float = 0.0) -> RowCosts:
    """Return costs that never fall with more rows, whatever the noise of the measurement."""
    most, points = 0.0, []
    for num_rows, time in sorted(measured):
        most = max(most, time)
        points.append((num_rows, most))
    return RowCosts(tuple(points), planning)


def choose_lengths(
    costs: RowCosts, num_rows: int, num_sampling: int, guesses: SequenceOf[tuple[int, float]]
) -> list[int]:
    """Return how many tokens of each guess to draft; all 0 if no draft pays.

    `num_rows`: rows of the step without drafts, which sample `num_sampling` tokens. `guesses`:
    number of tokens, and the probability that one is right if those before are.
    """
    tokens = float(num_sampling)
    best, best_count = tokens / costs.cost(num_rows) * LEAST_GAIN, 0
    order: list[int] = []
    heap = [(-share, place, 1) for place, (length, share) in enumerate(guesses) if length]
    heapq.heapify(heap)
    while heap:
        gain, place, count = heapq.heappop(heap)
        order.append(place)
        tokens -= gain
        rate = tokens / (costs.cost(num_rows + len(order)) + costs.planning)
        if rate > best:
            best, best_count = rate, len(order)
        length, share = guesses[place]
        if count < length:
            heapq.heappush(heap, (gain * share, place, count + 1))
    lengths = [0] * len(guesses)
    for place in order[:best_count]:
        lengths[place] += 1
    return lengths
