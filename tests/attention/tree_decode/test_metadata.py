"""Metadata of a step in one buffer: fixed places, nothing overwritten, counts that bound reads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.attention.trees import RandomTree
from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import as_table
from yaie.attention.tree_decode.step_metadata import Capacity, MetadataLayout, Section
from yaie.attention.tree_decode.work_items import (
    Splitting,
    Tiling,
    WorkItems,
    make_work_items,
)

CAPACITY = Capacity(rows=512, keys=8192, items=1024, partials=4096)
TILINGS = (Tiling(None, 4, 16, 2), Tiling(5, 4, 16, 2))
STALE = -7


def tables_of(plan: StepPlan) -> list[WorkItems]:
    segments = as_table(plan.segments)
    return [
        make_work_items(segments, plan.positions, tiling, Splitting(100, 16, 16))
        for tiling in TILINGS
    ]


def at(buffer: np.ndarray, section: Section) -> np.ndarray:
    return buffer[section.range]


@pytest.mark.parametrize("seed", range(6))
def test_each_section_has_its_values(seed: int) -> None:
    plan = RandomTree(seed).plan()
    tables = tables_of(plan)
    layout = MetadataLayout(CAPACITY, len(tables))
    buffer = np.full(layout.size, STALE, dtype=np.int32)
    used = layout.fill(buffer, plan, tables)
    rows = plan.num_rows
    assert at(buffer, layout.num_written) == [len(plan.written_rows)]
    assert (at(buffer, layout.positions)[:rows] == plan.positions).all()
    assert (at(buffer, layout.written_slots)[:rows] == plan.slots).all()
    slots = as_table(plan.segments).slots
    assert (buffer[layout.slots.begin : used] == slots).all()
    assert (buffer[used:] == STALE).all()
    for places, table in zip(layout.tables, tables, strict=True):
        assert at(buffer, places.count) == [len(table.items)]
        assert (at(buffer, places.items)[: table.items.size] == table.items.ravel()).all()
        indptr = at(buffer, places.indptr)
        assert (indptr[: rows + 1] == table.indptr).all()
        assert (indptr[rows:] == table.indptr[-1]).all()  # padding rows have no partials
        assert (at(buffer, places.partials)[: len(table.partials)] == table.partials).all()


def test_places_depend_on_the_capacity_alone() -> None:
    first, second = MetadataLayout(CAPACITY, 2), MetadataLayout(CAPACITY, 2)
    assert first.tables == second.tables
    assert first.slots == second.slots


def test_sections_are_disjoint_and_aligned() -> None:
    layout = MetadataLayout(Capacity(rows=3, keys=5, items=1, partials=0), 2)
    sections = [layout.num_written, layout.positions, layout.written_rows, layout.written_slots]
    for table in layout.tables:
        sections += [table.count, table.items, table.indptr, table.partials]
    sections.append(layout.slots)
    end = 0
    for section in sections:
        assert section.begin >= end
        assert section.begin % 16 == 0
        end = section.begin + section.length
    assert end <= layout.size


def test_a_grown_capacity_holds_both() -> None:
    small = Capacity(rows=3, keys=100, items=8, partials=9)
    large = Capacity(rows=2, keys=1000, items=1, partials=17)
    grown = small.grow_for(large)
    assert grown == Capacity(rows=4, keys=1024, items=8, partials=32)
    assert grown.holds(small) and grown.holds(large)
    assert not small.holds(large)
