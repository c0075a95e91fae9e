"""Decode at fixed addresses: what a captured graph reads is replanned in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from tests.attention.dense import dense_attention
from tests.flashinfer.fake_device import FakeRuntime
from tests.flashinfer.plans import decode_plan, plan_of, shared_plan
from tests.flashinfer.test_backend import CPU, TOLERANCE, WIDTH, spec_of
from yaie.attention.flashinfer.backend import FlashInferBackend
from yaie.attention.flashinfer.cascade import Groups
from yaie.attention.flashinfer.graph_buffers import FlashInferStaticStep
from yaie.attention.plan import Segment, StepPlan
from yaie.attention.spec import AttentionSpec

NUM_SLOTS = 900
SPARE_SLOT = NUM_SLOTS - 1
NUM_ROWS = 8
BFLOAT16 = torch.bfloat16


def make_step(specs: Sequence[AttentionSpec]) -> FlashInferStaticStep:
    backend = FlashInferBackend(CPU)
    backend.open_layers(specs, BFLOAT16, BFLOAT16, CPU)
    return backend.make_static(NUM_ROWS, SPARE_SLOT, CPU)


def compare(step: FlashInferStaticStep, plan: StepPlan, spec: AttentionSpec) -> None:
    """Write and attend as a graph does, with padding rows."""
    torch.manual_seed(0)
    pool = torch.full((2, NUM_SLOTS, spec.num_kv_heads, WIDTH), torch.nan, dtype=BFLOAT16)
    used = torch.cat([torch.from_numpy(segment.slots) for segment in plan.segments])
    pool[:, used] = torch.randn(2, len(used), spec.num_kv_heads, WIDTH).to(BFLOAT16)
    expected_pool = pool.clone()
    queries = torch.randn(NUM_ROWS, spec.num_heads, WIDTH).to(BFLOAT16)
    new = torch.randn(2, NUM_ROWS, spec.num_kv_heads, WIDTH).to(BFLOAT16)
    written = plan.slots[plan.written_rows]
    expected_pool[:, written] = new[:, plan.written_rows]
    sinks = torch.randn(spec.num_heads) if spec.has_sinks else None

    step.refill(plan)
    step.write(pool[0], pool[1], new[0], new[1])
    got = step.attend(spec, queries, pool[0], pool[1], sinks)

    num_rows = plan.num_rows
    others = torch.tensor([slot for slot in range(NUM_SLOTS) if slot != SPARE_SLOT])
    assert torch.equal(pool[:, others].nan_to_num(7), expected_pool[:, others].nan_to_num(7))
    expected = dense_attention(plan, spec, queries, pool[0], pool[1], sinks=sinks)
    torch.testing.assert_close(got[:num_rows].double(), expected, rtol=0, atol=TOLERANCE[BFLOAT16])
    assert got[num_rows:].isfinite().all()


@pytest.mark.flashinfer
@pytest.mark.usefixtures("device", "one_thread")
@pytest.mark.parametrize("group", [1, 2, 4, 7])
@pytest.mark.parametrize(("window", "has_sinks"), [(None, False), (6, False), (None, True)])
def test_rows_and_padding(group: int, window: int | None, has_sinks: bool) -> None:
    spec = spec_of(group, sliding_window=window, has_sinks=has_sinks)
    step = make_step([spec])
    for lengths in ([1], [3, 40, 9], [5] * NUM_ROWS, [200, 7]):
        plan = decode_plan(lengths)
        assert step.holds(plan)
        compare(step, plan, spec)


@pytest.mark.flashinfer
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("group", [2, 7])
def test_plans_keep_their_addresses_and_grids(device: FakeRuntime, group: int) -> None:
    step = make_step([spec_of(group)])
    (wrapper,) = step._wrappers.values()
    inner = wrapper._wrapper
    seen = set()
    for lengths in ([1], [300, 2, 2], [90] * NUM_ROWS, [700]):
        step.refill(decode_plan(lengths))
        buffers = (
            inner._paged_kv_indptr_buf,
            inner._paged_kv_indices_buf,
            inner._paged_kv_last_page_len_buf,
            inner._int_workspace_buffer,
            inner._float_workspace_buffer,
            step._written_slots,
        )
        seen.add((tuple(inner._plan_info), *(buffer.data_ptr() for buffer in buffers)))
    assert len(seen) == 1
    assert device.num_reads == 0


@pytest.mark.flashinfer
@pytest.mark.usefixtures("device", "one_thread")
def test_rows_that_share_little_read_their_paths_alone() -> None:
    spec = spec_of(2)
    step = make_step([spec, spec_of(2, sliding_window=8)])
    plan = shared_plan(4, 3, num_own=20)
    assert step.holds(plan)
    compare(step, plan, spec)


@pytest.mark.flashinfer
@pytest.mark.usefixtures("device", "one_thread")
def test_other_steps_are_left_to_the_cascade() -> None:
    step = make_step([spec_of(2)])
    assert not step.holds(decode_plan([3] * (NUM_ROWS + 1)))  # too many rows
    assert not step.holds(shared_plan(40, 3))  # much shared
    assert not step.holds(prefill_plan(4))  # rows below one another


def prefill_plan(num_rows: int) -> StepPlan:
    return plan_of([Segment(np.arange(num_rows), 0, 0, num_rows, 0)], list(range(num_rows)))


def test_padding_reads_the_spare_slot() -> None:
    groups = Groups(*(np.array(each, dtype=np.int32) for each in ([0, 1], [0, 2], [4, 5])))
    padded = groups.pad_to(3, 9)
    assert padded.query_indptr.tolist() == [0, 1, 2, 3]
    assert padded.key_indptr.tolist() == [0, 2, 3, 4]
    assert padded.slots.tolist() == [4, 5, 9, 9]
    for array in (padded.query_indptr, padded.key_indptr, padded.slots):
        assert array.dtype == np.int32
