"""Grids of 4-bit weights: the scale and the zero point of each group of inputs."""

from __future__ import annotations

from dataclasses import dataclass

import torch

LEAST, MOST = -8, 7  # of the values
_STEPS = MOST - LEAST
# Shares of a group's range: less than all of it clips the extremes, to the others' benefit.
_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8)


@dataclass(frozen=True, slots=True)
class Grid:
    """The weights (value - point) * scale of groups. Float32, of the shape [groups...]."""

    scales: torch.Tensor
    points: torch.Tensor

    def values(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the nearest values of weights [..., groups...]; float32."""
        factors = torch.where(self.scales != 0, 1 / self.scales, torch.zeros(()))
        return weights.mul(factors).round_().add_(self.points).clamp_(LEAST, MOST)

    def weights(self, values: torch.Tensor) -> torch.Tensor:
        """Return the weights of values."""
        return (values - self.points) * self.scales


def best_grid(weights: torch.Tensor, importance: torch.Tensor | None = None) -> Grid:
    """Return the grid of weights [inputs, groups...] with the least squared error.

    importance: [inputs] factors of the squared errors; None: all the same.
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
            error = squares.sum(0) if importance is None else torch.mv(squares.T, importance)
            is_better = error < least_error
            best = Grid(
                torch.where(is_better, grid.scales, best.scales),
                torch.where(is_better, grid.points, best.points),
            )
            least_error = torch.minimum(error, least_error)
    return best
