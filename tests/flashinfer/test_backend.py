"""The backend on FlashInfer's own wrappers and planner, against attention in float64.

Random trees, every group size that people run, windows, softcap, sinks, and keys long enough to
be split over blocks. Unused slots are NaN: a key outside a row's path would show.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.attention.dense import dense_attention
from tests.attention.trees import RandomTree
from tests.flashinfer.fake_device import FakeRuntime
from yaie.attention.flashinfer.backend import FlashInferBackend
from yaie.attention.plan import Segment, StepPlan
from yaie.attention.spec import AttentionSpec

pytestmark = [pytest.mark.flashinfer, pytest.mark.usefixtures("one_thread")]
CPU = torch.device("cpu")
WIDTH = 64
# Of outputs near 1. bfloat16 has 8 bits: queries, keys and values are exact in the reference, and
# partial results, weights and the output are rounded.
TOLERANCE = {torch.bfloat16: 0.02, torch.float16: 0.003}


def compare(
    device: FakeRuntime,
    backend: FlashInferBackend,
    plan: StepPlan,
    spec: AttentionSpec,
    *,
    dtype: torch.dtype = torch.bfloat16,
    seed: int = 0,
) -> list[str]:
    """Compare one layer with the oracle; return the launches."""
    torch.manual_seed(seed)
    num_slots = max(int(segment.slots.max()) for segment in plan.segments) + 5
    pool = torch.full((2, num_slots, spec.num_kv_heads, WIDTH), torch.nan, dtype=dtype)
    used = torch.cat([torch.from_numpy(segment.slots) for segment in plan.segments])
    pool[:, used] = torch.randn(2, len(used), spec.num_kv_heads, WIDTH).to(dtype)
    queries = torch.randn(plan.num_rows, spec.num_heads, WIDTH).to(dtype)
    sinks = torch.randn(spec.num_heads) if spec.has_sinks else None
    device.take_launches()
    got = backend.prepare(plan, CPU).attend(spec, queries, pool[0], pool[1], sinks)
    expected = dense_attention(plan, spec, queries, pool[0], pool[1], sinks=sinks)
    torch.testing.assert_close(got.double(), expected, rtol=0, atol=TOLERANCE[dtype])
    assert got.dtype == dtype
    assert device.num_reads == 0
    return device.take_launches()


def spec_of(group: int, kv_heads: int = 2, **fields: object) -> AttentionSpec:
    return AttentionSpec(
        layer=0,
        num_heads=group * kv_heads,
        num_kv_heads=kv_heads,
        key_width=WIDTH,
        value_width=WIDTH,
        scale=0.11,
        **fields,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("group", [1, 2, 3, 4, 5, 7, 8])
def test_random_trees(device: FakeRuntime, group: int) -> None:
    backend = FlashInferBackend(CPU)
    launched: set[str] = set()
    for seed in range(12):
        plan = RandomTree(seed, depth=seed % 4, longest=8).plan()
        launched.update(compare(device, backend, plan, spec_of(group), seed=seed))
    assert {"prefill causal", "prefill full"} <= launched


@pytest.mark.parametrize("group", [1, 2, 4, 7])
def test_a_step_of_decode_rows_without_shared_keys_is_plain_decode(
    device: FakeRuntime, group: int
) -> None:
    backend = FlashInferBackend(CPU)
    for seed in range(4):
        plan = decode_plan([1, 5, 40 + seed, 3])
        expected = ["decode"] if group in (1, 2, 3) else ["prefill full"]
        assert compare(device, backend, plan, spec_of(group), seed=seed) == expected


def test_long_keys_are_split_over_blocks_and_merged(device: FakeRuntime) -> None:
    backend = FlashInferBackend(CPU)
    launched = compare(device, backend, decode_plan([700, 17]), spec_of(2))
    assert launched == ["decode", "decode merge"]
    plan = shared_plan(700, 3)
    launched = compare(device, backend, plan, spec_of(2))
    assert launched == ["decode", "prefill full", "prefill merge"]


@pytest.mark.parametrize("has_sinks", [False, True])
@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize("window", [None, 1, 5, 16])
def test_windows_softcap_and_sinks(
    device: FakeRuntime, window: int | None, softcap: float | None, has_sinks: bool
) -> None:
    backend = FlashInferBackend(CPU)
    spec = spec_of(2, sliding_window=window, softcap=softcap, has_sinks=has_sinks)
    for seed in range(6):
        plan = RandomTree(seed, depth=seed % 4, longest=12).plan()
        compare(device, backend, plan, spec, seed=seed)
    compare(device, backend, decode_plan([1, 30, 4]), spec)


def test_float16(device: FakeRuntime) -> None:
    backend = FlashInferBackend(CPU)
    for seed in range(6):
        plan = RandomTree(seed, depth=seed % 4).plan()
        compare(device, backend, plan, spec_of(2), dtype=torch.float16, seed=seed)


def test_layers_of_several_kinds_share_a_step(device: FakeRuntime) -> None:
    backend = FlashInferBackend(CPU)
    plan = RandomTree(5, depth=2).plan()
    for _ in range(2):  # planned when first met, then all at the start of the step
        for spec in (spec_of(2), spec_of(2, sliding_window=6), spec_of(4)):
            compare(device, backend, plan, spec)


def decode_plan(lengths: list[int]) -> StepPlan:
    """Return a plan of one row at the end of each path; paths share nothing."""
    slots = np.random.default_rng(1).permutation(sum(lengths))
    paths = np.split(slots, np.cumsum(lengths)[:-1])
    segments = [Segment(path, 0, row, row + 1, 0) for row, path in enumerate(paths)]
    return plan_of(segments, [length - 1 for length in lengths])


def shared_plan(num_shared: int, num_rows: int) -> StepPlan:
    """Return a plan of rows with one key of their own below a shared node."""
    slots = np.random.default_rng(1).permutation(num_shared + num_rows)
    segments = [Segment(slots[:num_shared], 0, 0, num_rows, 0)]
    for row in range(num_rows):
        own = slots[num_shared + row : num_shared + row + 1]
        segments.append(Segment(own, num_shared, row, row + 1, 1))
    return plan_of(segments, [num_shared] * num_rows)


def plan_of(segments: list[Segment], positions: list[int]) -> StepPlan:
    rows = np.arange(len(positions))
    return StepPlan(
        token_ids=np.zeros_like(rows),
        positions=np.array(positions),
        slots=np.zeros_like(rows),
        written_rows=rows,
        logit_rows=rows,
        segments=tuple(segments),
        kv_tokens_read=0,
        kv_tokens_unshared=0,
    )
