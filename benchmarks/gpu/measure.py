"""All runs of one model shape in this process; each figure is written as soon as it is known."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from benchmarks.gpu import runs
from benchmarks.gpu.shapes import write_shape
from benchmarks.gpu.trace import trace
from yaie.config import EngineConfig
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


SCALES = {
    # The offline batch is that of nano-vllm's and mini-sglang's benchmarks.
    "full": Scale((1, 16, 64, 256), 896, 1024, 48, 2048, 256, 100, 1024, {}),
    "tiny": Scale((1, 4), 48, 64, 4, 96, 6, 4, 12, {"num_slots": 4096}),
}


def measure(
    shape: str, device: Literal["cuda", "cpu"], scale: Scale, models: Path, results: Path
) -> None:
    """Load the shape on the device, run everything, and append lines of JSON to `results`.

    Of a quantized shape, such as "tiny+int4", unshared decode steps and prompts are timed.
    """
    began = time.perf_counter()
    plain, _, quantization = shape.partition("+")
    folder = write_shape(models, plain)
    written = time.perf_counter()
    settings = dict(scale.settings)
    if quantization:  # random weights gain nothing by calibration
        calibrate = "none" if quantization == "int4" else None
        settings |= {"quantization": quantization, "calibrate": calibrate}
    core = EngineCore(
        EngineConfig(model=str(folder), device=device, max_running=max(scale.batches), **settings)
    )
    info = core.info

    def add(kind: str, run: Callable[[], dict[str, Any]]) -> None:
        try:
            line = {"shape": shape, "kind": kind, **run()}
        except Exception as error:  # the next figure may still be had
            line = {"shape": shape, "kind": kind, "error": f"{type(error).__name__}: {error}"}
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), file=sys.stderr, flush=True)

    add(
        "start",
        lambda: {
            "write_s": round(written - began, 1),
            "load_s": round(time.perf_counter() - written, 1),
            "attention_backend": info.attention_backend,
            "execution": info.execution,
            "num_slots": info.num_slots,
            "parameters": info.num_parameters,
            "weight_bytes": core.executor.loaded.metadata.weight_bytes,
            "graph_sizes": list(info.graph_sizes),
            "graph_capture_s": info.graph_capture_s,
            "graph_bytes": info.graph_bytes,
        },
    )
    own = scale.context - scale.shared
    for batch in scale.batches:
        add("decode", partial(runs.decode, core, batch, 0, scale.context, scale.steps))
        if batch > 1 and not quantization:
            add("decode", partial(runs.decode, core, batch, scale.shared, own, scale.steps))
    add("prefill", partial(runs.prefill, core, scale.prompt, 5))
    if device == "cuda" and not quantization:
        for batch in scale.batches:
            add("trace", partial(_trace, core, batch, scale))
    if not quantization:
        add(
            "offline",
            partial(runs.offline, core, scale.sequences, scale.shortest, scale.longest),
        )
    core.close()


def _trace(core: EngineCore, batch: int, scale: Scale) -> dict[str, Any]:
    found = runs.traced(core, batch, scale.context, partial(trace, steps=5))
    return {"batch": batch, **found}
