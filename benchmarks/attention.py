"""Speed of the attention backends against the machine's read and multiply limits.

`python -m benchmarks.attention` prints JSON. All backends take turns on the same tensors, layer by
layer of a pool larger than the caches; every figure is a median over the turns. The same run
measures the limits. SDPA is torch's own attention, called for each sequence. Then the best backend
decodes over a long shared prefix from pools of several dtypes.

`--sets vnni,amx` compares instruction sets instead, in one process and in turns; YAIE_KERNELS=all
compiles every one.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from yaie.attention.backend import AttentionBackend, PreparedStep
from yaie.attention.cpu import CpuBackend
from yaie.attention.plan import Segment, StepPlan
from yaie.attention.registry import choose_backend
from yaie.attention.spec import AttentionSpec
from yaie.base.errors import ConfigError
from yaie.bench.machine import describe_machine
from yaie.kernels import library_search
from yaie.kvcache.int8_rows import StoredRows, store
from yaie.kvcache.pool import KVPool, LayerShape

# A layer of Qwen3-0.6B.
SPEC = AttentionSpec(
    layer=0, num_heads=16, num_kv_heads=8, key_width=128, value_width=128, scale=128**-0.5
)
POOL_BYTES = 512 * 2**20  # over all layers: larger than the caches
VOCABULARY = 1024  # ids below every model's vocabulary
LEAST_TURN_S = 0.02  # shorter turns are repeated layers within a turn


Layer = tuple[StoredRows, StoredRows]  # keys and values


@dataclass(frozen=True, slots=True)
class Limits:
    """Peak rates of this machine: summing a large tensor, and a large float32 product."""

    read_gb_s: float
    fp32_gemm_gflop_s: float


@dataclass(frozen=True, slots=True)
class Workload:
    """`sequences` read a shared prefix and then their own tokens; the last `rows` are new."""

    name: str
    sequences: int
    shared: int
    own: int
    rows: int

    @property
    def length(self) -> int:
        """Tokens of one sequence."""
        return self.shared + self.own

    @property
    def num_slots(self) -> int:
        """Distinct tokens."""
        return self.shared + self.sequences * self.own

    def slots_of(self, sequence: int) -> range:
        """Return the slots of a sequence's own tokens."""
        first = self.shared + sequence * self.own
        return range(first, first + self.own)

    def plan(self) -> StepPlan:
        """Return the step that computes the new rows of all sequences."""
        count = self.sequences * self.rows
        own = [np.array(self.slots_of(index), dtype=np.int64) for index in range(self.sequences)]
        segments = [
            Segment(
                slots, self.shared, index * self.rows, (index + 1) * self.rows, int(self.shared > 0)
            )
            for index, slots in enumerate(own)
        ]
        if self.shared:
            segments.insert(0, Segment(np.arange(self.shared, dtype=np.int64), 0, 0, count, 0))
        every = np.arange(count, dtype=np.int64)
        return StepPlan(
            token_ids=every % VOCABULARY,
            positions=np.tile(np.arange(self.length - self.rows, self.length), self.sequences),
            slots=np.concatenate([slots[-self.rows :] for slots in own]),
            written_rows=every,
            logit_rows=every,
            segments=tuple(segments),
            kv_tokens_read=self.num_slots,
            kv_tokens_unshared=self.sequences * self.length,
        )

    def operations(self, spec: AttentionSpec) -> int:
        """Return the operations of all visible pairs of a row and a key."""
        pairs = self.rows * (self.length - self.rows) + self.rows * (self.rows + 1) // 2
        width = spec.key_width + spec.value_width
        return 2 * self.sequences * pairs * spec.num_heads * width

    def bytes_read(self, spec: AttentionSpec, dtype: torch.dtype) -> int:
        """Return the bytes of keys and values of all distinct tokens."""
        shape = LayerShape(spec.num_kv_heads, spec.key_width, spec.value_width)
        return self.num_slots * shape.bytes_per_token(dtype)


WORKLOADS = (
    Workload("decode 32 below a shared 4,096", sequences=32, shared=4096, own=64, rows=1),
    Workload("decode 1 at 8,192", sequences=1, shared=0, own=8192, rows=1),
    Workload("decode 32 apart at 512", sequences=32, shared=0, own=512, rows=1),
    Workload("prefill 2,048", sequences=1, shared=0, own=2048, rows=2048),
)

DECODING = tuple(
    Workload(f"decode {rows} below a shared 8,192", sequences=rows, shared=8192, own=1, rows=1)
    for rows in (1, 8, 32)
)
POOL_DTYPES = (torch.bfloat16, torch.int8)

# Many query vectors over the same keys, and few.
COMPARED = (
    Workload("prefill 512", sequences=1, shared=0, own=512, rows=512),
    Workload("prefill 1,024", sequences=1, shared=0, own=1024, rows=1024),
    Workload("prefill 64 below a shared 1,024", sequences=1, shared=1024, own=64, rows=64),
    *(
        Workload(f"decode {rows} below a shared {keys:,}", rows, keys, own=1, rows=1)
        for keys in (3584, 8192)
        for rows in (16, 32)
    ),
    Workload("decode 4 below a shared 8,192", sequences=4, shared=8192, own=1, rows=1),
    Workload("decode 1 at 8,192", sequences=1, shared=0, own=8192, rows=1),
)


