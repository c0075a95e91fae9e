"""Keys with large elements in few places: an int8 pool keeps their precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.engine.test_kv_dtype import divergence, logits_of, make_executor
from yaie.engine.execution import batch
from yaie.kvcache.int8_rows import quantize, spread

CASE = {case.name: case for case in CASES}["llama"]
TIMES = 10.0
TOKENS = [token % 50 + 1 for token in range(60)]


def write_model_with_outliers(folder: Path) -> Path:
    """Scale one pair of elements of each key, and its queries inversely: equal products."""
    model: Any = CASE.build()
    width = model.model.layers[0].self_attn.head_dim
    for layer in model.model.layers:
        attention = layer.self_attn
        pair = [1, 1 + width // 2]  # the rotary embedding mixes these two
        for projection, factor in ((attention.k_proj, TIMES), (attention.q_proj, 1 / TIMES)):
            heads = projection.weight.data.view(-1, width, projection.in_features)
            heads[:, pair] *= factor
    save(CASE, model, folder)
    return folder


def test_heads_are_powers_of_two() -> None:
    """Other heads would not be spread, and the tests below would show nothing."""
    model: Any = CASE.build()
    width = model.model.layers[0].self_attn.head_dim
    assert width & (width - 1) == 0


@given(st.integers(0, 8), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_transform_keeps_products(exponent: int, rows: int, seed: int) -> None:
    torch.manual_seed(seed)
    queries, keys = torch.randn(2, rows, 3, 2**exponent, dtype=torch.float64).float()
    torch.testing.assert_close(
        spread(queries) @ spread(keys).mT, queries @ keys.mT, atol=1e-4, rtol=1e-4
    )
    torch.testing.assert_close(spread(spread(keys)), keys, atol=1e-5, rtol=1e-5)


def test_a_single_large_element_is_spread_evenly() -> None:
    head = torch.zeros(1, 64)
    head[0, 5] = 8.0
    assert torch.equal(spread(head).abs(), torch.ones(1, 64))
    odd = torch.randn(2, 48)
    assert spread(odd) is odd


@pytest.mark.parametrize("width", [64, 128])
def test_scores_of_rounded_keys_gain_most_in_wide_heads(width: int) -> None:
    torch.manual_seed(0)
    queries, keys = torch.randn(2, 200, 1, width)
    keys[..., 3] *= TIMES
    queries[..., 3] /= TIMES

    def error(queries: torch.Tensor, keys: torch.Tensor) -> float:
        rounded = quantize(keys)
        found = rounded.elements * rounded.scales[..., None]
        return float(((found - keys) * queries).sum(-1).std())

    assert error(spread(queries), spread(keys)) < 0.5 * error(queries, keys)


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_outliers_of_keys_cost_no_precision(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_model_with_outliers(tmp_path)
    expected = logits_of(make_executor(folder, "float32", backend), TOKENS)
    found = divergence(logits_of(make_executor(folder, "int8", backend), TOKENS), expected)
    monkeypatch.setattr(batch, "spread", lambda heads: heads)
    plain = make_executor(folder, "int8", "reference")
    # The heads of this model have a few elements; the gain grows with their number.
    assert found < 0.75 * divergence(logits_of(plain, TOKENS), expected)
