"""The blocks of a launch, one after another; warps of a block meet at its barriers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tests.ptx.memory import Memory, shared_memory
from tests.ptx.program import Program
from tests.ptx.warp import Warp


def run(
    program: Program,
    grid: tuple[int, int, int],
    arguments: Sequence[int | float],
    memory: Memory,
    *,
    num_warps: int,
    shared_bytes: int,
) -> None:
    """Run all blocks. Pointers are addresses in `memory`, which refuses all others.

    Raises `MemoryFault` for an invalid access, `AssertionError` for unsupported code.
    """
    parameters = dict(zip(program.parameters, arguments, strict=True))
    for z, y, x in itertools.product(*(range(size) for size in reversed(grid))):
        shared = shared_memory(shared_bytes)
        warps = [
            Warp(
                program,
                parameters,
                memory,
                shared,
                warp=index,
                block=(x, y, z),
                grid=grid,
                num_warps=num_warps,
            )
            for index in range(num_warps)
        ]
        at_barrier = True
        while at_barrier:
            stops = {warp.run() for warp in warps}
            assert len(stops) == 1, "some warps wait at a barrier that others never reach"
            at_barrier = stops.pop()