def measure_attention(
    *, threads: int, repeats: int, dtype: torch.dtype = torch.bfloat16
) -> dict[str, Any]:
    """Measure every workload with every backend; seconds are those of one layer."""
    torch.set_num_threads(threads)
    backends = {"reference": choose_backend(torch.device("cpu"), "reference")}
    best = choose_backend(torch.device("cpu"))
    backends[best.name] = best
    loaded = library_search.load()
    limits = _limits()
    return {
        "benchmark": "attention",
        "machine": describe_machine() | {"threads": threads},
        "kernels": library_search.status().reason,
        "instruction_set": loaded.instruction_set if loaded else None,
        "layer": dataclasses.asdict(SPEC),
        "dtype": str(dtype).removeprefix("torch."),
        "repeats": repeats,
        "limits": dataclasses.asdict(limits),
        "workloads": [
            _measure(workload, backends, dtype, repeats, limits) for workload in WORKLOADS
        ],
        "pool_dtypes": [_compare_pools(workload, best, repeats, limits) for workload in DECODING],
    }


def compare_instruction_sets(
    names: Sequence[str], *, threads: int, repeats: int, dtype: torch.dtype = torch.bfloat16
) -> dict[str, Any]:
    """Measure the same work with several instruction sets; queries are float32, as in whole
    decoders.

    Raises ConfigError for an unavailable set.
    """
    torch.set_num_threads(threads)
    library = library_search.load()
    if library is None:
        raise ConfigError(library_search.status().reason)
    backend, usual = CpuBackend(library, threads), library.instruction_set
    try:
        results = [_compare_sets(each, names, backend, dtype, repeats) for each in COMPARED]
    finally:
        library.use_instruction_set(usual)
    return {
        "benchmark": "attention by instruction set",
        "machine": describe_machine() | {"threads": threads},
        "layer": dataclasses.asdict(SPEC),
        "pool_dtype": str(dtype).removeprefix("torch."),
        "repeats": repeats,
        "limits": dataclasses.asdict(_limits()),
        "workloads": results,
    }


def _compare_sets(
    workload: Workload, names: Sequence[str], backend: CpuBackend, dtype: torch.dtype, repeats: int
) -> dict[str, Any]:
    plan = workload.plan()
    queries = torch.randn(plan.num_rows, SPEC.num_heads, SPEC.key_width)
    layers = _pool(workload, dtype)

    def attending(name: str) -> Callable[[int], object]:
        attend = _attending(backend.prepare(plan, torch.device("cpu")), queries, layers)

        def run(layer: int) -> object:
            backend.kernels.use_instruction_set(name)
            return attend(layer)

        return run

    times = _take_turns({name: attending(name) for name in names}, len(layers), repeats)
    return {
        "name": workload.name,
        "milliseconds": {name: round(value * 1e3, 4) for name, value in times.items()},
        "gflop_s": {
            name: round(workload.operations(SPEC) / value / 1e9, 1) for name, value in times.items()
        },
        "gb_s": {
            name: round(workload.bytes_read(SPEC, dtype) / value / 1e9, 2)
            for name, value in times.items()
        },
        f"{names[0]}_time_over": {
            name: round(times[names[0]] / times[name], 2) for name in names[1:]
        },
    }


def _measure(
    workload: Workload,
    backends: dict[str, AttentionBackend],
    dtype: torch.dtype,
    repeats: int,
    limits: Limits,
) -> dict[str, Any]:
    plan = workload.plan()
    layers = _pool(workload, dtype)
    shape = (plan.num_rows, SPEC.num_heads, SPEC.key_width)
    queries = torch.randn(shape).to(dtype)
    run: dict[str, Callable[[int], object]] = {}
    for name, backend in backends.items():
        run[name] = _attending(backend.prepare(plan, torch.device("cpu")), queries, layers)
    run["sdpa"] = lambda layer: _sdpa(workload, queries, *layers[layer])  # type: ignore[arg-type]
    times = _take_turns(run, len(layers), repeats)
    best = next(name for name in reversed(run) if name != "sdpa")
    seconds = times[best]
    read = workload.bytes_read(SPEC, dtype) / seconds / 1e9
    multiplied = workload.operations(SPEC) / seconds / 1e9
    return {
        "name": workload.name,
        "kv_tokens": workload.num_slots,
        "kv_tokens_unshared": plan.kv_tokens_unshared,
        "milliseconds": {name: round(value * 1e3, 4) for name, value in times.items()},
        "gb_s": round(read, 2),
        "share_of_read_limit": round(read / limits.read_gb_s, 3),
        "gflop_s": round(multiplied, 1),
        "share_of_multiply_limit": round(multiplied / limits.fp32_gemm_gflop_s, 3),
        "times_faster_than": {
            name: round(value / seconds, 2) for name, value in times.items() if name != best
        },
    }


