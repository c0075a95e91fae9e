"""Weight rounding: 4 bits with a scale and a zero point for each group, or 8 bits with a scale.

Rounded to the nearest values of a grid; 4 bits try several grids for each group. The kernel
library rounds, and torch where there is none and on other devices: the same grids in the same
order. Two grids whose errors differ by less than a sum's own error may change places.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from yaie.kernels import library_search
from yaie.kernels.attention_structures import POOL_DTYPES
from yaie.kernels.library import Library
from yaie.models.quantization.quantized_weights import QuantizedWeight, join

LEAST, MOST = -8, 7  # int4 values
_STEPS = MOST - LEAST
# Shares of a group's range: less than 1 clips the extremes and rounds other values more finely.
_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8)

_INT8_MOST = 127  # and -127: int8 is symmetric
_DTYPES = {getattr(torch, name): POOL_DTYPES[name] for name in ("float32", "bfloat16", "float16")}
ROWS_AT_ONCE = 1024  # bounds the memory of torch's intermediate float32 values


@dataclass(frozen=True, slots=True)
class Grid:
    """Groups' weights (value - point) * scale. Float32, shape [groups...]."""

    scales: torch.Tensor
    points: torch.Tensor

    def values(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the nearest values for weights [..., groups...]; float32."""
        factors = torch.where(self.scales != 0, 1 / self.scales, torch.zeros(()))
        return weights.mul(factors).round_().add_(self.points).clamp_(LEAST, MOST)

    def weights(self, values: torch.Tensor) -> torch.Tensor:
        """Return the weights for values."""
        return (values - self.points) * self.scales


def best_grid(weights: torch.Tensor, importance: torch.Tensor | None = None) -> Grid:
    """Return the grid for weights [inputs, groups...] with the least squared error.

    importance: factors on the squared errors, of a shape that broadcasts; None: all the same.
    """
    # Zero is among the values, so that the zero point has 4 bits too.
    least, most = weights.amin(0).clamp_(max=0), weights.amax(0).clamp_(min=0)
    best = Grid(torch.zeros_like(least), torch.zeros_like(least))
    least_error = torch.full_like(least, torch.inf)
    for share in _SHARES:
        # bfloat16, as stored: the values fit the stored scale.
        scales = ((most - least) * (share / _STEPS)).bfloat16().float()
        nearest = torch.where(scales != 0, -least * share / scales, torch.zeros(())).round_()
        for shift in (0, -1, 1):
            grid = Grid(scales, (nearest + shift).clamp_(0, _STEPS).add_(LEAST))
            squares = grid.weights(grid.values(weights)).sub_(weights).square_()
            error = (squares if importance is None else squares.mul_(importance)).sum(0)
            is_better = error < least_error
            best = Grid(
                torch.where(is_better, grid.scales, best.scales),
                torch.where(is_better, grid.points, best.points),
            )
            least_error = torch.minimum(error, least_error)
    return best


def round_weight(
    weight: torch.Tensor, bits: int, group: int, importance: torch.Tensor | None = None
) -> QuantizedWeight:
    """Round weights [outputs, inputs] to 4 bits in groups of inputs, or to 8 bits in one group.

    importance: float32 [inputs] factors on the squared errors of 4 bits; None: all the same.
    """
    library = library_search.load() if weight.device.type == "cpu" else None
    if library is None or weight.dtype not in _DTYPES:
        return round_plainly(weight, bits, group, importance)
    return _round_in_library(library, weight.detach().contiguous(), bits, group, importance)


def _round_in_library(
    library: Library,
    weight: torch.Tensor,
    bits: int,
    group: int,
    importance: torch.Tensor | None,
) -> QuantizedWeight:
    outputs, inputs = weight.shape
    values = torch.empty_like(weight, dtype=torch.int8)
    scales = torch.empty(outputs, inputs // group)
    points = torch.empty_like(scales, dtype=torch.int8) if bits == 4 else None
    factors = None if importance is None else importance.float().contiguous()
    library.round(
        weight.data_ptr(),
        None if factors is None else factors.data_ptr(),
        values.data_ptr(),
        scales.data_ptr(),
        None if points is None else points.data_ptr(),
        outputs,
        inputs,
        group,
        _DTYPES[weight.dtype],
    )
    return QuantizedWeight(bits, values, scales, points)


def round_plainly(
    weight: torch.Tensor, bits: int, group: int, importance: torch.Tensor | None = None
) -> QuantizedWeight:
    """Round weights like `round_weight`, in torch."""
    parts = torch.split(weight.detach(), ROWS_AT_ONCE)
    whole = join([_round_part(part, bits, group, importance) for part in parts])
    assert whole is not None  # joined parts have one format
    return whole


def _round_part(
    weight: torch.Tensor, bits: int, group: int, importance: torch.Tensor | None
) -> QuantizedWeight:
    grouped = weight.float().view(weight.shape[0], -1, group)
    if bits == 8:
        scales = grouped.abs().amax(-1) / _INT8_MOST
        inverse = torch.where(scales != 0, 1 / scales, torch.zeros(()))
        steps = (grouped * inverse[..., None]).round_().clamp_(-_INT8_MOST, _INT8_MOST)
        return QuantizedWeight(8, steps.to(torch.int8).view_as(weight), scales, None)
    by_input = grouped.movedim(-1, 0)
    factors = None if importance is None else importance.view(1, -1, group).movedim(-1, 0)
    grid = best_grid(by_input, factors)
    values = grid.values(by_input).to(torch.int8).movedim(0, -1)
    return QuantizedWeight(4, values.reshape_as(weight), grid.scales, grid.points.to(torch.int8))
