"""Cascade index arrays: the queries and keys of a step's two kernel calls.

Pure and torch-free. Each row has own keys, which end at the row itself, and keys shared with other
rows, which are all visible to it:

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
from yaie.attention.segment_table import as_table

Int32Array = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of consecutive queries, and each group's keys."""

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

    def pad_to(self, num_queries: int, slot: int) -> Groups:
        """Return groups of one query, padded with queries that read the key in `slot`."""
        missing = num_queries - self.num_queries
        more = np.arange(1, missing + 1, dtype=np.int32)
        return Groups(
            np.concatenate((self.query_indptr, self.query_indptr[-1] + more)),
            np.concatenate((self.key_indptr, self.key_indptr[-1] + more)),
            np.concatenate((self.slots, np.full(missing, slot, dtype=np.int32))),
        )

    @property
    def has_keys(self) -> Int32Array:
        """[groups] 1 for a group with keys, else 0: the fill level of its last one-token page."""
        return np.minimum(np.diff(self.key_indptr), 1)


@dataclass(frozen=True, slots=True)
class Cascade:
    """One step's groups, for layers with one sliding window."""

    own: Groups
    shared: Groups | None
    level_indptr: tuple[int, ...]  # ranges of shared queries in which no row occurs twice
    window_left: int  # keys before a row that it sees in `own`; -1: all


class RowPaths:
    """The segments of each plan row, as indices into the plan's table. Shared by all windows."""

    def __init__(self, plan: StepPlan) -> None:
        segments = as_table(plan.segments)
        self.positions = plan.positions
        self.slots = segments.slots
        columns = np.ascontiguousarray(segments.table.T)
        self.first_slots, self.end_slots, self.first_positions = columns[:3]
        self.first_rows, self.end_rows, self.levels = columns[3:]
        self.by_level = np.lexsort((self.first_rows, self.levels))
        self.owners = np.zeros(plan.num_rows, dtype=np.int64)  # each row's deepest segment
        self.parents = np.full(len(self.levels), -1)  # the segment above; -1: none
        counts = self.end_rows - self.first_rows
        for level, first, end in zip(*self._levels(), strict=True):
            here = self.by_level[first:end]
            if level:
                self.parents[here] = self.owners[self.first_rows[here]]
            rows = ranges(self.first_rows[here], counts[here])
            self.owners[rows] = np.repeat(here, counts[here])

    def _levels(self) -> tuple[list[int], list[int], list[int]]:
        """Return each level, and its range of `by_level`."""
        levels, first = np.unique(self.levels[self.by_level], return_index=True)
        return levels.tolist(), first.tolist(), [*first[1:].tolist(), len(self.levels)]

    @cached_property
    def runs(self) -> tuple[IntArray, IntArray]:
        """First and last row of each run: rows of one segment at consecutive positions."""
        breaks = np.diff(self.owners) != 0
        breaks |= np.diff(self.positions) != 1
        first = np.concatenate(([0], np.flatnonzero(breaks) + 1))
        return first, np.append(first[1:], len(self.owners)) - 1

    def keys_between(self, segment: int, first: int, last: int) -> list[IntArray]:
        """Return the slots of positions `first` to `last` on a segment's path, as ranges."""
        parts: list[IntArray] = []
        while segment >= 0 and first <= last:
            start = int(self.first_positions[segment])
            if last >= start:
                slot = int(self.first_slots[segment]) - start  # slot of position 0
                parts.append(self.slots[slot + max(first, start) : slot + last + 1])
                last = start - 1
            segment = int(self.parents[segment])
        return parts[::-1]


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return all ranges `start .. start + length`, one after the other."""
    ends = lengths.cumsum()
    shifted: IntArray = np.repeat(starts - (ends - lengths), lengths)
    shifted += np.arange(len(shifted))
    return shifted


def make_cascade(paths: RowPaths, window: int | None) -> Cascade:
    """Return the groups for a step with rows and layers with this sliding window.

    With a window that hides a key from any row, nothing is shared: visibility depends on both
    positions, and each run reads separate keys, `window` keys before its first.
    """
    if window is None or int(paths.positions.max()) < window:
        return _make_shared(paths)
    return make_unshared(paths, window)


def make_unshared(paths: RowPaths, window: int | None) -> Cascade:
    """Return groups in which each run of rows reads all its keys separately."""
    first, last = paths.runs
    parts: list[IntArray] = []
    lengths: list[int] = []
    hides = False
    bounds = zip(
        paths.owners[first].tolist(),
        paths.positions[first].tolist(),
        paths.positions[last].tolist(),
        strict=True,
    )
    for segment, first_position, last_position in bounds:
        oldest = 0
        if window is not None:
            oldest = max(0, first_position - window + 1)
            hides = hides or last_position - oldest >= window
        parts += paths.keys_between(segment, oldest, last_position)
        lengths.append(last_position - oldest + 1)
    own = _groups(np.append(first, len(paths.owners)), lengths, parts)
    return Cascade(own, None, (0,), window - 1 if window is not None and hides else -1)


def _make_shared(paths: RowPaths) -> Cascade:
    first, last = paths.runs
    owners = paths.owners[first]
    lengths = paths.positions[last] - paths.first_positions[owners] + 1
    own = _groups(np.append(first, len(paths.owners)), lengths, _slices(paths, owners, lengths))
    # A segment's own rows come first; rows below it share all its keys.
    num_own = np.bincount(paths.owners, minlength=len(paths.levels))
    first_below = paths.first_rows + num_own
    counts = paths.end_rows - first_below
    above = paths.by_level[counts[paths.by_level] > 0]
    if not len(above):
        return Cascade(own, None, (0,), -1)
    query_indptr = np.concatenate(([0], counts[above].cumsum()))
    lengths = paths.end_slots[above] - paths.first_slots[above]
    rows = ranges(first_below[above], counts[above])
    shared = _groups(query_indptr, lengths, _slices(paths, above, lengths), rows)
    new_level = np.flatnonzero(np.diff(paths.levels[above])) + 1
    levels = (0, *query_indptr[new_level].tolist(), len(rows))
    return Cascade(own, shared, levels, -1)


def _slices(paths: RowPaths, segments: IntArray, lengths: IntArray) -> list[IntArray]:
    """Return the segments' first slots. Slices: gathering a step's keys by index takes longer."""
    starts = paths.first_slots[segments]
    ends = (starts + lengths).tolist()
    return [paths.slots[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]


def _groups(
    query_indptr: IntArray,
    lengths: Sequence[int] | IntArray,
    parts: Sequence[IntArray],
    rows: IntArray | None = None,
) -> Groups:
    """Return the groups with these boundaries; `parts` are the keys' slot ranges, in order."""
    key_indptr = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=key_indptr[1:])
    slots = np.concatenate(parts, dtype=np.int32, casting="same_kind")
    return Groups(query_indptr.astype(np.int32), key_indptr, slots, rows)