def _compare_pools(
    workload: Workload, backend: AttentionBackend, repeats: int, limits: Limits
) -> dict[str, Any]:
    """Measure the same rows over pools of each dtype, with float32 queries as in whole decoders."""
    plan = workload.plan()
    step = backend.prepare(plan, torch.device("cpu"))
    queries = torch.randn(plan.num_rows, SPEC.num_heads, SPEC.key_width)
    pools = {str(dtype).removeprefix("torch."): _pool(workload, dtype) for dtype in POOL_DTYPES}
    run = {name: _attending(step, queries, layers) for name, layers in pools.items()}
    times = _take_turns(run, min(len(layers) for layers in pools.values()), repeats)
    read = {
        name: workload.bytes_read(SPEC, dtype) / times[name] / 1e9
        for name, dtype in zip(times, POOL_DTYPES, strict=True)
    }
    first, *others = times
    return {
        "name": workload.name,
        "backend": backend.name,
        "milliseconds": {name: round(value * 1e3, 4) for name, value in times.items()},
        "share_of_read_limit": {
            name: round(value / limits.read_gb_s, 3) for name, value in read.items()
        },
        f"{first}_time_over": {name: round(times[first] / times[name], 2) for name in others},
    }


def _attending(
    step: PreparedStep, queries: torch.Tensor, layers: list[Layer]
) -> Callable[[int], object]:
    return lambda layer: step.attend(SPEC, queries, *layers[layer], None)


def _pool(workload: Workload, dtype: torch.dtype) -> list[Layer]:
    size = workload.bytes_read(SPEC, dtype)
    heads, width = SPEC.num_kv_heads, SPEC.key_width
    num_layers = max(2, min(24, POOL_BYTES // size))
    shape = LayerShape(heads, width, width)
    pool = KVPool([shape] * num_layers, workload.num_slots, dtype, torch.device("cpu"))
    keys, values = (torch.randn(workload.num_slots, heads, width) for _ in range(2))
    layers = [(pool.keys(layer), pool.values(layer)) for layer in range(num_layers)]
    for held_keys, held_values in layers:
        store(held_keys, slice(None), keys)
        store(held_values, slice(None), values)
    return layers


def _take_turns(
    run: dict[str, Callable[[int], object]], num_layers: int, repeats: int
) -> dict[str, float]:
    """Return each candidate's median seconds of one layer, all interleaved."""
    layers_in_turn = {}
    for name, once in run.items():
        once(0)
        seconds = _seconds(partial(once, 1))
        layers_in_turn[name] = max(1, min(num_layers, round(LEAST_TURN_S / seconds)))
    found: dict[str, list[float]] = {name: [] for name in run}
    layers = itertools.cycle(range(num_layers))
    for _ in range(repeats):
        for name, once in run.items():
            turn = [next(layers) for _ in range(layers_in_turn[name])]
            began = time.perf_counter()
            for layer in turn:
                once(layer)
            found[name].append((time.perf_counter() - began) / len(turn))
    return {name: statistics.median(values) for name, values in found.items()}


def _sdpa(
    workload: Workload, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> list[torch.Tensor]:
    """Attend each sequence over its own copy of its keys, as in an engine without sharing."""
    results = []
    for index in range(workload.sequences):
        rows = queries[index * workload.rows : (index + 1) * workload.rows]
        # The copy is not measured: any keys of that number cost the same.
        first = min(workload.slots_of(index).start, workload.num_slots - workload.length)
        part = slice(max(0, first), max(0, first) + workload.length)
        results.append(
            torch.nn.functional.scaled_dot_product_attention(
                rows.transpose(0, 1)[None],
                keys[part].transpose(0, 1)[None],
                values[part].transpose(0, 1)[None],
                is_causal=workload.rows > 1,
                enable_gqa=True,
            )
        )
    return results


def _limits() -> Limits:
    large = torch.ones(64 * 2**20)
    read = min(_seconds(large.sum) for _ in range(9))
    square = torch.randn(1536, 1536)
    multiply = min(_seconds(partial(torch.mm, square, square)) for _ in range(9))
    return Limits(round(large.nbytes / read / 1e9, 1), round(2 * 1536**3 / multiply / 1e9, 1))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = argparse.ArgumentParser(description="Attention backends against the machine's limits.")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--dtype", choices=("bfloat16", "float32", "float16"), default="bfloat16")
    parser.add_argument("--sets", help="instruction sets to compare, with commas between them")
    options = parser.parse_args()
    measure: Callable[..., dict[str, Any]] = measure_attention
    if options.sets:
        measure = partial(compare_instruction_sets, options.sets.split(","))
    with torch.inference_mode():
        report = measure(
            threads=options.threads, repeats=options.repeats, dtype=getattr(torch, options.dtype)
        )
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
