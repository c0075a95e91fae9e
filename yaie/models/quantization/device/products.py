"""The product of rows with quantized weights, as a protocol."""

from __future__ import annotations

from typing import Protocol

import torch

from yaie.models.quantization.device.device_weights import DeviceWeight


class Products(Protocol):
    """A way to multiply with a device's weights. Waits for nothing; a graph can capture it."""

    name: str

    def multiply(
        self,
        rows: torch.Tensor,
        weight: DeviceWeight,
        bias: torch.Tensor | None,
        output: torch.Tensor,
    ) -> None:
        """Write rows W^T + bias to the output.

        rows: [rows, inputs], with elements in sequence; output: [rows, outputs] of their dtype,
        which may be columns of a wider tensor.
        """
