"""Work items of random trees: every row meets every visible key once, and finds its partials."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.attention.trees import RandomTree, decode_step
from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import as_table
from yaie.attention.tree_decode.work_items import (
    ITEM_FIELDS,
    Splitting,
    Tiling,
    WorkItems,
    make_work_items,
)

SPLITTINGS = {
    "uncut": Splitting(target_programs=1),
    "cut": Splitting(target_programs=10_000, least_keys=8, rounding=4),
    "cut to a target": Splitting(target_programs=40, least_keys=4, rounding=4),
}


def items_of(plan: StepPlan, tiling: Tiling, splitting: Splitting) -> WorkItems:
    return make_work_items(as_table(plan.segments), plan.positions, tiling, splitting)


def all_slots(plan: StepPlan) -> np.ndarray:
    return as_table(plan.segments).slots


def visible(plan: StepPlan, row: int, window: int | None) -> Counter[tuple[int, int]]:
    """Count the (position, slot) pairs that a row attends to, from the segments alone."""
    found: Counter[tuple[int, int]] = Counter()
    at = int(plan.positions[row])
    low = 0 if window is None else at - window + 1
    for segment in plan.segments:
        if segment.first_row <= row < segment.end_row:
            for index, slot in enumerate(segment.slots.tolist()):
                if low <= segment.first_position + index <= at:
                    found[segment.first_position + index, slot] += 1
    return found


@pytest.mark.parametrize("splitting", SPLITTINGS)
@pytest.mark.parametrize("rows", [(1, 4), (4, 16), (0, 3), (100, 100)])
@pytest.mark.parametrize("window", [None, 1, 9])
@pytest.mark.parametrize("seed", range(6))
def test_items_hold_each_visible_key_of_each_row_once(
    seed: int, window: int | None, rows: tuple[int, int], splitting: str
) -> None:
    plan = RandomTree(seed).plan()
    narrow, wide = rows
    made = items_of(plan, Tiling(window, narrow, wide, 2), SPLITTINGS[splitting])
    slots = all_slots(plan)
    met: list[Counter[tuple[int, int]]] = [Counter() for _ in range(plan.num_rows)]
    owners = {}
    for item in made.items:
        fields = dict(zip(ITEM_FIELDS, item.tolist(), strict=False))
        assert 0 < fields["num_rows"] <= (wide if fields["is_wide"] else narrow)
        assert fields["num_keys"] > 0
        for index in range(fields["num_rows"]):
            row = fields["first_row"] + index
            owners[fields["first_partial"] + index] = row
            at = int(plan.positions[row])
            low = 0 if window is None else at - window + 1
            for key in range(fields["num_keys"]):
                position = fields["first_position"] + key
                if low <= position <= at:
                    met[row][position, int(slots[fields["first_key"] + key])] += 1
    for row in range(plan.num_rows):
        assert met[row] == visible(plan, row, window)
        listed = made.partials[made.indptr[row] : made.indptr[row + 1]].tolist()
        assert [owners[partial] for partial in listed] == [row] * len(listed)
    assert sorted(made.partials.tolist()) == sorted(owners) == list(range(len(made.partials)))


@pytest.mark.parametrize("seed", range(4))
def test_items_with_most_keys_come_first(seed: int) -> None:
    made = items_of(RandomTree(seed).plan(), Tiling(None, 4, 16, 2), SPLITTINGS["cut"])
    lengths = made.items[:, ITEM_FIELDS.index("num_keys")]
    assert (np.diff(lengths) <= 0).all()


def test_a_shared_prefix_is_read_once_for_all_rows_of_a_block() -> None:
    plan = decode_step(num_rows=64, shared=4096, own=64)
    made = items_of(plan, Tiling(None, 4, 64, 8), Splitting(target_programs=1))
    assert made.items[:, 1].sum() == 4096 + 64 * 64


def test_long_prefixes_are_cut_until_the_processors_have_work() -> None:
    plan = decode_step(num_rows=2, shared=65_536, own=64)
    tiling = Tiling(None, 4, 16, num_kv_heads=8)
    counts = [len(items_of(plan, tiling, Splitting(target)).items) for target in (8, 512, 1 << 20)]
    assert counts[0] == 3
    assert 32 <= counts[1] <= 64 + 2
    assert counts[2] == 65_536 // 128 + 2


def test_the_parts_of_a_cut_range_are_of_equal_size() -> None:
    plan = decode_step(num_rows=1, shared=1025, own=1)
    made = items_of(plan, Tiling(None, 4, 16, 1), Splitting(1 << 20, least_keys=1024))
    assert made.items[:, 1].tolist() == [576, 449, 1]


def test_a_window_leaves_out_the_keys_before_it() -> None:
    plan = decode_step(num_rows=8, shared=4096, own=16)
    made = items_of(plan, Tiling(64, 4, 16, 1), Splitting(1))
    assert made.items[:, 1].sum() == 48 + 8 * 16
    assert items_of(plan, Tiling(16, 4, 16, 1), Splitting(1)).items[:, 1].sum() == 8 * 16


def test_a_step_without_rows_has_no_items() -> None:
    empty = np.empty(0, dtype=np.int64)
    plan = StepPlan(empty, empty, empty, empty, empty, (), 0, 0)
    made = items_of(plan, Tiling(None, 4, 16, 1), Splitting(1))
    assert made.items.shape == (0, 8)
    assert made.indptr.tolist() == [0]
    assert not made.has_wide
