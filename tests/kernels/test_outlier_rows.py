"""Outliers in the rows of int8 layers: they keep their precision and that of other inputs."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attention.test_cpu import LOADED, kernels
from tests.kernels.test_exact_linear import Layer
from tests.kernels.test_quantized_linear import rounded
from yaie.kernels import library_search
from yaie.kernels.library import Library

__all__ = ["kernels"]

pytestmark = pytest.mark.skipif(LOADED is None, reason=library_search.status().reason)

INPUTS, OUTPUTS = 576, 70


@pytest.fixture
def layer(kernels: Library) -> Layer:
    return Layer(kernels, INPUTS, OUTPUTS, "int8", exact=False)


def twin(layer: Layer, x: torch.Tensor, *, keeps_outliers: bool = True) -> torch.Tensor:
    """Multiply rounded rows in float64."""
    rows = rounded(x, x.shape[1], keeps_outliers=keeps_outliers)
    return rows @ layer.weight.T + layer.bias


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double() - expected).norm() / expected.norm())


@pytest.mark.parametrize("rows", [1, 3, 16, 40])
@pytest.mark.parametrize("times", [1.0, 50.0, 2_000.0])
def test_an_outlier_channel_costs_no_precision(layer: Layer, rows: int, times: float) -> None:
    x = torch.randn(rows, INPUTS)
    x[:, 77] *= times
    exact = x.double() @ layer.weight.T + layer.bias
    assert error(layer(x), exact) < 0.012
    if times > 1:  # otherwise the test could not fail
        plain = twin(layer, x, keeps_outliers=False)
        assert (plain - exact).norm() > 2 * (layer(x).double() - exact).norm()


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 20),
    scale=st.sampled_from([1e-30, 1e-12, 1.0, 1e12]),
    outliers=st.integers(0, 40),
    times=st.sampled_from([3.0, 30.0, 1e4]),
)
def test_rows_agree_with_the_plain_twin(
    seed: int, rows: int, scale: float, outliers: int, times: float
) -> None:
    assert LOADED is not None
    layer = Layer(LOADED, INPUTS, OUTPUTS, "int8", exact=False)
    layer.bias.zero_()
    layer.fields.bias = None
    torch.manual_seed(seed)
    x = torch.randn(rows, INPUTS)
    x[:, torch.randperm(INPUTS)[:outliers]] *= times
    expected = twin(layer, x)
    # Squares of tiny rows are zero in float32: such rows are rounded as a whole.
    bound = 0.003 if scale > 1e-15 else 0.5
    assert error(layer(x * scale) / scale, expected) < bound


@pytest.mark.parametrize("width", [1, 15, 16, 17, 101])
def test_every_input_may_be_the_outlier(kernels: Library, width: int) -> None:
    layer = Layer(kernels, width, OUTPUTS, "int8", exact=False)
    for place in range(width):
        x = torch.full((1, width), 0.01)
        x[0, place] = 100.0
        assert error(layer(x), twin(layer, x)) < 1e-3


def test_nan_and_infinity_reach_the_results(layer: Layer) -> None:
    x = torch.randn(3, INPUTS)
    clean = layer(x.clone())
    x[0, 5], x[2, 9] = torch.nan, torch.inf
    found = layer(x)
    assert found[0].isnan().all()
    assert not found[2].isfinite().any()
    assert torch.equal(found[1], clean[1])


def test_a_row_of_zeros_gives_the_bias(layer: Layer) -> None:
    found = layer(torch.zeros(2, INPUTS))
    torch.testing.assert_close(found.double(), layer.bias.expand(2, -1))
