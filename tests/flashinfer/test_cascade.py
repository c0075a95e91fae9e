"""The index arrays of a step: a row meets its visible keys once; shared keys are read once."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attention.dense import path_of
from tests.attention.trees import RandomTree
from yaie.attention.flashinfer.cascade import Cascade, Groups, RowPaths, make_cascade
from yaie.attention.plan import StepPlan

trees = st.builds(
    RandomTree,
    seed=st.integers(0, 10**6),
    num_slots=st.just(4096),
    longest=st.integers(1, 20),
    depth=st.integers(0, 4),
    fold=st.sampled_from([0.0, 0.3, 1.0]),
    row_chance=st.sampled_from([0.0, 0.5, 1.0]),
)


def keys_of_rows(cascade: Cascade, num_rows: int) -> list[Counter[int]]:
    """Return the slots that each row meets, as a kernel reads the groups."""
    found: list[Counter[int]] = [Counter() for _ in range(num_rows)]
    for groups, is_causal in ((cascade.own, True), (cascade.shared, False)):
        if groups is None:
            continue
        for first, end, slots in each_group(groups):
            for query in range(first, end):
                row = query if groups.rows is None else int(groups.rows[query])
                last = len(slots) - (end - 1 - query if is_causal else 0)
                oldest = 0
                if is_causal and cascade.window_left >= 0:
                    oldest = max(0, last - 1 - cascade.window_left)
                found[row].update(slots[oldest:last].tolist())
    return found


def each_group(groups: Groups) -> list[tuple[int, int, np.ndarray]]:
    queries, keys = groups.query_indptr.tolist(), groups.key_indptr.tolist()
    return [
        (queries[i], queries[i + 1], groups.slots[keys[i] : keys[i + 1]])
        for i in range(len(queries) - 1)
    ]


def check_arrays(groups: Groups) -> None:
    for array in (groups.query_indptr, groups.key_indptr, groups.slots, groups.has_keys):
        assert array.dtype == np.int32
        assert array.flags.c_contiguous
    assert groups.query_indptr[0] == groups.key_indptr[0] == 0
    assert (np.diff(groups.query_indptr) > 0).all()
    assert groups.key_indptr[-1] == len(groups.slots)


@settings(max_examples=150, deadline=None)
@given(tree=trees, window=st.one_of(st.none(), st.integers(1, 60)))
def test_every_row_meets_its_visible_keys_once(tree: RandomTree, window: int | None) -> None:
    plan = tree.plan()
    cascade = make_cascade(RowPaths(plan), window)
    check_arrays(cascade.own)
    assert cascade.own.num_queries == plan.num_rows
    for row, found in enumerate(keys_of_rows(cascade, plan.num_rows)):
        position = int(plan.positions[row])
        visible = {
            slot
            for key, slot in path_of(plan, row).items()
            if window is None or position - key < window
        }
        assert found == Counter(visible)


@settings(max_examples=150, deadline=None)
@given(tree=trees)
def test_a_shared_segment_is_read_once_for_the_rows_below_it(tree: RandomTree) -> None:
    plan = tree.plan()
    cascade = make_cascade(RowPaths(plan), None)
    shared = cascade.shared
    above = [
        segment
        for segment in plan.segments
        if (plan.positions[segment.first_row : segment.end_row] >= end_of(segment)).any()
    ]
    if shared is None:
        assert not above
        return
    check_arrays(shared)
    assert shared.rows is not None
    assert len(shared.rows) == shared.num_queries
    assert len(shared.slots) == sum(len(segment.slots) for segment in above)
    # The merge takes one level after the other, and a row at most once in each.
    bounds = cascade.level_indptr
    assert bounds[0] == 0
    assert bounds[-1] == shared.num_queries
    for start, end in itertools.pairwise(bounds):
        assert len(set(shared.rows[start:end].tolist())) == end - start


def end_of(segment: object) -> int:
    return segment.first_position + len(segment.slots)  # type: ignore[attr-defined,no-any-return]


def test_calls_do_not_grow_with_the_depth_of_the_tree() -> None:
    plan = RandomTree(2, num_slots=4096, depth=6, longest=3, fold=0.0).plan()
    levels = max(segment.level for segment in plan.segments)
    cascade = make_cascade(RowPaths(plan), None)
    assert levels >= 4
    assert len(cascade.level_indptr) - 1 == levels
    assert cascade.shared is not None


def test_a_window_wider_than_every_path_shares_as_without_one() -> None:
    plan = RandomTree(4, depth=3).plan()
    longest = int(plan.positions.max()) + 1
    paths = RowPaths(plan)
    assert make_cascade(paths, None).shared is not None
    assert make_cascade(paths, longest).shared is not None
    assert make_cascade(paths, longest - 1).shared is None


@pytest.mark.parametrize("window", [None, 4])
def test_decode_rows_need_no_mask(window: int | None) -> None:
    plan = one_row_each(RandomTree(8, depth=2, row_chance=0.0).plan())
    cascade = make_cascade(RowPaths(plan), window)
    assert cascade.own.is_decode
    assert cascade.window_left == -1  # the keys outside of the window are left out


def one_row_each(plan: StepPlan) -> StepPlan:
    """Return the plan with the last row of each leaf alone."""
    leaves = [
        segment
        for segment in plan.segments
        if (plan.positions[segment.first_row : segment.end_row] < end_of(segment)).all()
    ]
    kept = sorted(segment.end_row - 1 for segment in leaves)
    return replace(
        plan,
        positions=plan.positions[kept],
        token_ids=plan.token_ids[kept],
        slots=plan.slots[kept],
        segments=tuple(
            replace(
                segment,
                first_row=int(np.searchsorted(kept, segment.first_row)),
                end_row=int(np.searchsorted(kept, segment.end_row)),
            )
            for segment in plan.segments
        ),
    )
