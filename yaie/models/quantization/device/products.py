"""Products of rows with quantized weights: protocol, torch implementation, and choice."""

from __future__ import annotations

import logging
from functools import cache
from typing import Protocol

import torch
from torch.nn.functional import linear

from yaie.device.gpu_packages import check_triton
from yaie.models.quantization.device.device_weights import DeviceWeight

log = logging.getLogger(__name__)

LEAST_CAPABILITY = (8, 0)  # has bfloat16 tensor cores

CHUNK = 16 * 1024**2  # weights dequantized per chunk
CHUNK_BYTES = 12 * CHUNK  # their peak: float32 values and products, and the rounded result


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

        rows: [rows, inputs], with elements in sequence; output: [rows, outputs] in their dtype,
        which may be columns of a wider tensor.
        """


class PlainProducts:
    """Products with weights rounded to the rows' dtype. Implements `Products`."""

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


def choose_products(device: torch.device) -> Products:
    """Return Triton's products on a CUDA device that can run them, else torch's."""
    if device.type != "cuda":
        return PlainProducts()
    reason = why_plain(torch.cuda.get_device_capability(device))
    if reason is None:
        from yaie.models.quantization.device.launch import TritonProducts

        return TritonProducts()
    _warn(reason)
    return PlainProducts()


def why_plain(capability: tuple[int, int]) -> str | None:
    """Return why a CUDA device multiplies by torch; None if Triton's kernels serve it."""
    if capability < LEAST_CAPABILITY:
        return f"the device has compute capability {capability[0]}.{capability[1]}, below 8.0"
    return check_triton()


@cache
def _warn(reason: str) -> None:
    log.warning("quantized weights are dequantized in each step, several times slower: %s", reason)
