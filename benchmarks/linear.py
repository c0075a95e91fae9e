"""Speed of linear layers at each number of rows, against the machine's read bandwidth.

`python -m benchmarks.linear` prints JSON: for each kind of packed weights the bytes of weights read
and the operations per second, medians over turns, and the same for torch's bf16. The layers of a
pool larger than the caches take turns, so that weights come from memory as in a step. `--sets
amx,vnni` compares instruction sets (with YAIE_KERNELS=all). One thread is measured in processor
time, which a busy machine distorts less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from yaie.bench.machine import describe_machine
from yaie.kernels import library_search as kernels
from yaie.kernels.decoder_structures import SET, Linear
from yaie.kernels.library import Library
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.packing import Packer
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.quantized_weights import QuantizedLinear

KINDS = ("bfloat16", "int8", "int4")
ROWS = (1, 2, 4, 8, 16, 32, 64, 256, 1024)
POOL_BYTES = 400 * 2**20  # of bf16 weights: larger than the caches
TORCH = "torch"

Run = Callable[[torch.Tensor], Callable[[int], object]]  # rows -> function of a layer index


def measure_linear(
    *,
    outputs: int,
    inputs: int,
    threads: int,
    repeats: int,
    rows: tuple[int, ...] = ROWS,
    sets: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Measure each kind at each number of rows. Raises RuntimeError without a kernel library."""
    library = kernels.load()
    if library is None:
        raise RuntimeError(f"no kernel library: {kernels.status().reason}")
    library.threads = threads
    torch.set_num_threads(threads)
    layers = max(2, POOL_BYTES // (outputs * inputs * 2))
    packer = Packer(library, torch.bfloat16)
    runs: dict[tuple[str, str], Run] = {}
    sets = sets or (library.instruction_set,)
    for name in sets:
        library.use_instruction_set(name)
        for kind in KINDS:
            packed = [_pack(packer, kind, outputs, inputs) for _ in range(layers)]
            runs[name, kind] = _kernel(library, name, packed)
    runs[TORCH, "bfloat16"] = _torch(layers, outputs, inputs)
    results = []
    for count in rows:
        x = torch.randn(count, inputs)
        turns: dict[tuple[str, str], list[float]] = {key: [] for key in runs}
        for _ in range(repeats):
            for key, run in runs.items():
                turns[key].append(_seconds(run, x, time.thread_time if threads == 1 else None))
        for (name, kind), times in turns.items():
            seconds = statistics.median(times)
            weights = outputs * inputs
            nbytes = weights * {"bfloat16": 2.0, "int8": 1.0, "int4": 0.5 + 4 / 64}[kind]
            results.append({
                "set": name,
                "kind": kind,
                "rows": count,
                "microseconds": round(seconds * 1e6, 1),
                "weights_gb_s": round(nbytes / seconds / 1e9, 1),
                "gop_s": round(2 * weights * count / seconds / 1e9, 1),
            })  # fmt: skip
    return {
        "machine": describe_machine(),
        "threads": threads,
        "clock": "processor" if threads == 1 else "wall",
        "shape": [outputs, inputs],
        "results": results,
    }


def _kernel(library: Library, name: str, layers: list[Linear]) -> Run:
    def prepare(x: torch.Tensor) -> Callable[[int], object]:
        library.use_instruction_set(name)
        y = torch.ones(len(x), layers[0].num_outputs)  # touched pages

        def call(turn: int) -> None:
            layer = layers[turn % len(layers)]
            library.linear(layer, x.data_ptr(), len(x), y.data_ptr(), SET, 0.0)

        return call

    return prepare


def _torch(count: int, outputs: int, inputs: int) -> Run:
    layers = [torch.randn(outputs, inputs).bfloat16() for _ in range(count)]

    def prepare(x: torch.Tensor) -> Callable[[int], object]:
        rounded, y = x.bfloat16(), torch.ones(len(x), outputs, dtype=torch.bfloat16)
        return lambda turn: torch.mm(rounded, layers[turn % count].T, out=y)

    return prepare


def _pack(packer: Packer, kind: str, outputs: int, inputs: int) -> Linear:
    plain = nn.Linear(inputs, outputs, bias=False, dtype=torch.bfloat16).requires_grad_(False)
    if kind == "bfloat16":
        return packer.pack(LinearParts((plain,)))
    return packer.pack(LinearParts((QuantizedLinear(quantize_weight(plain.weight, kind), None),)))


def _seconds(run: Run, x: torch.Tensor, clock: Callable[[], float] | None) -> float:
    """Return the seconds of one layer, measured over at least 20 ms."""
    now = clock or time.perf_counter
    call = run(x)
    done, began = 0, now()
    while (elapsed := now() - began) < 0.02 or done < 2:
        call(done)
        done += 1
    return elapsed / done


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, default=6144)
    parser.add_argument("--inputs", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--sets", default="", help="comma-separated; default: the one in use")
    args = parser.parse_args()
    figures = measure_linear(
        outputs=args.outputs,
        inputs=args.inputs,
        threads=args.threads,
        repeats=args.repeats,
        sets=tuple(filter(None, args.sets.split(","))),
    )
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
