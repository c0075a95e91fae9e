"""Low-rank launches: tiles, arguments and launches of the kernels that add adapters' products."""

from __future__ import annotations

import torch
import triton

from yaie.models.fused.low_rank_kernels import expand_rows, shrink_rows
from yaie.models.fused.operations import PAGE_RANKS, AdaptedRows, LowRankPool

_MOST_PARTS = 8
_LEAST_STEPS = 2  # of a split of the inputs
_ENOUGH_PROGRAMS = 256  # two for each processor of a large device


def add_low_rank(
    rows: torch.Tensor, output: torch.Tensor, pool: LowRankPool, adapted: AdaptedRows
) -> None:
    """See `FusedOperations.add_low_rank`."""
    num_blocks, num_modules = len(adapted.blocks), len(pool.sizes)
    if not num_blocks:
        return
    num_inputs, most_pages = rows.shape[1], pool.tables.pages.shape[1]
    is_wide = rows.itemsize == 4  # float32 is multiplied in registers
    is_small = adapted.block_rows <= 16 and not is_wide  # registers limit a program's block
    block = 32 if is_wide else 128 if is_small else 64
    steps = triton.cdiv(num_inputs, block)
    parts = _choose_parts(num_blocks * num_modules, steps)
    shape = (parts, len(rows), num_modules, most_pages * PAGE_RANKS)
    middle = torch.empty(shape, dtype=torch.float32, device=rows.device)
    tables = (adapted.blocks, pool.used, pool.tables.pages)
    sizes = {
        "NUM_MODULES": num_modules,
        "MOST_PAGES": most_pages,
        "RANKS": PAGE_RANKS,
        "BLOCK_ROWS": adapted.block_rows,
        "num_warps": 4,
    }
    shrink_rows[(num_blocks, num_modules, parts)](
        rows,
        pool.down,
        middle,
        *tables,
        rows.stride(0),
        num_inputs,
        triton.cdiv(steps, parts),
        middle.stride(0),
        IS_PADDED=num_inputs % block != 0,
        BLOCK=block,
        num_stages=2 if is_wide else 3,
        **sizes,
    )
    block_outputs = 128 if is_small else 64
    first, second, third = (*pool.sizes, 0, 0)[:3]
    programs = sum(triton.cdiv(size, block_outputs) for size in pool.sizes)
    expand_rows[(num_blocks, programs)](
        middle,
        pool.up,
        output,
        *tables,
        output.stride(0),
        pool.up.shape[2],
        middle.stride(0),
        FIRST_SIZE=first,
        SECOND_SIZE=second,
        THIRD_SIZE=third,
        NUM_PARTS=parts,
        BLOCK_OUTPUTS=block_outputs,
        num_stages=2,
        **sizes,
    )


def _choose_parts(num_programs: int, steps: int) -> int:
    """Return into how many splits the inputs are cut, so that a device has enough programs."""
    parts = 1
    while (
        parts < _MOST_PARTS
        and num_programs * parts < _ENOUGH_PROGRAMS
        and steps >= 2 * parts * _LEAST_STEPS
    ):
        parts *= 2
    return parts
