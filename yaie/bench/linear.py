"""How fast linear layers are at each number of rows, against what this machine can read.

`python -m yaie.bench.linear` prints JSON: for each kind of packed weights the bytes of weights read
a second and the multiplications and additions a second, medians over turns. The layers of a pool
larger than the caches take turns, so that weights come from memory as they do in a step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from typing import Any

import torch
from torch import nn

from yaie.bench.machine import describe_machine
from yaie.kernels import loader as kernels
from yaie.kernels.decoder import SET, Linear
from yaie.kernels.loader import Library
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.weights import QuantizedLinear
from yaie.models.rewrites.packing import Packer
from yaie.models.rewrites.structure import LinearParts

KINDS = ("bfloat16", "int8", "int4")
ROWS = (1, 2, 4, 8, 16, 32, 64, 256, 1024)
POOL_BYTES = 400 * 2**20  # of bf16 weights: more than caches hold


def measure_linear(
    *, outputs: int, inputs: int, threads: int, repeats: int, rows: tuple[int, ...] = ROWS
) -> dict[str, Any]:
    """Measure each kind at each number of rows. Raises RuntimeError without a kernel library."""
    library = kernels.load()
    if library is None:
        raise RuntimeError(f"no kernel library: {kernels.status().reason}")
    library.threads = threads
    layers = max(2, POOL_BYTES // (outputs * inputs * 2))
    packer = Packer(library, torch.bfloat16)
    packed = {kind: [_pack(packer, kind, outputs, inputs) for _ in range(layers)] for kind in KINDS}
    results = []
    for count in rows:
        turns: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(repeats):
            for kind in KINDS:
                turns[kind].append(_seconds(library, packed[kind], count))
        for kind in KINDS:
            seconds = statistics.median(turns[kind])
            weights = outputs * inputs
            nbytes = weights * {"bfloat16": 2.0, "int8": 1.0, "int4": 0.5 + 4 / 64}[kind]
            results.append({
                "kind": kind,
                "rows": count,
                "microseconds": round(seconds * 1e6, 1),
                "weights_gb_s": round(nbytes / seconds / 1e9, 1),
                "gop_s": round(2 * weights * count / seconds / 1e9, 1),
            })  # fmt: skip
    return {
        "machine": describe_machine(),
        "instruction_set": library.instruction_set,
        "threads": threads,
        "shape": [outputs, inputs],
        "results": results,
    }


def _pack(packer: Packer, kind: str, outputs: int, inputs: int) -> Linear:
    plain = nn.Linear(inputs, outputs, bias=False, dtype=torch.bfloat16).requires_grad_(False)
    if kind == "bfloat16":
        return packer.pack(LinearParts((plain,)))
    return packer.pack(LinearParts((QuantizedLinear(quantize_weight(plain.weight, kind), None),)))


def _seconds(library: Library, layers: list[Linear], rows: int) -> float:
    """Of one layer, at least 20 ms of them."""
    x = torch.randn(rows, layers[0].num_inputs)
    y = torch.empty(rows, layers[0].num_outputs)
    done, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < 0.02 or done < 2:
        library.linear(layers[done % len(layers)], x.data_ptr(), rows, y.data_ptr(), SET, 0.0)
        done += 1
    return elapsed / done


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, default=6144)
    parser.add_argument("--inputs", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    figures = measure_linear(
        outputs=args.outputs, inputs=args.inputs, threads=args.threads, repeats=args.repeats
    )
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
