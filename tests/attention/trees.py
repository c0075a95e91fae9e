"""Random step plans for attention backends, built from random trees without the planner."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from yaie.attention.plan import Segment, StepPlan


@dataclass
class RandomTree:
    """A random plan, grown depth first, with scattered or consecutive slots."""

    seed: int
    num_slots: int = 1024
    longest: int = 20
    depth: int = 3
    fold: float = 0.3  # how often a node above branches is read once for each of them
    row_chance: float = 0.5  # how often a node has rows of its own
    segments: list[Segment] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    row_slots: list[int] = field(default_factory=list)

    def plan(self) -> StepPlan:
        """Return a plan over two roots."""
        self.random = random.Random(self.seed)
        self.free = list(range(self.num_slots))
        if self.random.random() < 0.5:
            self.random.shuffle(self.free)
        for _ in range(2):
            self._grow([], 0, self.depth, 0)
        self.random.shuffle(self.segments)
        rows = np.arange(len(self.positions))
        return StepPlan(
            token_ids=np.zeros(len(rows), dtype=np.int64),
            positions=np.array(self.positions, dtype=np.int64),
            slots=np.array(self.row_slots, dtype=np.int64),
            written_rows=rows,
            logit_rows=rows,
            segments=tuple(self.segments),
            kv_tokens_read=0,
            kv_tokens_unshared=0,
        )

    def _grow(self, carried: list[int], start: int, depth: int, level: int) -> None:
        """Grow a subtree; `carried` are the slots of nodes above, folded into this one."""
        length = self.random.randint(1, self.longest)
        own = [self.free.pop() for _ in range(length)]
        position = start + len(carried)
        slots = carried + own
        first_row = len(self.positions)
        is_leaf = depth == 0
        num_rows = self.random.randint(0 if not is_leaf else 1, length)
        if not is_leaf and self.random.random() > self.row_chance:
            num_rows = 0
        for index in range(length - num_rows, length):
            self.positions.append(position + index)
            self.row_slots.append(own[index])
        if is_leaf:
            self._segment(slots, start, first_row, level)
            return
        folds = self.random.random() < self.fold
        if folds:
            self._segment(slots, start, first_row, level)
        for _ in range(self.random.randint(1, 3)):
            if folds:
                self._grow(slots, start, depth - 1, level)
            else:
                self._grow([], position + length, depth - 1, level + 1)
        if not folds:
            self._segment(slots, start, first_row, level)

    def _segment(self, slots: list[int], start: int, first_row: int, level: int) -> None:
        if len(self.positions) > first_row:
            array = np.array(slots, dtype=np.int64)
            self.segments.append(Segment(array, start, first_row, len(self.positions), level))


def decode_step(num_rows: int, shared: int, own: int) -> StepPlan:
    """Plan one row for each of several sequences behind one prefix."""
    rows = np.arange(num_rows, dtype=np.int64)
    first = shared + rows * own
    tails = tuple(
        Segment(first[row] + np.arange(own), shared, row, row + 1, level=1)
        for row in range(num_rows)
    )
    return StepPlan(
        token_ids=rows,
        positions=np.full(num_rows, shared + own - 1),
        slots=first + own - 1,
        written_rows=rows,
        logit_rows=rows,
        segments=(Segment(np.arange(shared), 0, 0, num_rows, level=0), *tails),
        kv_tokens_read=shared + num_rows * own,
        kv_tokens_unshared=num_rows * (shared + own),
    )
