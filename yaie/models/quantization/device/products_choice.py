"""The choice of the products for a device."""

from __future__ import annotations

import logging
from functools import cache

import torch

from yaie.models.quantization.device.plain import PlainProducts
from yaie.models.quantization.device.products import Products

log = logging.getLogger(__name__)

LEAST_CAPABILITY = (8, 0)  # of tensor cores for bfloat16


def choose_products(device: torch.device) -> Products:
    """Return Triton's products on a CUDA device that can run them, else those of torch."""
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
    from yaie.attention.tree_decode.installed import obstacle

    if capability < LEAST_CAPABILITY:
        return f"the device has compute capability {capability[0]}.{capability[1]}, below 8.0"
    return obstacle()


@cache
def _warn(reason: str) -> None:
    log.warning("quantized weights are dequantized in each step, several times slower: %s", reason)
