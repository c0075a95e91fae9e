"""Times of single products with quantized weights, beside torch's in bfloat16.

Calls are captured in one graph, so that launches cost nothing, and go through copies of the weights
that no cache holds.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import linear

from yaie.models.quantization.device.choose import choose_products
from yaie.models.quantization.device.weights import pack
from yaie.models.quantization.weights import QuantizedWeight

# Outputs and inputs of an 8B Llama's layers: query, key and value; output; gate and up; down.
LAYERS = ((6144, 4096), (4096, 4096), (28_672, 4096), (4096, 14_336))
TINY_LAYERS = ((48, 64),)
ROWS = (1, 16, 64, 256, 2048)
GROUPS = {"int8": None, "int4": 64, "fp8": 128}  # inputs of a scale; None: all
_HELD_BYTES = 256 * 1024**2  # of copies: beyond the caches of any card
_MOST_COPIES = 32
_REPEATS = 9


def measure_products(device_name: str, results: Path, *, is_tiny: bool) -> None:
    """Time every kind, layer and number of rows; append lines of JSON to `results`."""
    device = torch.device(device_name)
    for outputs, inputs in TINY_LAYERS if is_tiny else LAYERS:
        for rows in ROWS[:2] if is_tiny else ROWS:
            for line in _lines(outputs, inputs, rows, device):
                text = json.dumps({"shape": f"{outputs} x {inputs}", "kind": "product", **line})
                with results.open("a", encoding="utf-8") as file:
                    file.write(text + "\n")
                print(text, file=sys.stderr, flush=True)


def _lines(outputs: int, inputs: int, rows: int, device: torch.device) -> Iterator[dict[str, Any]]:
    """Yield microseconds and gigabytes of weights a second of each kind; an error ends a kind."""
    x = torch.randn(rows, inputs, dtype=torch.bfloat16, device=device)
    for weights in ("bfloat16", *GROUPS):
        line: dict[str, Any] = {"weights": weights, "rows": rows}
        try:
            calls, nbytes = _calls(weights, outputs, inputs, x)
            seconds = _time(calls, device) / len(calls)
            line |= {"us": round(1e6 * seconds, 2), "gb_per_s": round(nbytes / seconds / 1e9, 1)}
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"
        yield line


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


def _time(calls: list[Callable[[], object]], device: torch.device) -> float:
    """Return the median seconds of all calls, one after another."""

    def run() -> None:
        for call in calls:
            call()

    run()  # compiles
    if device.type != "cuda":
        return statistics.median(_elapsed(run, lambda: None) for _ in range(_REPEATS))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    graph.replay()
    torch.cuda.synchronize()
    return statistics.median(
        _elapsed(graph.replay, torch.cuda.synchronize) for _ in range(_REPEATS)
    )


def _elapsed(run: Callable[[], None], wait: Callable[[], None]) -> float:
    began = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - began
