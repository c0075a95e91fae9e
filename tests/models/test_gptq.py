"""Rounding by inputs: never a larger error of a layer's results than rounding to nearest."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from yaie.models.quantization.gptq import (
    InputStatistics,
    factorize,
    round_by_inputs,
    round_by_squares,
)
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.weights import QuantizedWeight


def correlated_inputs(generator: torch.Generator, rows: int, width: int) -> torch.Tensor:
    mixing = torch.randn(width, width, generator=generator)
    return torch.randn(rows, width, generator=generator) @ (mixing + 2 * torch.eye(width))


def errors_of(
    weight: torch.Tensor, rounded: QuantizedWeight, statistics: InputStatistics
) -> torch.Tensor:
    """Return the squared error of each output, by the inputs' damped products."""
    difference = rounded.dequantize(torch.float32) - weight.float()
    return (difference @ statistics.lower).square().sum(1)


@st.composite
def layers(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw weights and inputs, with groups of 4 to 64."""
    width = draw(st.sampled_from([4, 12, 40, 64, 96, 128, 192]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    outputs = draw(st.integers(1, 9))
    weight = torch.randn(outputs, width, generator=generator)
    inputs = correlated_inputs(generator, draw(st.sampled_from([1, 40, 300])), width)
    if draw(st.booleans()):
        weight[draw(st.integers(0, outputs - 1))] = 0
    if draw(st.booleans()):
        inputs[:, draw(st.integers(0, width - 1))] = 0
    if draw(st.booleans()):
        inputs[:, 0] *= 1000
    return weight * draw(st.sampled_from([1e-4, 1.0, 300.0])), inputs


@given(layers())
@settings(max_examples=40, deadline=None)
def test_no_output_has_a_larger_error_than_by_rounding_to_nearest(
    layer: tuple[torch.Tensor, torch.Tensor],
) -> None:
    weight, inputs = layer
    statistics = factorize(inputs.T @ inputs)
    nearest, before = quantize_weight(weight, "int4"), weight.clone()
    rounded = round_by_inputs(weight, statistics)
    assert torch.equal(weight, before)  # a single output is contiguous in either order
    assert rounded.group_size == nearest.group_size
    assert rounded.zero_points is not None
    for values in (rounded.values, rounded.zero_points):
        assert values.dtype == torch.int8
        assert -8 <= int(values.min()) <= int(values.max()) <= 7
    assert torch.equal(rounded.scales, rounded.scales.bfloat16().float())
    ours, theirs = (errors_of(weight, each, statistics) for each in (rounded, nearest))
    assert bool((ours <= theirs * 1.001).all())  # sums in another order


@given(layers())
@settings(max_examples=20, deadline=None)
def test_outputs_of_zeros_stay_zeros(layer: tuple[torch.Tensor, torch.Tensor]) -> None:
    weight, inputs = layer
    weight[0] = 0
    rounded = round_by_inputs(weight, factorize(inputs.T @ inputs))
    assert not rounded.dequantize(torch.float32)[0].any()


def test_correlated_inputs_halve_the_error() -> None:
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(32, 128, generator=generator)
    inputs = correlated_inputs(generator, 100, 128)  # fewer than inputs
    statistics = factorize(inputs.T @ inputs)
    ours = errors_of(weight, round_by_inputs(weight, statistics), statistics).sum()
    nearest = errors_of(weight, quantize_weight(weight, "int4"), statistics).sum()
    assert ours < 0.5 * nearest


def test_inputs_that_are_always_zero_are_rounded_to_nearest() -> None:
    weight = torch.randn(8, 64, generator=torch.Generator().manual_seed(4))
    rounded = round_by_inputs(weight, factorize(torch.zeros(64, 64)))
    torch.testing.assert_close(
        rounded.dequantize(torch.float32), quantize_weight(weight, "int4").dequantize(torch.float32)
    )


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_indefinite_sums_are_damped(scale: float) -> None:
    """Sums in float32 of nearly equal inputs have eigenvalues below zero."""
    one = torch.randn(2000, 1, generator=torch.Generator().manual_seed(5))
    gram = (one.T @ one).expand(96, 96) * scale
    gram = gram - 0.02 * gram.diagonal().mean() * torch.eye(96)
    statistics = factorize(gram)
    assert bool(torch.isfinite(statistics.upper).all())
    product = statistics.upper @ (statistics.lower @ statistics.lower.T) @ statistics.upper.T
    torch.testing.assert_close(product, torch.eye(96), atol=0.02, rtol=0)


def test_inputs_without_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="37 inputs have no groups of 4 bits"):
        round_by_inputs(torch.randn(4, 37), factorize(torch.eye(37)))


@given(layers())
@settings(max_examples=40, deadline=None)
def test_squares_weigh_the_errors_of_each_group(layer: tuple[torch.Tensor, torch.Tensor]) -> None:
    weight, inputs = layer
    squares = inputs.square().sum(0)
    rounded, nearest = round_by_squares(weight, squares), quantize_weight(weight, "int4")
    assert rounded.group_size == nearest.group_size
    damped = squares + 0.01 * squares.mean()
    errors = [
        (each.dequantize(torch.float32) - weight).square().mul(damped).sum()
        for each in (rounded, nearest)
    ]
    assert float(errors[0]) <= 1.001 * float(errors[1])
