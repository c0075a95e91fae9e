"""Product tiles: chooses a product's tile sizes by its shape. Imports neither torch nor Triton.

A decode step reads each weight for few rows: many small tiles, and a cut along the inputs where
they are too few for the device. A prompt's rows use each weight often: large tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

from yaie.models.quantization.device.packed_layout import PackedLayout

_PROGRAMS_OF_PROCESSOR = 2  # at least, to hide the latency of memory
_MOST_PARTS = 8
_LEAST_STEPS = 4  # per split: fewer do not fill the load pipeline


@dataclass(frozen=True, slots=True)
class ProductTile:
    """One program's block, and the input split."""

    rows: int
    outputs: int
    block: int  # bytes of a step along the inputs
    num_warps: int
    num_stages: int
    num_parts: int = 1  # splits of the inputs; their sums are added afterwards


def choose_tile(
    packing: PackedLayout,
    num_rows: int,
    num_outputs: int,
    num_processors: int,
    *,
    itemsize: int = 2,
) -> ProductTile:
    """Return the tile for a product with `num_rows` rows on a device with `num_processors`.

    itemsize: bytes per row element. Float32 products run in registers, not on tensor cores.
    """
    block = packing.block
    if itemsize == 4:
        tile = ProductTile(16 if num_rows <= 32 else 32, 32, min(block, 32), 4, 2)
    elif num_rows <= 32:
        if packing.bits == 8 and packing.num_groups > 1:  # its scales take registers
            block = min(block, 64)
        tile = ProductTile(16 if num_rows <= 16 else 32, 64, block, 4, 4)
    elif packing.is_mixed:  # a scale for each weight: more registers
        tile = ProductTile(64, 64, min(block, 32), 4, 3)
    elif num_rows <= 64:
        tile = ProductTile(64, 64, min(block, 64), 4, 4)
    else:
        # Each group has a separate sum in each step: more registers.
        outputs = 128 if packing.num_groups == 1 else 64
        tile = ProductTile(128, outputs, min(block, 64), 8, 3)
    steps = packing.width // tile.block
    programs = -(-num_rows // tile.rows) * -(-num_outputs // tile.outputs)
    parts = 1
    while (
        parts < _MOST_PARTS
        and programs * parts < _PROGRAMS_OF_PROCESSOR * num_processors
        and steps >= 2 * parts * _LEAST_STEPS
    ):
        parts *= 2
    return ProductTile(
        tile.rows, tile.outputs, tile.block, tile.num_warps, tile.num_stages, num_parts=parts
    )
