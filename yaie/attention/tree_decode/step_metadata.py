"""Step metadata: packs a step's arrays into one int32 buffer, so that one copy suffices.

Pure and torch-free. Sections have fixed offsets and capacities, hence a captured graph reads the
same addresses for every tree. Slots come last: only the used part of them is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from yaie.attention.plan import IntArray, StepPlan
from yaie.attention.segment_table import as_table
from yaie.attention.tree_decode.work_items import ITEM_WIDTH, IndexArray, WorkItems

_ALIGNMENT = 16  # elements: sections begin at multiples of 64 bytes


@dataclass(frozen=True, slots=True)
class Capacity:
    """The largest step that fits into a buffer. Items and partials are per tiling."""

    rows: int
    keys: int  # slots of all segments, with the room between them
    items: int
    partials: int

    @classmethod
    def of(cls, plan: StepPlan, tables: Sequence[WorkItems]) -> Capacity:
        """Return a step's exact needs."""
        return cls(
            rows=plan.num_rows,
            keys=len(as_table(plan.segments).slots),
            items=max((len(table.items) for table in tables), default=0),
            partials=max((len(table.partials) for table in tables), default=0),
        )

    def holds(self, other: Capacity) -> bool:
        """Return True if a step with these needs fits."""
        return all(getattr(self, each.name) >= getattr(other, each.name) for each in fields(self))

    def grow_for(self, other: Capacity) -> Capacity:
        """Return a capacity for both, with room to grow: powers of two."""
        return Capacity(
            *(
                _power_of_two(max(getattr(self, each.name), getattr(other, each.name)))
                for each in fields(self)
            )
        )


@dataclass(frozen=True, slots=True)
class Section:
    """A buffer range, in elements."""

    begin: int
    length: int

    @property
    def range(self) -> slice:
        """The section as an index."""
        return slice(self.begin, self.begin + self.length)


@dataclass(frozen=True, slots=True)
class TableSections:
    """One tiling's item sections."""

    count: Section  # the number of items, first element
    items: Section
    indptr: Section
    partials: Section


class MetadataLayout:
    """Section offsets for a capacity and a number of tilings."""

    def __init__(self, capacity: Capacity, num_tables: int) -> None:
        self.capacity = capacity
        self._size = 0
        self.num_written = self._section(1)
        self.positions = self._section(capacity.rows)
        self.written_rows = self._section(capacity.rows)
        self.written_slots = self._section(capacity.rows)
        self.tables = tuple(
            TableSections(
                count=self._section(1),
                items=self._section(capacity.items * ITEM_WIDTH),
                indptr=self._section(capacity.rows + 1),
                partials=self._section(capacity.partials),
            )
            for _ in range(num_tables)
        )
        self.slots = self._section(capacity.keys)

    @property
    def size(self) -> int:
        """Elements of the buffer."""
        return self._size

    def _section(self, length: int) -> Section:
        begin = self._size
        self._size = begin + max(-(-length // _ALIGNMENT), 1) * _ALIGNMENT
        return Section(begin, length)

    def fill(self, buffer: IndexArray, plan: StepPlan, tables: Sequence[WorkItems]) -> int:
        """Write a step that fits the capacity; return the number of elements to copy.

        buffer: [size]. Elements beyond a step's own are left as they are: counts bound the reads.
        """
        written = len(plan.written_rows)
        buffer[self.num_written.begin] = written
        _put(buffer, self.positions, plan.positions)
        _put(buffer, self.written_rows, plan.written_rows)
        _put(buffer, self.written_slots, plan.slots[plan.written_rows])
        for sections, table in zip(self.tables, tables, strict=True):
            buffer[sections.count.begin] = len(table.items)
            _put(buffer, sections.items, table.items.ravel())
            _put(buffer, sections.indptr, table.indptr)
            # Padding rows have no partials.
            begin = sections.indptr.begin
            buffer[begin + len(table.indptr) : begin + sections.indptr.length] = table.indptr[-1]
            _put(buffer, sections.partials, table.partials)
        slots = as_table(plan.segments).slots
        _put(buffer, self.slots, slots)
        return self.slots.begin + len(slots)


def _put(buffer: IndexArray, section: Section, values: IndexArray | IntArray) -> None:
    buffer[section.begin : section.begin + len(values)] = values


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()
