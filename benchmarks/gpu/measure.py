"""All runs of one model shape in this process; each figure is written as soon as it is known."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from benchmarks.gpu import runs
from benchmarks.gpu.attention_timing import Steps
from benchmarks.gpu.http_load import Bursts
from benchmarks.gpu.results import Results
from benchmarks.gpu.shapes import write_shape
from benchmarks.gpu.trace import trace
from yaie.base.settings import EngineConfig
from yaie.engine.core import EngineCore


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of the runs."""

    batches: tuple[int, ...]
    shared: int
    context: int
    steps: int
    prompt: int
    sequences: int
    shortest: int
    longest: int
    settings: dict[str, Any]  # of the engine
    attention: tuple[str, ...]  # shapes whose layers are checked and timed
    timed: Steps
    bursts: Bursts


SCALES = {
    # The offline batch is that of nano-vllm's and mini-sglang's benchmarks.
    "full": Scale(
        *((1, 16, 64, 256), 896, 1024, 48, 2048, 256, 100, 1024, {}),
        attention=("qwen3-0.6b", "llama-3.1-8b"),
        timed=Steps((1, 16, 64, 256), 896, 128),
        bursts=Bursts((1, 64, 256), 896, 128, 128),
    ),
    "tiny": Scale(
        *((1, 4), 48, 64, 4, 96, 6, 4, 12, {"num_slots": 4096}),
        attention=("tiny",),
        timed=Steps((2,), 12, 4),
        bursts=Bursts((1, 4), 48, 16, 8),
    ),
}


def measure(results: Results, shape: str, scale: Scale, models: Path) -> None:
    """Load the shape on the device, run everything, and append lines of results.

    Of a quantized shape, such as "tiny+int4", unshared decode steps and prompts are timed.
    """
    device: Literal["cuda", "cpu"] = "cuda" if results.device.type == "cuda" else "cpu"
    plain, _, quantization = shape.partition("+")
    settings = {"max_running": max(scale.batches), **scale.settings}
    if quantization:  # random weights gain nothing by calibration
        calibrate = "none" if quantization == "int4" else None
        settings |= {"quantization": quantization, "calibrate": calibrate}
    loaded: list[EngineCore] = []

    def start() -> dict[str, Any]:
        began = time.perf_counter()
        folder = write_shape(models, plain)
        written = time.perf_counter()
        loaded.append(EngineCore(EngineConfig(model=str(folder), device=device, **settings)))
        seconds = {"write_s": written - began, "load_s": time.perf_counter() - written}
        return {key: round(value, 1) for key, value in seconds.items()} | _info(loaded[0])

    results.add("start", shape, start)
    for core in loaded:
        _measure_core(results, shape, core, scale, is_quantized=bool(quantization))
        core.close()


def _info(core: EngineCore) -> dict[str, Any]:
    info = core.info
    return {
        "attention_backend": info.attention_backend,
        "execution": info.execution,
        "num_slots": info.num_slots,
        "parameters": info.num_parameters,
        "weight_bytes": core.executor.loaded.metadata.weight_bytes,
        "graph_sizes": list(info.graph_sizes),
        "graph_capture_s": info.graph_capture_s,
        "graph_bytes": info.graph_bytes,
    }


def _measure_core(
    results: Results, shape: str, core: EngineCore, scale: Scale, *, is_quantized: bool
) -> None:
    own = scale.context - scale.shared
    for batch in scale.batches:
        decode = partial(runs.decode, core, batch, steps=scale.steps)
        results.add("decode", shape, partial(decode, shared=0, own=scale.context))
        if batch > 1 and not is_quantized:
            results.add("decode", shape, partial(decode, shared=scale.shared, own=own))
    results.add("prefill", shape, partial(runs.prefill, core, scale.prompt, 5))
    if is_quantized:
        return
    lengths = scale.sequences, scale.shortest, scale.longest
    results.add("offline", shape, partial(runs.offline, core, *lengths))
    if results.device.type == "cuda":
        for batch in scale.batches:
            profile = partial(runs.traced, core, batch, scale.context, partial(trace, steps=5))
            results.add("trace", shape, profile, batch=batch)
