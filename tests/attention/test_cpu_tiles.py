"""Attention by bf16 products, in tiles or vectors, and the shapes that it serves."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from tests.attention.test_cpu import NUM_SLOTS, SETS, Case, kernels, spec
from tests.rounding_sets import ROUNDING_SETS
from yaie.attention.plan import Segment, StepPlan
from yaie.kernels.library import Library
from yaie.kvcache.int8_rows import QuantizedRows

__all__ = ["kernels"]

HERE = [name for name in ROUNDING_SETS if name in SETS]
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not HERE, reason="no bf16 products in this library or processor"),
    pytest.mark.parametrize("kernels", HERE, indirect=True),
]


def prefix_and_tails(
    prefix: int, branches: int, rows: int, *, scattered: bool = False, skipped: int = 0
) -> StepPlan:
    """Plan the rows of several branches below one prefix, at an offset in the pool."""
    slots = np.arange(NUM_SLOTS)
    if scattered:
        slots = np.random.default_rng(prefix).permutation(slots)
    slots = slots[skipped : skipped + prefix + branches * rows]
    own = slots[prefix:].reshape(branches, rows)
    count = branches * rows
    tails = tuple(
        Segment(own[branch], prefix, branch * rows, (branch + 1) * rows, level=int(prefix > 0))
        for branch in range(branches)
    )
    every = np.arange(count)
    return StepPlan(
        token_ids=every,
        positions=np.tile(np.arange(prefix, prefix + rows), branches),
        slots=own.reshape(-1),
        written_rows=every,
        logit_rows=every,
        segments=(Segment(slots[:prefix], 0, 0, count, level=0), *tails) if prefix else tails,
        kv_tokens_read=prefix + count,
        kv_tokens_unshared=branches * (prefix + rows),
    )


def layer_of(key_width: int, value_width: int | None = None, **fields: object) -> dict[str, object]:
    return {
        "num_heads": 4,
        "num_kv_heads": 2,
        "key_width": key_width,
        "value_width": value_width or key_width,
        "scale": key_width**-0.5,
        **fields,
    }


def rounds_queries(case: Case, kernels: Library) -> bool:
    """Return True if query bits beyond bf16 have no effect, as only in this kernel."""
    rounded = dataclasses.replace(case)
    rounded.queries = case.queries.bfloat16().to(case.queries.dtype)
    assert not torch.equal(rounded.queries, case.queries)
    return torch.equal(case.found(kernels), rounded.found(kernels))


PLANS = {
    "a prompt": prefix_and_tails(0, 1, 100),
    "a long prompt": prefix_and_tails(0, 1, 700),
    "a prompt below a long prefix": prefix_and_tails(1100, 1, 150),
    "below a prefix": prefix_and_tails(333, 1, 77),
    "at an odd slot": prefix_and_tails(205, 1, 33, skipped=7),
    "scattered": prefix_and_tails(501, 2, 41, scattered=True),
    "two prompts": prefix_and_tails(0, 2, 65, skipped=3),
}
LAYERS = {
    "32": layer_of(32),
    "64": layer_of(64),
    "128": layer_of(128),
    "256": layer_of(256),
    "keys wider than values": layer_of(192, 128),
    "values wider than keys": layer_of(64, 96),
    "window": layer_of(64, sliding_window=50),
    "short window": layer_of(64, sliding_window=3),
    "long window": layer_of(64, sliding_window=400),
    "softcap": layer_of(64, softcap=2.0),
    "sinks": layer_of(64, has_sinks=True),
    "one KV head": layer_of(128, num_kv_heads=1),
    "sharp scores": layer_of(128, scale=1.0),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("pool_dtype", [torch.bfloat16, torch.int8])
def test_against_the_reference(
    kernels: Library, plan: str, layer: str, pool_dtype: torch.dtype
) -> None:
    case = Case(PLANS[plan], spec(**LAYERS[layer]), torch.float32, pool_dtype)
    assert rounds_queries(case, kernels)
    for threads in (1, 3):
        case.check(kernels, threads)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("rows", [4, 16, 17, 40])
def test_decoding_over_one_long_prefix(kernels: Library, rows: int, dtype: torch.dtype) -> None:
    """Partial results of tiles over the prefix merge with those of another kernel."""
    plan = prefix_and_tails(3001, rows, 1, scattered=rows == 17)
    layer = spec(**layer_of(128))
    for threads in (1, 2):
        Case(plan, layer, dtype, torch.bfloat16).check(kernels, threads)


def test_the_error_is_that_of_rounded_weights_and_queries(kernels: Library) -> None:
    case = Case(PLANS["a long prompt"], spec(**layer_of(128)), torch.float32, torch.bfloat16)
    expected = case.reference()
    largest = float(expected.abs().max())
    error = (case.found(kernels) - expected).abs()
    assert float(error.max()) <= 2**-7 * largest
    assert float(error.square().mean().sqrt()) <= 2**-10 * largest


@pytest.mark.parametrize(
    ("layer", "pool_dtype"),
    [
        (layer_of(40), torch.bfloat16),
        (layer_of(64, 48), torch.bfloat16),
        (layer_of(64), torch.float32),
        (layer_of(64), torch.float16),
    ],
)
def test_other_shapes_keep_their_kernel(
    kernels: Library, layer: dict[str, object], pool_dtype: torch.dtype
) -> None:
    case = Case(PLANS["a prompt"], spec(**layer), torch.float32, pool_dtype)
    assert not rounds_queries(case, kernels)


@pytest.mark.parametrize("pool_dtype", [torch.bfloat16, torch.int8])
def test_few_query_vectors_are_not_rounded(kernels: Library, pool_dtype: torch.dtype) -> None:
    case = Case(prefix_and_tails(300, 1, 2), spec(**layer_of(64)), torch.float32, pool_dtype)
    assert not rounds_queries(case, kernels)


def test_non_finite_values_reach_the_rows_that_see_them(kernels: Library) -> None:
    case = Case(PLANS["a prompt"], spec(**layer_of(64)), torch.float32, torch.bfloat16)
    assert isinstance(case.values, torch.Tensor)
    case.values[40, 0, 5] = torch.nan
    found = case.found(kernels)
    assert bool(found[40:, :2, 5].isnan().all())
    assert bool(found[:, 2:].isfinite().all())


def test_a_non_finite_scale_stays_with_its_head(kernels: Library) -> None:
    """The next head's block is shorter."""
    case = Case(prefix_and_tails(0, 1, 150), spec(**layer_of(64)), torch.float32, torch.int8)
    assert isinstance(case.values, QuantizedRows)
    case.values.scales[100, 0] = torch.nan
    found = case.found(kernels)
    assert bool(found[100:, :2].isnan().all())
    assert bool(found[:, 2:].isfinite().all())


def test_a_non_finite_scale_after_a_long_block(
    kernels: Library,
) -> None:
    """Head 0 has a second block of 88 keys, padded to 96, after one of 512 of head 1."""
    case = Case(prefix_and_tails(600, 1, 40), spec(**layer_of(64)), torch.float32, torch.int8)
    assert isinstance(case.values, QuantizedRows)
    case.values.scales[90, 1] = torch.nan
    found = case.found(kernels)
    assert bool(found[:, :2].isfinite().all())
    assert bool(found[:, 2:].isnan().all())
