"""Offline throughput on overlapping prompts, and the rows that prefix sharing saves.

Each run sends a batch twice: `cold` with new prompts, `again` with the same prompts. A warm-up
comes first; every number is the median over runs. Prompts are random token ids and answers have a
fixed length, so that each run does the same work.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from yaie.base.errors import InvalidRequest
from yaie.base.types import SamplingParams
from yaie.bench.machine import describe_machine
from yaie.bench.shared_prefix import BatchFigures, Workload, run_batch

if TYPE_CHECKING:
    from yaie.api.llm import LLM

_WARM_UP_SEED = 0


def measure_offline(
    workload: Workload, llm: LLM, *, repeats: int, note: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Run the workload `repeats` times on a loaded model and return the report.

    `note` is called with a line before each run.
    """
    info = llm.info
    if workload.longest > info.max_model_len:
        raise InvalidRequest(
            f"a request of {workload.longest} tokens exceeds the context length of "
            f"{info.max_model_len}; choose a smaller --shared-prefix, --own or --output"
        )
    sampling = SamplingParams(max_tokens=workload.output, temperature=0.0, ignore_eos=True)

    def run(seed: int) -> tuple[BatchFigures, BatchFigures]:
        prompts = workload.prompts(info.vocab_size, seed)

        def ask() -> Any:
            return llm.generate(prompts, sampling, progress=False)

        return run_batch(llm, ask)[0], run_batch(llm, ask)[0]

    note("warm-up …")
    run(_WARM_UP_SEED)
    runs = []
    for number in range(1, repeats + 1):
        note(f"run {number} of {repeats} …")
        runs.append(run(_WARM_UP_SEED + number))
    return {
        "benchmark": "offline",
        "machine": describe_machine() | {"device": info.device},
        "model": {
            "name": info.model,
            "architecture": info.architecture,
            "parameters": info.num_parameters,
            "dtype": info.dtype,
            "kv_dtype": info.kv_dtype,
            "attention_backend": info.attention_backend,
            "exact": info.exact,
            "num_slots": info.num_slots,
            "policy": info.policy,
            "max_step_rows": info.max_step_rows,
        },
        "workload": dataclasses.asdict(workload),
        "repeats": repeats,
        "cold": _medians([cold for cold, _ in runs]),
        "again": _medians([again for _, again in runs]),
    }


_FIGURES: dict[str, tuple[Callable[[BatchFigures], float], int]] = {
    "total_s": (lambda batch: batch.total_s, 4),
    "prompt_tokens_per_s": (lambda batch: batch.prompt_tokens_per_s, 1),
    "output_tokens_per_s": (lambda batch: batch.output_tokens_per_s, 1),
    "first_token_p50_s": (lambda batch: batch.first_token_percentile(50), 4),
    "first_token_p95_s": (lambda batch: batch.first_token_percentile(95), 4),
    "prompt_tokens": (lambda batch: batch.prompt_tokens, 0),
    "output_tokens": (lambda batch: batch.output_tokens, 0),
    "cached_tokens": (lambda batch: batch.cached_tokens, 0),
    "rows_computed": (lambda batch: batch.spent.rows_computed, 0),
    "prompt_rows_computed": (lambda batch: batch.spent.prompt_rows_computed, 0),
    "rows_saved": (lambda batch: batch.rows_saved, 0),
    "kv_tokens_read": (lambda batch: batch.spent.kv_tokens_read, 0),
    "kv_tokens_without_sharing": (lambda batch: batch.spent.kv_tokens_unshared, 0),
    "steps": (lambda batch: batch.spent.num_steps, 0),
    "scheduler_share_of_step": (lambda batch: batch.scheduler_share, 5),
}


def _medians(batches: list[BatchFigures]) -> dict[str, float]:
    medians = {}
    for name, (read, digits) in _FIGURES.items():
        value = statistics.median(read(batch) for batch in batches)
        medians[name] = round(value, digits) if digits else int(value)
    return medians
