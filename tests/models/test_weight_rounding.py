"""Rounding of weights in each instruction set, against torch."""

from __future__ import annotations

import pytest
import torch

from tests.kernels.forced_set import forced_set
from yaie.models.quantization.quantized_weights import QuantizedWeight
from yaie.models.quantization.weight_rounding import round_plainly, round_weight

SETS = pytest.mark.parametrize("name", ["amx", "bf16", "vnni", "avx512", "avx2", "portable"])
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def random_weights(outputs: int, inputs: int, dtype: torch.dtype) -> torch.Tensor:
    """Return weights with rows of several magnitudes, of zeros, and of one sign."""
    torch.manual_seed(inputs)
    weight = torch.randn(outputs, inputs) * torch.exp(torch.randn(outputs, 1))
    weight[3] = 0
    weight[4] = weight[4].abs()
    weight[5] = weight[5].neg().clamp_max(-2)
    weight[6, ::3] = 0
    return weight.to(dtype)


def errors_of(
    rounded: QuantizedWeight, weight: torch.Tensor, importance: torch.Tensor | None
) -> torch.Tensor:
    """Return each group's weighted squared error, in float64."""
    squares = (rounded.dequantize(torch.float64) - weight).square_()
    squares = squares if importance is None else squares * importance
    return squares.view(len(weight), -1, rounded.group_size).sum(-1)


@SETS
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("inputs", "group"), [(320, 64), (96, 32), (48, 16), (40, 8), (36, 4)], ids=str
)
def test_four_bits_are_those_of_torch(
    name: str, inputs: int, group: int, dtype: torch.dtype, is_weighted: bool
) -> None:
    weight = random_weights(61, inputs, dtype)
    importance = torch.rand(inputs) + 0.1 if is_weighted else None
    with forced_set(name):
        found = round_weight(weight, 4, group, importance)
    expected = round_plainly(weight, 4, group, importance)
    assert found.zero_points is not None and expected.zero_points is not None
    differ = (found.scales != expected.scales) | (found.zero_points != expected.zero_points)
    # Grids whose errors differ by the order of a sum alone may change places, and no others.
    assert int(differ.sum()) <= 1
    errors = (errors_of(each, weight, importance) for each in (found, expected))
    torch.testing.assert_close(*errors, rtol=1e-6, atol=0)
    is_same = ~differ.repeat_interleave(group, 1)
    assert torch.equal(found.values[is_same], expected.values[is_same])


@SETS
@pytest.mark.parametrize("dtype", DTYPES)
def test_eight_bits_are_those_of_torch(name: str, dtype: torch.dtype) -> None:
    weight = random_weights(61, 333, dtype)
    with forced_set(name):
        found = round_weight(weight, 8, 333)
    expected = round_plainly(weight, 8, 333)
    assert torch.equal(found.values, expected.values)
    assert torch.equal(found.scales, expected.scales)


@SETS
def test_weights_that_are_no_numbers_leave_other_groups(name: str) -> None:
    weight = random_weights(61, 128, torch.float32)
    expected = round_plainly(weight, 4, 64)
    weight[0, 5] = torch.nan
    weight[9, 70] = torch.inf
    weight[11, 64:] = 1e-39  # a scale whose reciprocal overflows
    with forced_set(name):
        found = round_weight(weight, 4, 64)
    is_left = torch.ones(61, 2, dtype=torch.bool)
    is_left[0, 0] = is_left[9, 1] = is_left[11, 1] = False
    assert torch.equal(found.scales[is_left], expected.scales[is_left])
    assert torch.equal(found.values[is_left.repeat_interleave(64, 1)],
                       expected.values[is_left.repeat_interleave(64, 1)])  # fmt: skip
    assert int(found.values.min()) >= -8 and int(found.values.max()) <= 7
