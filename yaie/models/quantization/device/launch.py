"""Product launches: arguments, launches and buffers of the Triton kernels."""

from __future__ import annotations

from functools import cache

import torch
import triton

from yaie.models.quantization.device.device_weights import DeviceWeight
from yaie.models.quantization.device.kernels import add_parts, multiply_rows
from yaie.models.quantization.device.product_tiles import ProductTile, choose_tile

_ADDED_BLOCK = 1024
_PROCESSORS_WITHOUT_A_DEVICE = 132  # an H100 or H200 has 132


class TritonProducts:
    """Products by one launch, or by two where the inputs are cut. Implements `Products`."""

    name = "triton"

    def multiply(
        self,
        rows: torch.Tensor,
        weight: DeviceWeight,
        bias: torch.Tensor | None,
        output: torch.Tensor,
    ) -> None:
        """See `Products.multiply`."""
        count, num_outputs = len(rows), weight.num_outputs
        if not count:
            return
        tile = choose_tile(
            weight.packing,
            count,
            num_outputs,
            _num_processors(rows.device),
            itemsize=rows.itemsize,
        )
        if tile.num_parts == 1:
            _launch(rows, weight, bias, output, tile)
            return
        shape = (tile.num_parts, count, num_outputs)
        parts = torch.empty(shape, dtype=torch.float32, device=rows.device)
        _launch(rows, weight, None, parts, tile)
        block = min(_ADDED_BLOCK, triton.next_power_of_2(num_outputs))
        add_parts[(count, triton.cdiv(num_outputs, block))](
            parts,
            parts if bias is None else bias,
            output,
            num_outputs,
            parts.stride(0),
            output.stride(0),
            NUM_PARTS=tile.num_parts,
            HAS_BIAS=bias is not None,
            BLOCK=block,
            num_warps=4,
        )


def _launch(
    rows: torch.Tensor,
    weight: DeviceWeight,
    bias: torch.Tensor | None,
    output: torch.Tensor,
    tile: ProductTile,
) -> None:
    """Launch the product into the output [rows, outputs], or into splits [parts, rows, outputs]."""
    packing, points = weight.packing, weight.points
    is_part = output.dim() == 3
    grouping = "one" if packing.num_groups == 1 else "mixed" if packing.is_mixed else "block"
    steps = packing.width // tile.block
    grid = (
        triton.cdiv(len(rows), tile.rows),
        triton.cdiv(weight.num_outputs, tile.outputs),
        tile.num_parts,
    )
    multiply_rows[grid](
        rows,
        weight.values,
        weight.scales,
        weight.values if points is None else points,
        weight.values if bias is None else bias,
        output,
        len(rows),
        weight.num_outputs,
        packing.num_inputs,
        packing.width,
        packing.num_groups - 1,
        triton.cdiv(steps, tile.num_parts),
        rows.stride(0),
        weight.scales.stride(0),
        0 if points is None else points.stride(0),
        output.stride(-2),
        output.stride(0) if is_part else 0,
        KIND=weight.kind,
        GROUP=packing.group_size if packing.num_groups > 1 else 1,
        GROUPING=grouping,
        HAS_POINTS=points is not None,
        HAS_BIAS=bias is not None,
        IS_PADDED=packing.is_padded,
        IS_PART=is_part,
        BLOCK_ROWS=tile.rows,
        BLOCK_OUTPUTS=tile.outputs,
        BLOCK=tile.block,
        num_warps=tile.num_warps,
        num_stages=tile.num_stages,
    )


@cache
def _num_processors(device: torch.device) -> int:
    if device.type != "cuda":
        return _PROCESSORS_WITHOUT_A_DEVICE
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
