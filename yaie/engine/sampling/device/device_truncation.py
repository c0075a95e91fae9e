"""Device truncation: min_p, top_k and top_p for many rows at once, by bisection.

Shapes are fixed, and the host never waits.

The twin of `yaie.engine.sampling.truncation`, which sorts. Scaled logits are at most 0, so the bits
of their absolute values, read as integers, are ordered by likelihood. A threshold is found bit by
bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

_LAST_KEY = 0x7F800000  # the key of minus infinity
_NUM_ROUNDS = 31  # bisection steps over all keys


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for each row in a launch; a flag is False if the limit is off for all rows."""

    least: Tensor  # float32 [rows]: scaled logits below are dropped first; -inf for min_p off
    num_kept: Tensor  # int64 [rows]: top_k; the size of the vocabulary for off
    shares: Tensor  # float64 [rows]: top_p; infinite for off
    has_min_p: bool
    has_top_k: bool
    has_top_p: bool


class RowTruncation(Protocol):
    """Truncation for many rows on a device. It launches work, and waits for nothing."""

    name: str  # as in `EngineInfo.truncation_kernel`
    # True if limits that are off for a row cost it nothing: one program serves all random rows.
    skips_rows: bool

    def truncate(self, scaled: Tensor, spare: Tensor, limits: Limits) -> None:
        """Set the logits that the limits drop to minus infinity, in place.

        scaled: float32 [rows, vocab], contiguous; the largest of each row is 0. spare: memory in
        the same shape, which is overwritten.
        """


class PlainTruncation:
    """Truncation by hundreds of torch operations. Implements `RowTruncation`."""

    name = "torch"
    skips_rows = False

    def truncate(self, scaled: Tensor, spare: Tensor, limits: Limits) -> None:
        """See `RowTruncation.truncate`."""
        if limits.has_min_p:
            apply_min_p(scaled, limits.least)
        if limits.has_top_k:
            apply_top_k(scaled, limits.num_kept)
        if limits.has_top_p:
            apply_top_p(scaled, limits.shares)


def apply_min_p(scaled: Tensor, least: Tensor) -> None:
    """Drop the logits of `scaled` [rows, vocab] below `least` [rows], in place."""
    scaled.masked_fill_(scaled < least[:, None], -math.inf)


def apply_top_k(scaled: Tensor, num_kept: Tensor) -> None:
    """Keep the `num_kept` [rows] most likely tokens, lower ids first among equals, in place.

    scaled: [rows, vocab]; the largest of each row is 0.
    """
    keys = _keys(scaled)
    last = _bisect(keys, lambda within: within.sum(dim=-1) >= num_kept)
    room = num_kept - (keys < last[:, None]).sum(dim=-1)
    _keep(scaled, keys, last, room)


def apply_top_p(scaled: Tensor, shares: Tensor) -> None:
    """Keep the most likely tokens that reach `shares` [rows] of the weights, in place.

    shares: float64; infinite keeps all. scaled: [rows, vocab]; the largest of each row is 0.
    """
    keys = _keys(scaled)
    weights = scaled.exp()
    targets = shares * weights.sum(dim=-1, dtype=torch.float64)

    def mass(within: Tensor) -> Tensor:
        return torch.where(within, weights, 0.0).sum(dim=-1, dtype=torch.float64)

    last = _bisect(keys, lambda within: mass(within) >= targets)
    missing = targets - mass(keys < last[:, None])
    # All tokens with the last key have the same weight.
    weight = (-last.view(torch.float32)).exp().double()
    _keep(scaled, keys, last, _count_to(missing, weight))


def _keys(scaled: Tensor) -> Tensor:
    return scaled.abs().view(torch.int32)


def _bisect(keys: Tensor, is_enough: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the least key [rows] up to which the tokens are enough; the last if none is."""
    low = torch.zeros_like(keys[:, 0])
    high = torch.full_like(low, _LAST_KEY)
    for _ in range(_NUM_ROUNDS):
        middle = low + (high - low) // 2
        enough = is_enough(keys <= middle[:, None])
        high = torch.where(enough, middle, high)
        low = torch.where(enough, low, middle + 1)
    return high


def _count_to(missing: Tensor, weight: Tensor) -> Tensor:
    """Return how often a weight is added to reach `missing`, at least 1; int64."""
    count = (missing / weight).ceil()
    # The quotient is rounded; products near an integer decide.
    count = torch.where((count - 1) * weight >= missing, count - 1, count)
    count = torch.where(count * weight < missing, count + 1, count)
    return count.nan_to_num(nan=1.0).clamp(min=1, max=2**31).long()


def _keep(scaled: Tensor, keys: Tensor, last: Tensor, room: Tensor) -> None:
    """Keep the keys below `last` and the first `room` keys equal to it."""
    tied = keys == last[:, None]
    number = tied.cumsum(dim=-1, dtype=torch.int32)
    cut = (keys > last[:, None]) | (tied & (number > room[:, None]))
    scaled.masked_fill_(cut, -math.inf)
