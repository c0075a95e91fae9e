"""Cost of exact (batch-invariant) mode: whole steps of one model, exact and default, in turns.

`python -m benchmarks.exact --model FOLDER` prints JSON. Every figure is a median over the turns, a
ratio the median of the turns' own ratios: a slow period slows both. Steps longer than the model's
context are left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from typing import Any

import numpy as np

from benchmarks.attention import Workload
from yaie.attention.plan import StepPlan
from yaie.base.settings import EngineConfig
from yaie.bench.machine import describe_machine
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels import library_search
from yaie.models.load.loader import load_model

WORKLOADS = (
    Workload("decode 1 at 256", sequences=1, shared=0, own=256, rows=1),
    Workload("decode 1 at 8,192", sequences=1, shared=0, own=8192, rows=1),
    Workload("decode 32 apart at 256", sequences=32, shared=0, own=256, rows=1),
    Workload("decode 32 below a shared 1,024", sequences=32, shared=1024, own=64, rows=1),
    Workload("decode 32 below a shared 4,096", sequences=32, shared=4096, own=64, rows=1),
    Workload("prefill 512", sequences=1, shared=0, own=512, rows=512),
    Workload("prefill 512 behind 3,584", sequences=1, shared=3584, own=512, rows=512),
)
NUM_SLOTS = max(workload.num_slots for workload in WORKLOADS)


def measure_exact(
    model: str, *, threads: int | None, repeats: int, dtype: str = "auto"
) -> dict[str, Any]:
    """Time steps that compute the workloads' new rows, with and without `exact`."""
    config = EngineConfig(
        model=model,
        dtype=dtype,  # type: ignore[arg-type]
        device="cpu",
        num_slots=NUM_SLOTS,
        threads=threads,
    )
    usual = load_model(config)
    executors = {
        "default": choose_executor(usual),
        "exact": choose_executor(load_model(config), exact=True),
    }
    fitting = [workload for workload in WORKLOADS if workload.length <= usual.max_model_len]
    loaded = library_search.load()
    return {
        "benchmark": "exact",
        "machine": describe_machine(),
        "instruction_set": loaded.instruction_set if loaded else None,
        "threads": loaded.threads if loaded else None,
        "model": model,
        "repeats": repeats,
        "steps": [_measure(workload, executors, repeats) for workload in fitting],
    }


def _measure(workload: Workload, executors: dict[str, Executor], repeats: int) -> dict[str, Any]:
    plan = step_of(workload)
    for executor in executors.values():
        executor.execute(plan)
    turns: dict[str, list[float]] = {name: [] for name in executors}
    for turn in range(repeats):
        for name in list(executors)[:: 1 if turn % 2 else -1]:
            began = time.perf_counter()
            executors[name].execute(plan)
            turns[name].append(time.perf_counter() - began)
    ratios = [exact / usual for usual, exact in zip(turns["default"], turns["exact"], strict=True)]
    return {
        "name": workload.name,
        "rows": plan.num_rows,
        "milliseconds": {
            name: round(statistics.median(times) * 1e3, 2) for name, times in turns.items()
        },
        "ratio": round(statistics.median(ratios), 3),
    }


def step_of(workload: Workload) -> StepPlan:
    """Return a step as the engine makes it: logits for the last row of each sequence only."""
    plan = workload.plan()
    last = np.arange(workload.rows - 1, plan.num_rows, workload.rows, dtype=np.int64)
    return dataclasses.replace(plan, logit_rows=last)


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = argparse.ArgumentParser(description="Steps of a model, exact and not.")
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    report = measure_exact(
        options.model, threads=options.threads, repeats=options.repeats, dtype=options.dtype
    )
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
