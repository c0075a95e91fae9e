"""Inverse-CDF sampling for many rows at once, in torch, without waiting for the device."""

from __future__ import annotations

import torch
from torch import Tensor

LEAST_TEMPERATURE = 1e-20  # temperatures below this make no difference in float32

_BLOCK = 256  # tokens whose weights are summed before the running sum: one pass instead of two


def inverse_cdf(weights: Tensor, uniforms: Tensor) -> Tensor:
    """Return the first token [rows] whose running sum of `weights` exceeds its share of the total.

    Sums are taken over blocks in float64, then inside the one block that matters. It reads the
    vocabulary once and avoids a running sum over all of it.
    """
    num_rows, vocab_size = weights.shape
    padding = -vocab_size % _BLOCK
    blocks = torch.nn.functional.pad(weights, (0, padding)) if padding else weights
    blocks = blocks.view(num_rows, -1, _BLOCK)
    sums = blocks.sum(dim=-1, dtype=torch.float64)
    running = sums.cumsum(dim=-1)
    target = uniforms.unsqueeze(1) * running[:, -1:]
    block = _first_above(running, target, sums)
    before = running.gather(1, block) - sums.gather(1, block)
    inside = blocks[torch.arange(num_rows, device=weights.device), block.squeeze(1)].double()
    offset = _first_above(inside.cumsum(dim=-1), target - before, inside)
    return (block * _BLOCK + offset).squeeze(1).clamp(max=vocab_size - 1)


def _first_above(running: Tensor, target: Tensor, parts: Tensor) -> Tensor:
    """Return the index [rows, 1] of the first running sum above target, never at zero weight."""
    length = running.shape[1]
    first = (running <= target).sum(dim=-1, keepdim=True)
    # Rounding may put the target at or beyond the last sum: then take the last index with weight.
    positions = torch.arange(length, device=running.device)
    last = torch.where(parts > 0, positions, 0).amax(dim=-1, keepdim=True)
    return torch.minimum(first, last)
