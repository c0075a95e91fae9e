"""Segment table: a step's segments as arrays, read by backends and extended by incremental plans.

slots   [ a a a a | b b b b b . . | c c . . ]     '.' is room to grow
table     A: 0-4    B: 4-9          C: 11-13      and positions, rows and levels
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

COLUMNS = ("first_slot", "end_slot", "first_position", "first_row", "end_row", "level")
ROOM = 128  # slots after each one-row segment, for its next tokens
_NO_SLOTS = np.empty(0, dtype=np.int64)
_ROOM = np.full(ROOM, -1, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Segment:
    """Keys at consecutive positions, and the contiguous rows that attend to them."""

    slots: IntArray  # [keys] pool slots of the keys and values, in order of position
    first_position: int  # position of the first key; key i has position first_position + i
    first_row: int
    end_row: int  # exclusive
    level: int  # depth in the cascade; segments at one level share no row


class SegmentTable(Sequence[Segment]):
    """Segments over one slot array; each `Segment` is made when it is read.

    A later table may share `slots` and continue a segment in its room. This table's ranges keep
    their slots, so it stays valid.
    """

    __slots__ = ("slots", "table")

    def __init__(self, slots: IntArray, table: IntArray) -> None:
        """`table` is [segments, `COLUMNS`]; its first two columns are ranges in `slots`."""
        self.slots = slots
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, index: int) -> Segment: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Segment]: ...
    def __getitem__(self, index: int | slice) -> Segment | Sequence[Segment]:
        if isinstance(index, slice):
            return SegmentTable(self.slots, self.table[index])
        return self._segment(self.table[index].tolist())

    def __iter__(self) -> Iterator[Segment]:
        return map(self._segment, self.table.tolist())

    def _segment(self, fields: list[int]) -> Segment:
        first_slot, end_slot, *others = fields
        return Segment(self.slots[first_slot:end_slot], *others)

    @property
    def num_keys(self) -> int:
        """Keys over all segments."""
        return int((self.table[:, 1] - self.table[:, 0]).sum())


class TableBuilder:
    """A table in the making: slot and row ranges of the table."""

    def __init__(self) -> None:
        self._parts: list[IntArray] = []
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        self._end = 0

    def add(
        self,
        parts: Iterable[IntArray],
        first_position: int,
        first_row: int,
        end_row: int,
        level: int,
    ) -> None:
        """Add a segment with the slots in `parts`, one after the other."""
        first_slot = self._end
        for part in parts:
            self._parts.append(part)
            self._end += len(part)
        self._rows.append((first_slot, self._end, first_position, first_row, end_row, level))
        if end_row - first_row == 1:
            self._parts.append(_ROOM)
            self._end += ROOM

    def build(self) -> SegmentTable:
        """Return the table, with segments in the order they were added."""
        slots = np.concatenate(self._parts) if self._parts else _NO_SLOTS
        table = np.array(self._rows, dtype=np.int64).reshape(len(self._rows), len(COLUMNS))
        return SegmentTable(slots, table)


def as_table(segments: Sequence[Segment]) -> SegmentTable:
    """Return segments as a table: the same object if it is one, else a copy."""
    if isinstance(segments, SegmentTable):
        return segments
    builder = TableBuilder()
    for each in segments:
        builder.add((each.slots,), each.first_position, each.first_row, each.end_row, each.level)
    return builder.build()


def with_room(segments: SegmentTable) -> SegmentTable:
    """Return a copy with the whole room after each one-row segment."""
    builder = TableBuilder()
    for first_slot, end_slot, *others in segments.table.tolist():
        builder.add((segments.slots[first_slot:end_slot],), *others)
    return builder.build()
