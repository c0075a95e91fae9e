"""Batch-invariant attention: a row's bits depend on its path alone, in each instruction set."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attention.test_cpu import LOADED, NUM_SLOTS, SETS, WIDTHS, Case, kernels, spec
from tests.attention.test_reference import long_prefill
from tests.attention.trees import RandomTree
from tests.sizes import large, size
from yaie.attention.cpu import CpuBackend
from yaie.attention.plan import Segment, StepPlan
from yaie.kernels import library_search
from yaie.kernels.library import Library

__all__ = ["kernels"]

CPU = torch.device("cpu")
SPAN = 4096  # kKeysInSpan

pytestmark = pytest.mark.skipif(LOADED is None, reason=library_search.status().reason)


def found(
    case: Case, kernels: Library, threads: int = 1, plan: StepPlan | None = None, exact: bool = True
) -> torch.Tensor:
    """Return the kernels' output for the case, or for some of its rows under another plan."""
    step = CpuBackend(kernels, threads, exact=exact).prepare(plan or case.plan, CPU)
    queries = case.queries
    if plan is not None:
        queries = queries[torch.from_numpy(plan.token_ids)]
    return step.attend(case.spec, queries, case.keys, case.values, case.sinks)


def path_of(plan: StepPlan, row: int) -> np.ndarray:
    """Return the slots that a row attends to, in order of position."""
    above = [s for s in plan.segments if s.first_row <= row < s.end_row]
    above.sort(key=lambda segment: segment.first_position)
    return np.concatenate([s.slots for s in above])[: plan.positions[row] + 1]


def alone(plan: StepPlan, row: int, borders: tuple[int, ...] = ()) -> StepPlan:
    """Plan one row by itself, with its path cut into nodes at `borders`."""
    path = path_of(plan, row)
    cuts = [0, *(border for border in borders if 0 < border < len(path)), len(path)]
    segments = tuple(
        Segment(path[first:end], first, 0, 1, level)
        for level, (first, end) in enumerate(pairwise(cuts))
    )
    return dataclasses.replace(
        plan,
        token_ids=np.array([row]),  # names the query
        positions=plan.positions[row : row + 1],
        slots=plan.slots[row : row + 1],
        written_rows=np.array([0]),
        logit_rows=np.array([0]),
        segments=segments,
    )


def differing_rows(case: Case, kernels: Library, *, exact: bool, threads: int = 1) -> list[int]:
    """Return the rows with other bits alone than together."""
    together = found(case, kernels, threads, exact=exact)
    return [
        row
        for row in range(case.plan.num_rows)
        if not torch.equal(
            together[row], found(case, kernels, 1, alone(case.plan, row), exact=exact)[0]
        )
    ]


@large
@settings(max_examples=size(200))
@given(data=st.data())
def test_a_row_alone_and_in_any_tree(data: st.DataObject) -> None:
    check_a_random_tree(data)


def check_a_random_tree(data: st.DataObject) -> None:
    assert LOADED is not None
    kv_heads = data.draw(st.sampled_from((1, 2, 3)))
    key_width = data.draw(st.sampled_from(WIDTHS))
    layer = spec(
        num_kv_heads=kv_heads,
        num_heads=kv_heads * data.draw(st.sampled_from((1, 2, 3, 4, 7))),
        key_width=key_width,
        value_width=data.draw(st.one_of(st.just(key_width), st.sampled_from((*WIDTHS, 5, 33)))),
        scale=key_width**-0.5,
        sliding_window=data.draw(st.sampled_from((None, None, 1, 7, 60, 200))),
        softcap=data.draw(st.sampled_from((None, None, 2.0))),
        has_sinks=data.draw(st.booleans()),
    )
    tree = RandomTree(
        data.draw(st.integers(0, 10_000)),
        longest=data.draw(st.sampled_from((5, 30, 130))),
        num_slots=NUM_SLOTS,
        depth=data.draw(st.integers(0, 2)),
        row_chance=data.draw(st.sampled_from((0.0, 0.5, 1.0))),
    )
    case = Case(tree.plan(), layer, data.draw(st.sampled_from((torch.float32, torch.bfloat16))))
    usual = LOADED.instruction_set
    LOADED.use_instruction_set(data.draw(st.sampled_from(SETS)))
    try:
        assert differing_rows(case, LOADED, exact=True, threads=data.draw(st.integers(1, 3))) == []
        expected = case.reference()
        bound = 2**-8 if case.dtype is torch.bfloat16 else 1e-5
        error = (found(case, LOADED).float() - expected).abs().max()
        assert float(error) <= bound * float(expected.abs().max())
    finally:
        LOADED.use_instruction_set(usual)


def test_default_kernels_are_batch_dependent(kernels: Library) -> None:
    """Proof that the tests above can fail."""
    case = Case(RandomTree(3, longest=130, num_slots=NUM_SLOTS).plan(), spec())
    assert differing_rows(case, kernels, exact=False)
    assert not differing_rows(case, kernels, exact=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("window", [None, 700, 5000])
def test_paths_of_several_spans(kernels: Library, dtype: torch.dtype, window: int | None) -> None:
    """Paths cut anywhere, alone or at the end of a prefill, with any number of threads."""
    length = 2 * SPAN + 300
    layer = spec(num_heads=2, num_kv_heads=1, sliding_window=window)
    case = Case(long_prefill(200, length), layer, dtype, num_slots=length)
    together = found(case, kernels)
    assert torch.equal(together, found(case, kernels, threads=3))
    for row in (0, 100, 199):
        for borders in ((), (10,), (63, 64, 65), (SPAN, 2 * SPAN), (SPAN - 3, 2 * SPAN + 1)):
            plan = alone(case.plan, row, borders)
            assert torch.equal(found(case, kernels, 2, plan)[0], together[row])
    expected = case.reference()
    bound = 2**-8 if dtype is torch.bfloat16 else 1e-5
    assert float((together.float() - expected).abs().max()) <= bound * float(expected.abs().max())


def test_rows_that_end_in_an_earlier_span_than_their_node(kernels: Library) -> None:
    """A prefill over the border of two spans, with a branch below it."""
    length = SPAN + 200
    every = np.arange(length + 1)
    rows = np.arange(SPAN - 150, length + 1)
    plan = StepPlan(
        token_ids=rows,
        positions=np.append(rows[:-1], length),
        slots=rows,
        written_rows=np.arange(len(rows)),
        logit_rows=np.arange(len(rows)),
        segments=(
            Segment(every[:length], 0, 0, len(rows), level=0),
            Segment(every[length:], length, len(rows) - 1, len(rows), level=1),
        ),
        kv_tokens_read=0,
        kv_tokens_unshared=0,
    )
    case = Case(plan, spec(), num_slots=length + 1)
    together = found(case, kernels, 2)
    torch.testing.assert_close(together, case.reference(), atol=1e-5, rtol=1e-5)
    for row in (0, 149, 150, 151, len(rows) - 2, len(rows) - 1):
        assert torch.equal(found(case, kernels, 1, alone(plan, row))[0], together[row])
