"""The check of the kernels that add adapters' products, before a decoder uses them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import torch

from yaie.base.errors import first_line
from yaie.models.fused.operations import (
    PAGE_RANKS,
    AdaptedRows,
    FusedOperations,
    LowRankPool,
    PageTables,
)
from yaie.models.fused.plain import PlainOperations

log = logging.getLogger(__name__)

AddLowRank = Callable[[torch.Tensor, torch.Tensor, LowRankPool, AdaptedRows], None]

_INPUTS, _SIZES = 200, (130, 48, 48)
_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.02, torch.float16: 0.004}  # of the norm


def choose_low_rank(operations: FusedOperations, like: torch.Tensor) -> AddLowRank:
    """Return the operation of a decoder's kernels, or torch's if that fails or differs.

    `like` has the weights' dtype and device.
    """
    plain = PlainOperations()
    if isinstance(operations, PlainOperations):
        return operations.add_low_rank
    try:
        error = max(_error(operations, plain, like, rows) for rows in (16, 64))
    except Exception as failed:  # Triton's: no compiler, an unknown device
        log.warning("torch adds adapters' products, slower: %s", first_line(failed))
        return plain.add_low_rank
    if not error <= _TOLERANCE[like.dtype]:  # also for a NaN
        log.warning("torch adds adapters' products, slower: the kernels are off by %.2e", error)
        return plain.add_low_rank
    return operations.add_low_rank


def _error(
    operations: FusedOperations, plain: PlainOperations, like: torch.Tensor, block_rows: int
) -> float:
    """Return the difference between both, relative to the norm."""
    rows, output, pool, adapted = example(like)
    adapted = replace(adapted, block_rows=block_rows)
    found, expected = output.clone(), output.clone()
    operations.add_low_rank(rows, found, pool, adapted)
    plain.add_low_rank(rows, expected, pool, adapted)
    is_alone = (adapted.slots < 0)[:, None]
    if not bool(((found == output) | ~is_alone).all()):
        return float("inf")
    return float((found.float() - expected.float()).norm() / expected.float().norm())


def example(like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, LowRankPool, AdaptedRows]:
    """Return rows, an output, and adapters of one and two pages, on the device of `like`."""
    random = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random).to(like.device, like.dtype)

    def integers(*rows: list[int] | int) -> torch.Tensor:
        return torch.tensor(rows, dtype=torch.int32).to(like.device)

    pool = LowRankPool(
        draw(3, len(_SIZES), PAGE_RANKS, _INPUTS),
        draw(3, PAGE_RANKS, sum(_SIZES)),
        integers([1, 1, 0], [2, 1, 2], [0, 0, 0]),
        _SIZES,
        PageTables(integers([0, 0, 0], [2, 1, 0], [0, 0, 0]), integers(0, 1, 1)),
    )
    pool.down[0, 2].zero_()
    pool.down[1, 1].zero_()  # the second page of the module that uses one
    slots = integers(-1, 0, 0, 1, 1, 1, -1)
    adapted = AdaptedRows(slots, integers([1, 2, 0], [3, 3, 1], [0, 0, 0]), 16)
    return draw(len(slots), _INPUTS), draw(len(slots), sum(_SIZES)), pool, adapted
