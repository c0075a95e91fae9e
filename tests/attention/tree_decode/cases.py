"""Random cases of the attention kernels, and their oracle: float64 over whole paths."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch

from tests.attention.dense import dense_attention
from tests.attention.trees import RandomTree, decode_step
from yaie.attention.backend import PreparedStep
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.attention.tree_decode.backend import StaticTreeDecodeStep, TreeDecodeBackend
from yaie.attention.tree_decode.step_metadata import Capacity
from yaie.attention.tree_decode.work_items import Splitting
from yaie.device.queue import make_queue
from yaie.kvcache.int8_rows import QuantizedRows, StoredRows, fetch, store

GROUPS = (1, 2, 4, 5, 7, 8)
WIDTHS = (64, 128)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
NUM_SLOTS = 640
PADDING_ROWS = 3
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Case:
    """One step, one layer, and the settings of the backend."""

    seed: int
    plan: StepPlan
    spec: AttentionSpec
    dtype: torch.dtype
    pool_dtype: torch.dtype
    splitting: Splitting
    capacity: Capacity | None


def make_case(
    seed: int,
    *,
    dtype: torch.dtype | None = None,
    pool_dtype: torch.dtype | None = None,
    longest: int = 11,
) -> Case:
    """Return a case by its seed; group sizes and widths take turns, the rest is random."""
    draw = random.Random(seed)
    group, width = GROUPS[seed % 6], WIDTHS[seed // 6 % 2]
    if seed % 3 == 2:  # few rows, but several rounds of the kernel's loop over keys
        plan = decode_step(draw.randint(1, 5), draw.randint(60, 300), draw.randint(1, 60))
    else:
        depth = draw.choice((1, 2))
        plan = RandomTree(seed, num_slots=NUM_SLOTS, longest=longest, depth=depth).plan()
    kv_heads = draw.choice((1, 2))
    spec = AttentionSpec(
        layer=0,
        num_heads=kv_heads * group,
        num_kv_heads=kv_heads,
        key_width=width,
        value_width=width,
        scale=width**-0.5 * draw.choice((0.5, 1.0, 4.0)),
        sliding_window=draw.choice((None, None, 1, 6, 20)),
        softcap=draw.choice((None, None, 1.5, 30.0)),
        has_sinks=draw.random() < 0.4,
    )
    drawn = draw.choice(DTYPES)
    drawn_pool = draw.choice((drawn, drawn, torch.int8))
    is_fixed = draw.random() < 0.4
    return Case(
        seed=seed,
        plan=plan,
        spec=spec,
        dtype=dtype or drawn,
        pool_dtype=pool_dtype or (drawn_pool if dtype is None else dtype),
        splitting=draw.choice((Splitting(1, 64), Splitting(24, 16, 16), Splitting(999, 16, 16))),
        capacity=Capacity(256, 16_384, 160, 512) if is_fixed else None,
    )


def _empty_pool(
    shape: tuple[int, int, int], dtype: torch.dtype, device: torch.device
) -> StoredRows:
    """Return a pool of NaN: a read of an unused slot shows in the output."""
    if dtype is torch.int8:
        return QuantizedRows(
            torch.full(shape, 99, dtype=dtype, device=device),
            torch.full(shape[:2], float("nan"), device=device),
        )
    return torch.full(shape, float("nan"), dtype=dtype, device=device)


def _copy(pool: StoredRows) -> StoredRows:
    if isinstance(pool, QuantizedRows):
        return QuantizedRows(pool.elements.clone(), pool.scales.clone())
    return pool.clone()


def _assert_equal(found: StoredRows, expected: StoredRows) -> None:
    if isinstance(found, QuantizedRows):
        assert isinstance(expected, QuantizedRows)
        torch.testing.assert_close(found.scales, expected.scales, rtol=1e-6, atol=0, equal_nan=True)
        # The scale may differ in its last bit, and then a product beside a half rounds otherwise.
        assert (found.elements.int() - expected.elements.int()).abs().max() <= 1
        return
    assert isinstance(expected, torch.Tensor)
    assert torch.equal(found.float().nan_to_num(1e4), expected.float().nan_to_num(1e4))


def check(case: Case, device: torch.device = CPU) -> None:
    """Write the new rows, attend, and compare pool and output with the oracle."""
    plan, spec = case.plan, case.spec
    generator = torch.Generator().manual_seed(case.seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).to(case.dtype).to(device)

    used = sorted({slot for s in plan.segments for slot in s.slots.tolist()})
    old = torch.tensor(used, device=device)
    pools = []
    for width in (spec.key_width, spec.value_width):
        pool = _empty_pool((NUM_SLOTS, spec.num_kv_heads, width), case.pool_dtype, device)
        store(pool, old, normal(len(old), spec.num_kv_heads, width))
        pools.append(pool)
    rows = plan.num_rows + (PADDING_ROWS if case.capacity else 0)
    # Heads before rows in memory, as a model's projections leave them.
    queries = normal(spec.num_heads, rows, spec.key_width).transpose(0, 1)
    new_keys = normal(spec.num_kv_heads, rows, spec.key_width).transpose(0, 1)
    new_values = normal(spec.num_kv_heads, rows, spec.value_width).transpose(0, 1)
    sinks = normal(spec.num_heads) if spec.has_sinks else None

    expected_pools = [_copy(pool) for pool in pools]
    written, slots = (torch.from_numpy(a).to(device) for a in (plan.written_rows, plan.slots))
    for pool, new in zip(expected_pools, (new_keys, new_values), strict=True):
        store(pool, slots[written], new[written])

    backend = TreeDecodeBackend(
        make_queue(device), splitting=case.splitting, capacity=case.capacity
    )
    backend.open_layers([spec], case.dtype, case.pool_dtype, device)
    step: PreparedStep = backend.prepare(plan, device)
    if case.capacity:  # a captured step, which another plan has used before
        static = StaticTreeDecodeStep(backend, case.capacity)
        for each in (
            RandomTree(case.seed + 1, num_slots=NUM_SLOTS, longest=9, depth=1).plan(),
            plan,
        ):
            assert static.holds(each)
            static.refill(each)
        step = static
    step.write(*pools, new_keys, new_values)
    for pool, expected in zip(pools, expected_pools, strict=True):
        _assert_equal(pool, expected)
    found = step.attend(spec, queries, *pools, sinks)

    everything = slice(0, NUM_SLOTS)
    keys, values = (fetch(pool, everything).cpu() for pool in pools)
    exact = dense_attention(
        plan,
        spec,
        queries[: plan.num_rows].cpu(),
        keys,
        values,
        sinks=None if sinks is None else sinks.cpu(),
    )
    assert found.dtype == case.dtype
    largest = float(values[used].abs().max())
    least = 2e-6 if device.type == "cpu" else 8e-6  # a GPU's powers of two are approximations
    tolerance = max(4 * torch.finfo(case.dtype).eps, least) * largest
    torch.testing.assert_close(
        found[: plan.num_rows].cpu().double(),
        exact,
        atol=tolerance,
        rtol=0,
        msg=lambda m: f"{case}\n{m}",
    )
    assert (found[plan.num_rows :] == 0).all()
