"""Products by torch: weights are dequantized by chunks of outputs. Serves where Triton cannot."""

from __future__ import annotations

import torch
from torch.nn.functional import linear

from yaie.models.quantization.device.device_weights import DeviceWeight

CHUNK = 16 * 1024**2  # weights that are dequantized at once
CHUNK_BYTES = 12 * CHUNK  # their peak: float32 values and products, and the rounded result


class PlainProducts:
    """Products of weights rounded to the rows' dtype. Implements `Products`."""

    name = "plain"

    def multiply(
        self,
        rows: torch.Tensor,
        weight: DeviceWeight,
        bias: torch.Tensor | None,
        output: torch.Tensor,
    ) -> None:
        """See `Products.multiply`."""
        at_once = max(1, CHUNK // weight.packing.num_inputs)
        for first in range(0, weight.num_outputs, at_once):
            last = min(first + at_once, weight.num_outputs)
            wide = weight.part(first, last).dequantize(rows.dtype)
            added = None if bias is None else bias[first:last]
            output[:, first:last] = linear(rows, wide, added)
