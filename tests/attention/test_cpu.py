"""The CPU kernels in each instruction set against the reference backend and float64."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attention.dense import dense_attention
from tests.attention.test_reference import FEATURES, PLAIN, long_prefill
from tests.attention.trees import RandomTree
from tests.rounding_sets import ROUNDING_SETS
from tests.sizes import large, size
from yaie.attention.cpu import CpuBackend
from yaie.attention.plan import Segment, StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.attention.spec import AttentionSpec
from yaie.kernels import library_search
from yaie.kernels.library import Library
from yaie.kvcache.int8_rows import QuantizedRows, StoredRows, fetch, quantize
from yaie.kvcache.pool import KVPool, LayerShape

CPU = torch.device("cpu")
LOADED = library_search.load()
SETS = LOADED.instruction_sets if LOADED else []
NUM_SLOTS = 4096

pytestmark = pytest.mark.skipif(LOADED is None, reason=library_search.status().reason)

# Largest error of an output, relative to the largest value: rounding of the result, and of stored
# values with 8 or 11 bits.
BOUND = {torch.float32: 1e-5, torch.bfloat16: 2**-8, torch.float16: 2**-11}
# Byte products use queries and weights of 16 bits: 2^-16 of the largest.
BOUND_OF_BYTES = 5e-4
# Products of tiles round weights to bf16: 2^-9 of each. They round query vectors too, which
# therefore have no more bits here.
BOUND_OF_TILES = 2**-8
TILE_POOLS = (torch.bfloat16, torch.int8)


@pytest.fixture(params=SETS)
def kernels(request: pytest.FixtureRequest) -> Iterator[Library]:
    """Return the library, in one instruction set after the other."""
    assert LOADED is not None
    usual, threads = LOADED.instruction_set, LOADED.threads
    LOADED.use_instruction_set(request.param)
    yield LOADED
    LOADED.use_instruction_set(usual)
    LOADED.threads = threads


@dataclasses.dataclass
class Case:
    """Random tensors for one plan and layer."""

    plan: StepPlan
    spec: AttentionSpec
    dtype: torch.dtype = torch.float32
    pool_dtype: torch.dtype | None = None  # None: as queries and output
    num_slots: int = NUM_SLOTS

    def __post_init__(self) -> None:
        generator = torch.Generator().manual_seed(self.plan.num_rows)

        def random_tensor(*shape: int) -> torch.Tensor:
            return (torch.randn(*shape, generator=generator) * 1.5).to(self.dtype)

        spec = self.spec
        self.queries = random_tensor(self.plan.num_rows, spec.num_heads, spec.key_width)
        # Head by head, as in a pool on a CPU.
        keys = random_tensor(spec.num_kv_heads, self.num_slots, spec.key_width)
        values = random_tensor(spec.num_kv_heads, self.num_slots, spec.value_width)
        self.keys = self._pooled(keys.transpose(0, 1))
        self.values = self._pooled(values.transpose(0, 1))
        self.sinks = random_tensor(spec.num_heads) if spec.has_sinks else None

    def _pooled(self, rows: torch.Tensor) -> StoredRows:
        if self.pool_dtype is torch.int8:
            # Of very different sizes: each needs its own scale.
            return quantize(
                rows
                * torch.logspace(-1, 0.5, rows.shape[0] * rows.shape[1]).view(rows.shape[0], -1, 1)
            )
        return rows.to(self.pool_dtype or self.dtype)

    def found(self, kernels: Library, threads: int = 1) -> torch.Tensor:
        step = CpuBackend(kernels, threads).prepare(self.plan, CPU)
        return step.attend(self.spec, self.queries, self.keys, self.values, self.sinks)

    def reference(self) -> torch.Tensor:
        """Compute in float32 from the kernels' own inputs."""
        step = ReferenceBackend().prepare(self.plan, CPU)
        return step.attend(self.spec, self.queries.float(), self.keys, self.values, self.sinks)

    def check(self, kernels: Library, threads: int = 1) -> None:
        bound = BOUND[self.dtype]
        pool_dtype = self.pool_dtype or self.dtype
        if pool_dtype is torch.int8 and kernels.instruction_set in ("vnni", "bf16", "amx"):
            bound = max(bound, BOUND_OF_BYTES)
        if pool_dtype in TILE_POOLS and kernels.instruction_set in ROUNDING_SETS:
            bound += BOUND_OF_TILES
            self.queries = self.queries.bfloat16().to(self.dtype)
        found = self.found(kernels, threads)
        assert found.dtype is self.dtype
        expected = self.reference()
        error = float((found.float() - expected).abs().max())
        assert error <= bound * float(expected.abs().max())


