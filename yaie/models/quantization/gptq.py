"""GPTQ: rounds weights to 4 bits by the inputs that a layer reads.

Inputs' weights are rounded one after another, the largest inputs first. Weights not yet rounded
compensate each error as far as the inputs are correlated. Frantar et al., "GPTQ: Accurate
Post-Training Quantization for Generative Pre-trained Transformers" (2022). Grids are chosen before,
so groups consist of neighbours in spite of the order. Called by the calibration.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from yaie.models.quantization.quantize import grouping, quantize_weight
from yaie.models.quantization.quantized_weights import QuantizedWeight
from yaie.models.quantization.weight_rounding import Grid, round_weight

# Dtype and share of the mean square that is added to each input's, until the factors exist.
_DAMPINGS = (
    (torch.float32, 0.05),
    (torch.float64, 0.05),
    (torch.float64, 0.2),
    (torch.float64, 1.0),
)
_SQUARES_DAMPING = 0.01  # the same share, of squares without correlations
FACTOR_BYTES = 48  # per element of a Gram matrix, to order and factorize it in float64
WEIGHT_BYTES = 24  # per weight that is rounded, in several copies
# Narrower layers are rounded by one thread: their thousands of short operations each end in a
# barrier, which on a busy machine took 10 times as long as the operation.
_LEAST_SHARED_OUTPUTS = 8192
_BLOCK = 64  # inputs per correction of the remaining weights


@dataclass(frozen=True, slots=True)
class InputStatistics:
    """A layer's input correlation, factorized in the order of mean squares."""

    order: torch.Tensor  # int64 [inputs]: the input with the largest mean square first
    lower: torch.Tensor  # L of the damped Gram matrix L L^T, float32 [inputs, inputs]
    upper: torch.Tensor  # U, where the inverse is U^T U, float32 [inputs, inputs]

    @property
    def importance(self) -> torch.Tensor:
        """Each input's mean square, up to a factor. [inputs]."""
        squares = self.lower.square().sum(1)
        return torch.empty_like(squares).index_copy_(0, self.order, squares)


def factorize(gram: torch.Tensor) -> InputStatistics:
    """Factorize the Gram matrix X^T X [inputs, inputs] for finite inputs X.

    Inputs without a square, and correlations between inputs, are damped.
    """
    mean = float(gram.diagonal().double().mean())
    order = gram.diagonal().argsort(descending=True, stable=True)
    for dtype, share in _DAMPINGS:
        damped = gram[order][:, order].to(dtype)
        damped.diagonal().add_(share * mean if mean > 0 else 1.0)
        lower, is_indefinite = torch.linalg.cholesky_ex(damped)
        if is_indefinite:
            continue
        upper, is_indefinite = torch.linalg.cholesky_ex(torch.cholesky_inverse(lower), upper=True)
        if not is_indefinite and bool(torch.isfinite(upper).all()):
            return InputStatistics(order, lower.float(), upper.float())
    raise ArithmeticError(f"the products of {len(gram)} inputs have no positive definite sum")


def round_by_inputs(weight: torch.Tensor, statistics: InputStatistics) -> QuantizedWeight:
    """Round weights [outputs, inputs] to int4, with the least output error.

    Groups are as in `quantize_weight`, and no output's error is larger than there. Raises
    `ValueError` for a number of inputs that int4 leaves at 8 bits.
    """
    with _few_threads(len(weight)):
        nearest = quantize_weight(weight, "int4")
    if nearest.bits != 4 or nearest.zero_points is None:
        raise ValueError(f"{weight.shape[1]} inputs have no groups of 4 bits")
    with _few_threads(len(weight)):
        values, grid, error = _round_in_turn(weight.detach(), statistics, nearest.group_size)
    difference = nearest.dequantize(torch.float32).sub_(weight)[:, statistics.order]
    is_worse = (error > (difference @ statistics.lower).square_().sum(1))[:, None]
    return QuantizedWeight(
        bits=4,
        values=torch.where(is_worse, nearest.values, values),
        scales=torch.where(is_worse, nearest.scales, grid.scales.T),
        zero_points=torch.where(is_worse, nearest.zero_points, grid.points.T.to(torch.int8)),
    )


def round_by_squares(weight: torch.Tensor, squares: torch.Tensor) -> QuantizedWeight:
    """Round weights [outputs, inputs] to the grids with the least output error.

    squares: each input's sum of squares; inputs are taken as uncorrelated. Raises `ValueError` for
    a number of inputs that int4 leaves at 8 bits.
    """
    bits, group_size = grouping(weight.shape[1], "int4")
    if bits != 4:
        raise ValueError(f"{weight.shape[1]} inputs have no groups of 4 bits")
    mean = float(squares.double().mean())
    importance = squares + (_SQUARES_DAMPING * mean if mean > 0 else 1.0)
    with _few_threads(len(weight)):
        return round_weight(weight, 4, group_size, importance)


@contextmanager
def _few_threads(outputs: int) -> Iterator[None]:
    before = torch.get_num_threads()
    if outputs < _LEAST_SHARED_OUTPUTS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _round_in_turn(
    weight: torch.Tensor, statistics: InputStatistics, group_size: int
) -> tuple[torch.Tensor, Grid, torch.Tensor]:
    """Round weights [outputs, inputs] input by input.

    Returns values [outputs, inputs], the grids [groups, outputs], and each output's error.
    """
    order, upper = statistics.order, statistics.upper
    chosen = round_weight(weight, 4, group_size, statistics.importance)
    assert chosen.zero_points is not None
    grids = Grid(chosen.scales.T.contiguous(), chosen.zero_points.T.float().contiguous())
    left = weight.T.float()[order]  # a copy, which corrections change
    groups = (order // group_size).tolist()
    values = torch.empty_like(left, dtype=torch.int8)
    error = torch.zeros_like(left[0])
    for first in range(0, len(left), _BLOCK):
        last = min(first + _BLOCK, len(left))
        block, factors = left[first:last], upper[first:last, first:last]
        errors = torch.empty_like(block)
        for place, group in enumerate(groups[first:last]):
            grid = Grid(grids.scales[group], grids.points[group])
            row = torch.addmv(block[place], errors[:place].T, factors[:place, place], alpha=-1)
            rounded = grid.values(row)
            values[first + place] = rounded
            errors[place] = row.sub_(grid.weights(rounded)).div_(factors[place, place])
        left[last:].addmm_(upper[first:last, last:].T, errors, alpha=-1)
        error += errors.square_().sum(0)
    in_place = torch.empty_like(values).index_copy_(0, order, values)
    return in_place.T.contiguous(), grids, error
