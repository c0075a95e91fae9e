"""GPTQ: equal to the plain algorithm, and never worse than rounding to nearest."""

from __future__ import annotations

import pytest
import torch

from yaie.models.quantization.gptq import factorize, round_by_inputs
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.weight_rounding import best_grid

DAMPING = 0.05


def example(inputs: int, outputs: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return weights [outputs, inputs] and rows [300, inputs] of correlated, unequal inputs."""
    generator = torch.Generator().manual_seed(seed)
    mixed = torch.randn(inputs, inputs, generator=generator) / inputs**0.5
    scales = torch.exp(torch.randn(inputs, generator=generator))
    rows = torch.randn(300, inputs, generator=generator) @ (torch.eye(inputs) + 2 * mixed) * scales
    return torch.randn(outputs, inputs, generator=generator), rows


def plain_gptq(weight: torch.Tensor, gram: torch.Tensor, group: int) -> torch.Tensor:
    """Return the rounded weights, in float64, with an inverse for each input that is left."""
    damped = gram.double()
    damped.diagonal().add_(DAMPING * damped.diagonal().mean())
    importance = damped.diagonal().float()
    grids = [
        best_grid(weight.T[first : first + group], importance[first : first + group, None])
        for first in range(0, len(gram), group)
    ]
    left, result = weight.double().clone(), torch.empty_like(weight)
    remaining = gram.diagonal().argsort(descending=True, stable=True)
    while len(remaining):
        inverse = torch.linalg.inv(damped[remaining][:, remaining])
        index = int(remaining[0])
        grid = grids[index // group]
        rounded = grid.weights(grid.values(left[:, index].float()))
        error = (left[:, index] - rounded.double()) / inverse[0, 0]
        left[:, remaining] -= error[:, None] * inverse[0]
        result[:, index] = rounded
        remaining = remaining[1:]
    return result


@pytest.mark.parametrize(("inputs", "group"), [(192, 64), (96, 32), (40, 8)])
def test_it_equals_the_plain_algorithm(inputs: int, group: int) -> None:
    weight, rows = example(inputs, 80, seed=inputs)
    gram = rows.T @ rows
    found = round_by_inputs(weight, factorize(gram))
    assert found.bits == 4 and found.group_size == group
    expected = plain_gptq(weight, gram, group)
    # A weight in the middle of two values may fall to either side, and moves those after it.
    differ = (found.dequantize(torch.float32) != expected).any(1)
    assert int(differ.sum()) <= 4


@pytest.mark.parametrize("seed", range(5))
def test_no_output_is_worse_than_by_rounding_to_nearest(seed: int) -> None:
    weight, rows = example(128, 64, seed)
    if seed == 4:
        rows[:, 64:] = 0  # inputs that the text never gives
    found, nearest = (
        ((rounded.dequantize(torch.float32) - weight) @ rows.T).square().sum(1)
        for rounded in (
            round_by_inputs(weight, factorize(rows.T @ rows)),
            quantize_weight(weight, "int4"),
        )
    )
    assert bool((found <= nearest * (1 + DAMPING) + 1e-3).all())
    assert float(found.sum()) < 0.6 * float(nearest.sum())


def test_the_importance_of_inputs_is_in_their_own_order() -> None:
    _, rows = example(64, 1, seed=9)
    gram = rows.T @ rows
    statistics = factorize(gram)
    squares = gram.diagonal() + DAMPING * gram.diagonal().mean()
    torch.testing.assert_close(statistics.importance, squares, rtol=1e-4, atol=0)
    assert bool((gram.diagonal()[statistics.order].diff() <= 0).all())
