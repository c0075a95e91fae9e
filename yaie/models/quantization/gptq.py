"""Rounding of weights to 4 bits by the inputs that a layer reads (GPTQ).

Rounded are the inputs' weights one after another; the error of each is made up for by those not yet
rounded, as far as the inputs are correlated. Frantar et al., "GPTQ: Accurate Post-Training
Quantization for Generative Pre-trained Transformers" (2022). Called by the calibration.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from yaie.models.quantization.grid import Grid, best_grid
from yaie.models.quantization.quantize import grouping, quantize_weight
from yaie.models.quantization.weights import QuantizedWeight

# Dtype and share of the mean square that is added to each input's, until the factors exist.
_DAMPINGS = (
    (torch.float32, 0.01),
    (torch.float64, 0.01),
    (torch.float64, 0.1),
    (torch.float64, 1.0),
)
FACTOR_BYTES = 48  # per element of a Gram matrix, to factorize it in float64
WEIGHT_BYTES = 24  # per weight that is rounded, in several copies
# Narrower layers are rounded by one thread: their thousands of short operations each end in a
# barrier, which beside other work took 10 times as long as the operation.
_LEAST_SHARED_OUTPUTS = 8192


@dataclass(frozen=True, slots=True)
class InputStatistics:
    """The correlation of a layer's inputs, factorized. All float32 [inputs, inputs]."""

    lower: torch.Tensor  # L of the damped Gram matrix L L^T
    upper: torch.Tensor  # U of its inverse U^T U

    @property
    def importance(self) -> torch.Tensor:
        """Mean square of each input, up to a factor. [inputs]."""
        return self.lower.square().sum(1)


def factorize(gram: torch.Tensor) -> InputStatistics:
    """Factorize the Gram matrix X^T X [inputs, inputs] of finite inputs X.

    Inputs without a square, and correlations of inputs with each other, are damped.
    """
    mean = float(gram.diagonal().double().mean())
    for dtype, share in _DAMPINGS:
        damped = gram.to(dtype, copy=True)
        damped.diagonal().add_(share * mean if mean > 0 else 1.0)
        lower, is_indefinite = torch.linalg.cholesky_ex(damped)
        if is_indefinite:
            continue
        upper, is_indefinite = torch.linalg.cholesky_ex(torch.cholesky_inverse(lower), upper=True)
        if not is_indefinite and bool(torch.isfinite(upper).all()):
            return InputStatistics(lower.float(), upper.float())
    raise ArithmeticError(f"the products of {len(gram)} inputs have no positive definite sum")


def round_by_inputs(weight: torch.Tensor, statistics: InputStatistics) -> QuantizedWeight:
    """Round weights [outputs, inputs] to int4, for the least error of the layer's results.

    Groups are those of `quantize_weight`, and the error of each output is at most its. Raises
    `ValueError` for a number of inputs that int4 leaves at 8 bits.
    """
    with _few_threads(len(weight)):
        nearest = quantize_weight(weight, "int4")
    if nearest.bits != 4 or nearest.zero_points is None:
        raise ValueError(f"{weight.shape[1]} inputs have no groups of 4 bits")
    # A copy in any case: it is overwritten.
    left = weight.detach().T.to(torch.float32, copy=True, memory_format=torch.contiguous_format)
    with _few_threads(len(weight)):
        values, grids, error = _round_in_turn(left, statistics, nearest.group_size)
    difference = nearest.dequantize(torch.float32).sub_(weight)
    is_worse = (error > (difference @ statistics.lower).square_().sum(1))[:, None]
    points = torch.stack([grid.points for grid in grids], 1).to(torch.int8)
    return QuantizedWeight(
        bits=4,
        values=torch.where(is_worse, nearest.values, values.T).contiguous(),
        scales=torch.where(is_worse, nearest.scales, torch.stack([g.scales for g in grids], 1)),
        zero_points=torch.where(is_worse, nearest.zero_points, points),
    )


def round_by_squares(weight: torch.Tensor, squares: torch.Tensor) -> QuantizedWeight:
    """Round weights [outputs, inputs] to the grids of the least error of the layer's results.

    squares: the sum of squares of each input, which are taken as uncorrelated. Raises `ValueError`
    for a number of inputs that int4 leaves at 8 bits.
    """
    bits, group_size = grouping(weight.shape[1], "int4")
    if bits != 4:
        raise ValueError(f"{weight.shape[1]} inputs have no groups of 4 bits")
    mean = float(squares.double().mean())
    importance = squares + (_DAMPINGS[0][1] * mean if mean > 0 else 1.0)
    values, grids = [], []
    by_input = weight.detach().T
    for first in range(0, len(by_input), group_size):
        block, each = by_input[first : first + group_size], importance[first : first + group_size]
        wide = block.float().contiguous()
        with _few_threads(len(weight)):
            grids.append(best_grid(wide, each))
            values.append(grids[-1].values(wide).to(torch.int8))
    return QuantizedWeight(
        bits=4,
        values=torch.cat(values).T.contiguous(),
        scales=torch.stack([grid.scales for grid in grids], 1),
        zero_points=torch.stack([grid.points for grid in grids], 1).to(torch.int8),
    )


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
    left: torch.Tensor, statistics: InputStatistics, group_size: int
) -> tuple[torch.Tensor, list[Grid], torch.Tensor]:
    """Round weights [inputs, outputs], which are overwritten, input by input.

    Returns values, the grid of each group, and the error of each output's results.
    """
    upper, importance = statistics.upper, statistics.importance
    values = torch.empty_like(left, dtype=torch.int8)
    grids, error = [], torch.zeros_like(left[0])
    for first in range(0, len(left), group_size):
        last = first + group_size
        block, factors = left[first:last], upper[first:last, first:last]
        grid = best_grid(block, importance[first:last])  # of weights corrected so far
        errors = torch.empty_like(block)
        for place in range(group_size):
            row = torch.addmv(block[place], errors[:place].T, factors[:place, place], alpha=-1)
            rounded = grid.values(row)
            values[first + place] = rounded
            errors[place] = row.sub_(grid.weights(rounded)).div_(factors[place, place])
        left[last:].addmm_(upper[first:last, last:].T, errors, alpha=-1)
        error += errors.square_().sum(0)
        grids.append(grid)
    return values, grids, error
