"""The index arrays of a step: which queries attend to which keys, in two calls of a kernel.

Pure and torch-free. Each row has keys of its own, which end at the row itself, and keys that it
shares with other rows of the step, which are all visible to it:

    own      every row once: its deepest segment, up to its position          (causal)
    shared   each segment above others: its keys once, the rows below it      (full)

Both are groups of queries with common keys, as CSR arrays of 32-bit integers; 64-bit ones would
select other kernels. Two calls do for any depth of the tree, as queries are gathered: a row of
depth d is d - 1 queries of the shared call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from yaie.attention.plan import IntArray, StepPlan

Int32Array = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of consecutive queries, each with the keys that its queries attend to."""

    query_indptr: Int32Array  # [groups + 1]
    key_indptr: Int32Array  # [groups + 1]
    slots: Int32Array  # [keys], in order of position
    rows: IntArray | None = None  # [queries] the row of each; None: all rows, in order

    @property
    def num_queries(self) -> int:
        """Number of queries in all groups."""
        return int(self.query_indptr[-1])

    @property
    def is_decode(self) -> bool:
        """True if every group has exactly one query."""
        return self.num_queries == len(self.query_indptr) - 1

    @property
    def has_keys(self) -> Int32Array:
        """[groups] 1 for a group with keys, else 0: the fill of its last page of one token."""
        return np.minimum(np.diff(self.key_indptr), 1)


@dataclass(frozen=True, slots=True)
class Cascade:
    """The groups of one step, for layers with one sliding window."""

    own: Groups
    shared: Groups | None
    level_indptr: tuple[int, ...]  # ranges of shared queries in which no row occurs twice
    window_left: int  # keys before a row that it sees in `own`; -1: all


class SegmentTable:
    """The segments of a plan as arrays, and the segments of each row. Shared by all windows."""

    def __init__(self, plan: StepPlan) -> None:
        self.positions = plan.positions
        self.slots = [segment.slots for segment in plan.segments]
        self.first_positions = self._column(plan, "first_position")
        self.first_rows = self._column(plan, "first_row")
        self.end_rows = self._column(plan, "end_row")
        self.levels = self._column(plan, "level")
        self.owners = np.zeros(plan.num_rows, dtype=np.int64)  # each row's deepest segment
        self.parents = np.full(len(self.slots), -1)  # the segment above; -1: none
        self.by_level = np.lexsort((self.first_rows, self.levels))
        for segment in self.by_level.tolist():
            first, end = self.first_rows[segment], self.end_rows[segment]
            if self.levels[segment]:
                self.parents[segment] = self.owners[first]
            self.owners[first:end] = segment

    @staticmethod
    def _column(plan: StepPlan, name: str) -> IntArray:
        return np.array([getattr(segment, name) for segment in plan.segments], dtype=np.int64)

    @cached_property
    def runs(self) -> tuple[IntArray, IntArray]:
        """First and last row of each run: rows of one segment at consecutive positions."""
        breaks = np.diff(self.owners) != 0
        breaks |= np.diff(self.positions) != 1
        first = np.concatenate(([0], np.flatnonzero(breaks) + 1))
        return first, np.append(first[1:], len(self.owners)) - 1

    def keys_between(self, segment: int, first: int, last: int) -> list[IntArray]:
        """Return the slots of positions `first` to `last` of a segment's path, in parts."""
        parts: list[IntArray] = []
        while segment >= 0 and first <= last:
            start = int(self.first_positions[segment])
            if last >= start:
                parts.append(self.slots[segment][max(0, first - start) : last - start + 1])
                last = start - 1
            segment = int(self.parents[segment])
        return parts[::-1]


def make_cascade(table: SegmentTable, window: int | None) -> Cascade:
    """Return the groups of a step with rows, for layers with this sliding window.

    With a window that hides a key from any row, nothing is shared: whether a row sees a key
    depends on both positions, and each run reads its own keys, `window` of them before its first.
    """
    if window is None or int(table.positions.max()) < window:
        return _unlimited(table)
    first, last = table.runs
    parts: list[IntArray] = []
    lengths: list[int] = []
    hides = False
    bounds = zip(
        table.owners[first].tolist(),
        table.positions[first].tolist(),
        table.positions[last].tolist(),
        strict=True,
    )
    for segment, first_position, last_position in bounds:
        oldest = max(0, first_position - window + 1)
        hides = hides or last_position - oldest >= window
        parts += table.keys_between(segment, oldest, last_position)
        lengths.append(last_position - oldest + 1)
    own = _groups(np.append(first, len(table.owners)), lengths, parts)
    return Cascade(own, None, (0,), window - 1 if hides else -1)


def _unlimited(table: SegmentTable) -> Cascade:
    first, last = table.runs
    segments = table.owners[first]
    lengths = (table.positions[last] - table.first_positions[segments] + 1).tolist()
    parts = [
        table.slots[segment][:length]
        for segment, length in zip(segments.tolist(), lengths, strict=True)
    ]
    own = _groups(np.append(first, len(table.owners)), lengths, parts)

    # A segment's own rows come first; those below it share all of its keys.
    num_own = np.bincount(table.owners, minlength=len(table.slots))
    below = table.first_rows + num_own
    counts = table.end_rows - below
    above = table.by_level[counts[table.by_level] > 0]
    if not len(above):
        return Cascade(own, None, (0,), -1)
    query_indptr = np.concatenate(([0], counts[above].cumsum()))
    rows = np.concatenate(
        [np.arange(below[segment], table.end_rows[segment]) for segment in above.tolist()]
    )
    parts = [table.slots[segment] for segment in above.tolist()]
    shared = _groups(query_indptr, [len(part) for part in parts], parts, rows)
    new_level = np.flatnonzero(np.diff(table.levels[above])) + 1
    levels = (0, *query_indptr[new_level].tolist(), len(rows))
    return Cascade(own, shared, levels, -1)


def _groups(
    query_indptr: IntArray,
    lengths: Sequence[int],
    parts: Sequence[IntArray],
    rows: IntArray | None = None,
) -> Groups:
    """Return the groups with these boundaries; `parts` are the slots of all keys, in order."""
    key_indptr = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=key_indptr[1:])
    slots = np.concatenate(parts, dtype=np.int32, casting="same_kind")
    return Groups(query_indptr.astype(np.int32), key_indptr, slots, rows)