def spec(**fields: object) -> AttentionSpec:
    return AttentionSpec(layer=0, **{**PLAIN, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("seed", range(4))
def test_random_trees_against_float64(kernels: Library, feature: str, seed: int) -> None:
    case = Case(RandomTree(seed).plan(), spec(**FEATURES[feature]))
    expected = dense_attention(
        case.plan, case.spec, case.queries, case.keys, case.values, sinks=case.sinks
    )
    torch.testing.assert_close(case.found(kernels).double(), expected, atol=2e-5, rtol=1e-5)


WIDTHS = (8, 16, 24, 32, 40, 64, 72, 80, 96, 112, 128, 192, 256)


@large
@settings(max_examples=size(250))
@given(data=st.data())
def test_random_trees_shapes_features_and_threads(data: st.DataObject) -> None:
    check_a_random_tree(data)


def check_a_random_tree(data: st.DataObject) -> None:
    assert LOADED is not None
    kv_heads = data.draw(st.sampled_from((1, 2, 3, 4)))
    group = data.draw(st.sampled_from((1, 2, 3, 4, 7, 9)))
    key_width = data.draw(st.sampled_from(WIDTHS))
    layer = spec(
        num_kv_heads=kv_heads,
        num_heads=kv_heads * group,
        key_width=key_width,
        value_width=data.draw(st.one_of(st.just(key_width), st.sampled_from((*WIDTHS, 5, 33)))),
        scale=key_width**-0.5,
        sliding_window=data.draw(st.sampled_from((None, None, 1, 7, 60, 200))),
        softcap=data.draw(st.sampled_from((None, None, 2.0, 30.0))),
        has_sinks=data.draw(st.booleans()),
    )
    tree = RandomTree(
        data.draw(st.integers(0, 10_000)),
        longest=data.draw(st.sampled_from((1, 5, 30, 130))),
        num_slots=NUM_SLOTS,
        depth=data.draw(st.integers(0, 2)),
        row_chance=data.draw(st.sampled_from((0.0, 0.5, 1.0))),
    )
    case = Case(
        tree.plan(),
        layer,
        data.draw(st.sampled_from(list(BOUND))),
        data.draw(st.sampled_from((None, *BOUND, torch.int8, torch.int8))),
    )
    usual = LOADED.instruction_set
    LOADED.use_instruction_set(data.draw(st.sampled_from(SETS)))
    try:
        case.check(LOADED, threads=data.draw(st.sampled_from((1, 2, 5))))
    finally:
        LOADED.use_instruction_set(usual)


@pytest.mark.integration
@pytest.mark.parametrize("pool_dtype", [*BOUND, torch.int8])
@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("threads", [1, 3])
def test_long_segments_are_cut_into_key_ranges(
    kernels: Library, pool_dtype: torch.dtype, rows: int, threads: int
) -> None:
    plan = long_prefill(rows, 3000)
    layer = spec(key_width=64, value_width=64, scale=0.125)
    dtype = torch.float32 if pool_dtype is torch.int8 else pool_dtype
    Case(plan, layer, dtype, pool_dtype).check(kernels, threads)
    layer = dataclasses.replace(layer, sliding_window=700)
    Case(plan, layer, dtype, pool_dtype).check(kernels, threads)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_outputs_are_rounded_as_in_torch(kernels: Library, dtype: torch.dtype) -> None:
    """With one key the output is the value itself."""
    width = 64
    plan = long_prefill(1, 1)
    layer = spec(num_heads=1, num_kv_heads=1, key_width=8, value_width=width, scale=1.0)
    bits = torch.arange(0, 65536, dtype=torch.int32).to(torch.int16)
    for first in range(0, len(bits), 65536 // 64):
        case = Case(plan, layer, dtype, num_slots=1)
        case.values = bits[first : first + width].view(dtype).view(1, 1, width)
        if not case.values.isfinite().all():
            continue
        # Subnormal bf16 numbers are subnormal in fp32 too: machines may flush them to 0.
        found, expected = case.found(kernels)[0], case.values[0]
        tiny = expected.abs() < torch.finfo(torch.float32).tiny
        assert torch.equal(found[~tiny], expected[~tiny])


@pytest.mark.parametrize("pool_dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int8])
@pytest.mark.parametrize("rows", [1, 5, 40])  # GEMV-like, tiles if any, GEMM-like
@pytest.mark.parametrize("exact", [False, True])
def test_a_non_finite_score_shows(
    kernels: Library, pool_dtype: torch.dtype, rows: int, exact: bool
) -> None:
    """It reaches exactly the rows that see its key, and never becomes a weight."""
    case = Case(
        long_prefill(rows, 200),
        spec(key_width=64, value_width=64, scale=0.125),
        torch.float32,
        pool_dtype,
    )
    bad = 199 - rows // 2  # slots are positions
    keys = case.keys.scales if isinstance(case.keys, QuantizedRows) else case.keys[..., 3]
    keys[bad, 0] = torch.nan
    step = CpuBackend(kernels, 1, exact=exact).prepare(case.plan, CPU)
    found = step.attend(case.spec, case.queries, case.keys, case.values, case.sinks)
    sees_it = torch.as_tensor(case.plan.positions) >= bad
    group = case.spec.num_heads // case.spec.num_kv_heads
    assert bool(found[sees_it, :group].isnan().all())
    assert bool(found[~sees_it].isfinite().all())
    assert bool(found[:, group:].isfinite().all())


def test_large_scores_do_not_overflow(kernels: Library) -> None:
    case = Case(RandomTree(5).plan(), spec(scale=300.0, has_sinks=True))
    found = case.found(kernels)
    assert found.isfinite().all()
    torch.testing.assert_close(found, case.reference(), atol=1e-3, rtol=1e-3)


def test_strided_queries_and_pools_are_read_in_place(kernels: Library) -> None:
    case = Case(RandomTree(2).plan(), spec())
    expected = case.found(kernels)
    case.queries = case.queries.transpose(0, 1).contiguous().transpose(0, 1)
    case.keys = case.keys.transpose(0, 1).contiguous().transpose(0, 1)
    case.values = torch.cat([case.values, case.values], dim=2)[:, :, : case.spec.value_width]
    assert torch.equal(case.found(kernels), expected)
    case.queries = case.queries.transpose(1, 2).contiguous().transpose(1, 2)
    assert case.queries.stride(2) != 1
    assert torch.equal(case.found(kernels), expected)


def test_layers_of_one_step_may_differ(kernels: Library) -> None:
    """Work shared by equal layers of a step must not reach layers of another kind."""
    plan = RandomTree(7, longest=60).plan()
    step = CpuBackend(kernels, 2).prepare(plan, CPU)
    layers = [
        spec(),
        spec(sliding_window=11),
        spec(num_heads=8),
        spec(value_width=24),
        spec(softcap=3.0),
        spec(num_kv_heads=1),
        spec(),
    ]
    for index, layer in enumerate(layers):
        case = Case(plan, dataclasses.replace(layer, layer=index % 3))
        found = step.attend(case.spec, case.queries, case.keys, case.values, case.sinks)
        torch.testing.assert_close(found, case.reference(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_new_keys_and_values_go_to_their_slots(
    kernels: Library, rows: int, dtype: torch.dtype
) -> None:
    plan = long_prefill(600, 700)
    slots = np.random.default_rng(1).permutation(NUM_SLOTS)[:600]
    written = np.sort(np.random.default_rng(2).permutation(600)[:rows])
    plan = dataclasses.replace(plan, slots=slots, written_rows=written)
    new_keys = torch.randn(2, 600, 8).to(dtype).transpose(0, 1)
    new_values = torch.randn(600, 2, 24).to(dtype)
    pools = []
    for backend in (CpuBackend(kernels, 2), ReferenceBackend()):
        keys = torch.zeros(NUM_SLOTS, 2, 8, dtype=torch.bfloat16 if dtype.itemsize < 4 else dtype)
        values = torch.zeros(NUM_SLOTS, 2, 24, dtype=keys.dtype)
        backend.prepare(plan, CPU).write(keys, values, new_keys, new_values)
        pools.append((keys, values))
    assert all(torch.equal(a, b) for a, b in zip(*pools, strict=True))
    assert int((pools[0][0] != 0).any(-1).any(-1).sum()) == rows


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("pool_dtype", [*BOUND, torch.int8])
@pytest.mark.parametrize("width", [5, 24, 128])
def test_written_rows_are_rounded_as_in_torch(
    kernels: Library, dtype: torch.dtype, pool_dtype: torch.dtype, width: int
) -> None:
    plan = long_prefill(300, 300)
    rows = (torch.randn(300, 2, width) * torch.logspace(-3, 3, 300)[:, None, None]).to(dtype)
    rows[17] = 0
    pools = []
    for backend in (CpuBackend(kernels, 2), ReferenceBackend()):
        pool = KVPool([LayerShape(2, width, width)], 300, pool_dtype, CPU)
        backend.prepare(plan, CPU).write(pool.keys(0), pool.values(0), rows, rows)
        pools.append(pool)
    for stored in (KVPool.keys, KVPool.values):
        found, expected = (stored(pool, 0) for pool in pools)
        if isinstance(found, QuantizedRows) and isinstance(expected, QuantizedRows):
            assert torch.equal(found.scales, expected.scales)
            difference = (found.elements.int() - expected.elements.int()).abs()
            assert int(difference.max()) <= 1
            # Only ties between two bytes may go either way.
            middle = (rows.double() / expected.scales.double()[..., None])[difference > 0]
            assert bool((((middle.abs() % 1) - 0.5).abs() < 1e-4).all())
        else:
            assert torch.equal(found, expected)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_non_finite_values_survive_an_int8_pool(kernels: Library, bad: float) -> None:
    rows = torch.ones(3, 2, 40)
    rows[1, 0, 7] = bad
    rows[2, 1, 38] = bad
    for backend in (CpuBackend(kernels, 1), ReferenceBackend()):
        pool = KVPool([LayerShape(2, 40, 40)], 3, torch.int8, CPU)
        backend.prepare(long_prefill(3, 3), CPU).write(pool.keys(0), pool.values(0), rows, rows)
        finite = fetch(pool.keys(0), slice(0, 3)).isfinite().all(-1)
        assert finite.tolist() == [[True, True], [False, True], [True, False]]


def test_torch_serves_dtypes_unknown_to_the_kernels(kernels: Library) -> None:
    case = Case(RandomTree(1).plan(), spec())
    case.keys, case.values = case.keys.double(), case.values.double()
    torch.testing.assert_close(case.found(kernels), case.reference(), atol=1e-5, rtol=1e-5)


def test_results_do_not_depend_on_late_threads(kernels: Library) -> None:
    """Many short calls of changing size: a late thread never takes another call's tasks."""
    cases = [Case(RandomTree(seed, longest=40).plan(), spec()) for seed in range(6)]
    expected = [case.found(kernels, threads=4) for case in cases]
    backend = CpuBackend(kernels, 4)
    for _ in range(60):
        for case, right in zip(cases, expected, strict=True):
            step = backend.prepare(case.plan, CPU)
            found = step.attend(case.spec, case.queries, case.keys, case.values, None)
            assert torch.equal(found, right)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_computes(kernels: Library) -> None:
    case = Case(RandomTree(4, longest=60).plan(), spec())
    expected = case.found(kernels, threads=3)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if torch.equal(case.found(kernels, threads=3), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert torch.equal(case.found(kernels, threads=3), expected)


def test_a_decode_batch_below_a_shared_prefix() -> None:
    """32 rows below one prefix, each with a tail: the shape the kernels are made for."""
    assert LOADED is not None
    prefix, tail, rows = 1000, 17, 32
    bounds = [prefix + tail * row for row in range(rows + 1)]
    tails = tuple(
        Segment(np.arange(first, end), prefix, row, row + 1, level=1)
        for row, (first, end) in enumerate(pairwise(bounds))
    )
    every = np.arange(rows)
    plan = StepPlan(
        token_ids=every,
        positions=np.full(rows, prefix + tail - 1),
        slots=np.array(bounds[1:]) - 1,
        written_rows=every,
        logit_rows=every,
        segments=(Segment(np.arange(prefix), 0, 0, rows, level=0), *tails),
        kv_tokens_read=bounds[-1],
        kv_tokens_unshared=rows * (prefix + tail),
    )
    for dtype in BOUND:
        layer = spec(num_heads=16, num_kv_heads=8, key_width=128, value_width=128, scale=0.09)
        Case(plan, layer, dtype).check(LOADED, threads=2)
        Case(plan, layer, dtype, torch.int8).check(LOADED, threads=2)
