"""The backend on FlashInfer's own wrappers and planner, against attention in float64.

Random trees, every group size that people run, windows, softcap, sinks, and keys long enough to
be split over blocks. Unused slots are NaN: a key outside a row's path would show.
"""

from __future__ import annotations

import pytest
import torch

from tests.attention.dense import dense_attention
from tests.attention.trees import RandomTree
from tests.flashinfer.fake_device import FakeRuntime
from tests.flashinfer.plans import decode_plan, shared_plan
from yaie.attention.flashinfer.backend import FlashInferBackend
from yaie.attention.plan import StepPlan
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
    kv_dtype: torch.dtype | None = None,
    seed: int = 0,
) -> list[str]:
    """Compare one layer with the oracle; return the launches."""
    torch.manual_seed(seed)
    num_slots = max(int(segment.slots.max()) for segment in plan.segments) + 5
    pool = torch.full((2, num_slots, spec.num_kv_heads, WIDTH), torch.nan, dtype=kv_dtype or dtype)
    used = torch.cat([torch.from_numpy(segment.slots) for segment in plan.segments])
    pool[:, used] = torch.randn(2, len(used), spec.num_kv_heads, WIDTH).to(pool.dtype)
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


def test_a_float8_pool(device: FakeRuntime) -> None:
    backend = FlashInferBackend(CPU)
    for seed in range(6):
        plan = RandomTree(seed, depth=seed % 4).plan()
        compare(device, backend, plan, spec_of(2), kv_dtype=torch.float8_e4m3fn, seed=seed)
    compare(device, backend, decode_plan([3, 9]), spec_of(2), kv_dtype=torch.float8_e4m3fn)


def test_layers_of_several_kinds_share_a_step(device: FakeRuntime) -> None:
    backend = FlashInferBackend(CPU)
    plan = RandomTree(5, depth=2).plan()
    for _ in range(2):  # planned when first met, then all at the start of the step
        for spec in (spec_of(2), spec_of(2, sliding_window=6), spec_of(4)):
            compare(device, backend, plan, spec)
