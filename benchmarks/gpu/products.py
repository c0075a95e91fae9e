"""Times of single products with quantized weights, beside torch's in bfloat16.

Calls are captured in one graph, so that launches cost nothing, and go through copies of the weights
that no cache holds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn.functional import linear

from benchmarks.gpu.clock import seconds_of
from benchmarks.gpu.results import Results
from yaie.models.quantization.device.device_weights import pack
from yaie.models.quantization.device.products import choose_products
from yaie.models.quantization.quantized_weights import QuantizedWeight

# Outputs and inputs of an 8B Llama's layers: query, key and value; output; gate and up; down.
LAYERS = ((6144, 4096), (4096, 4096), (28_672, 4096), (4096, 14_336))
TINY_LAYERS = ((48, 64),)
ROWS = (1, 16, 64, 256, 2048)
GROUPS = {"int8": None, "int4": 64, "fp8": 128}  # inputs of a scale; None: all
_HELD_BYTES = 256 * 1024**2  # of copies: beyond the caches of any card
_MOST_COPIES = 32


def measure_products(results: Results, *, is_tiny: bool) -> None:
    """Append microseconds of every kind, layer and number of rows, and the weights' GB/s."""
    for outputs, inputs in TINY_LAYERS if is_tiny else LAYERS:
        for rows in ROWS[:2] if is_tiny else ROWS:
            x = torch.randn(rows, inputs, dtype=torch.bfloat16, device=results.device)
            for weights in ("bfloat16", *GROUPS):
                time_one = partial(_time, weights, outputs, inputs, x)
                shape = f"{outputs} x {inputs}"
                results.add("product", shape, time_one, weights=weights, rows=rows)


def _time(weights: str, outputs: int, inputs: int, x: torch.Tensor) -> dict[str, Any]:
    calls, nbytes = _calls(weights, outputs, inputs, x)

    def run() -> None:
        for call in calls:
            call()

    seconds = seconds_of(run, x.device) / len(calls)
    return {"us": round(1e6 * seconds, 2), "gb_per_s": round(nbytes / seconds / 1e9, 1)}


def _calls(
    weights: str, outputs: int, inputs: int, x: torch.Tensor
) -> tuple[list[Callable[[], object]], int]:
    """Return one call for each copy of a layer's weights, and the bytes of a copy."""
    if weights == "bfloat16":
        plain = torch.randn(outputs, inputs, dtype=torch.bfloat16, device=x.device)
        return [
            lambda copy=copy: linear(x, copy)  # type: ignore[misc]
            for copy in _copies(plain, plain.nbytes)
        ], plain.nbytes
    packed = pack(_random_weight(weights, outputs, inputs, x.device))
    products = choose_products(x.device)
    output = torch.empty(len(x), outputs, dtype=x.dtype, device=x.device)
    calls: list[Callable[[], object]] = []
    for values in _copies(packed.values, packed.nbytes):
        copy = packed.with_values(values)
        calls.append(lambda copy=copy: products.multiply(x, copy, None, output))  # type: ignore[misc]
    return calls, packed.nbytes


def _copies(tensor: torch.Tensor, nbytes: int) -> list[torch.Tensor]:
    count = min(_MOST_COPIES, max(2, _HELD_BYTES // nbytes))
    return [tensor.clone() for _ in range(count)]


def _random_weight(kind: str, outputs: int, inputs: int, device: torch.device) -> QuantizedWeight:
    groups = inputs // min(GROUPS[kind] or inputs, inputs)
    scales = (torch.rand(outputs, groups, device=device) * 0.01).bfloat16().float()
    if kind == "fp8":
        values = torch.randn(outputs, inputs, device=device).to(torch.float8_e4m3fn)
        return QuantizedWeight(8, values, scales, None)
    bits = 4 if kind == "int4" else 8
    end = 1 << (bits - 1)
    values = torch.randint(-end, end, (outputs, inputs), dtype=torch.int8, device=device)
    points = torch.zeros(outputs, groups, dtype=torch.int8, device=device)
    return QuantizedWeight(bits, values, scales, points if kind == "int4" else None)
