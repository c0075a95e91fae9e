"""Memory profile: sizes the pool on a GPU by running the largest step.

Before the weights are read, the plan uses estimates (`yaie.models.load.memory_plan`). On a GPU the
largest step that the settings allow then runs once over a small pool, and the real pool takes the
remaining memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch

from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import Segment
from yaie.base.errors import NotEnoughMemory
from yaie.base.settings import EngineConfig
from yaie.base.types import MIN_PROMPT_LOGITS
from yaie.device.available_memory import is_out_of_memory, release_unused
from yaie.engine.execution.decode_graphs import MOST_ROWS
from yaie.engine.execution.executor import Executor
from yaie.engine.sampling.device.device_sampler import sampling_bytes
from yaie.models.adapters.adapter_folders import estimate_adapters
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load.memory_plan import fit_to_pool, format_size, plan_memory
from yaie.process.progress import report

log = logging.getLogger(__name__)


class MemoryMeter(Protocol):
    """A device's memory measurements, in bytes."""

    def free(self) -> int:
        """Return the memory that can still be allocated."""

    def peak(self, run: Callable[[], object]) -> int:
        """Return the memory that `run` takes at its peak, beyond what is taken now."""


class CudaMeter:
    """A CUDA device's memory, as torch's allocator takes it."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def free(self) -> int:
        """See `MemoryMeter.free`."""
        release_unused(self._device)
        free: int = torch.cuda.mem_get_info(self._device)[0]
        return free

    def peak(self, run: Callable[[], object]) -> int:
        """See `MemoryMeter.peak`. Reserved memory counts: fragments in it are lost to the pool."""
        release_unused(self._device)
        before = torch.cuda.memory_reserved(self._device)
        torch.cuda.reset_peak_memory_stats(self._device)
        run()
        torch.cuda.synchronize(self._device)
        return torch.cuda.max_memory_reserved(self._device) - before


def size_pool(
    loaded: LoadedModel,
    config: EngineConfig,
    make_executor: Callable[[LoadedModel], Executor],
    meter: MemoryMeter,
    adapter_bytes: int = 0,
) -> LoadedModel:
    """Return the model with the number of slots that the largest step leaves memory for.

    `make_executor` allocates the model's pool and returns its executor. `adapter_bytes`: pools of
    adapters, allocated already; with 0 an adapter takes memory when it is loaded. Raises
    `NotEnoughMemory` with the setting to change and the value that fits.
    """
    report("measuring the largest step")
    step = _largest_step(loaded, config, make_executor, meter, adapter_bytes)
    metadata = loaded.metadata
    num_captured = min(config.max_running, MOST_ROWS, config.max_step_rows)
    vocab = loaded.vocab_size
    captured = step * num_captured // config.max_step_rows + 4 * num_captured * vocab
    free = meter.free() + metadata.weight_bytes + adapter_bytes
    plan = plan_memory(
        free=min(free, config.memory_bytes or free),
        weights=metadata.weight_bytes,
        activations=step + captured + sampling_bytes(config.max_running, vocab),
        kv_bytes_per_token=metadata.kv_bytes_per_token,
        context_len=metadata.context_len,
        num_slots=config.num_slots,
        device=loaded.device.type,
        adapters=adapter_bytes or estimate_adapters(config.lora),
    )
    log.info("the largest step takes %s: %s", format_size(step), plan)
    max_model_len = fit_to_pool(config, metadata.context_len, plan)
    return replace(
        loaded,
        num_slots=plan.num_slots,
        max_model_len=max_model_len,
        memory_bytes=plan.nbytes,
    )


def _largest_step(
    loaded: LoadedModel,
    config: EngineConfig,
    make_executor: Callable[[LoadedModel], Executor],
    meter: MemoryMeter,
    adapter_bytes: int,
) -> int:
    """Return the peak memory of a step with `max_step_rows` rows.

    Raises `NotEnoughMemory` if there is none: with the largest that fits: half, a quarter ... that
    fits.
    """
    wanted = rows = config.max_step_rows
    weights = format_size(loaded.metadata.weight_bytes)
    while rows:
        peak = _try_step(loaded, rows, config.max_running, make_executor, meter)
        if peak is not None and rows == wanted:
            return peak
        if peak is not None:
            raise NotEnoughMemory(
                f"a step of max_step_rows {wanted} rows does not fit into the memory left by the "
                f"weights ({weights}); use --max-step-rows {rows}",
                param="max_step_rows",
            )
        rows //= 2
    if adapter_bytes:
        raise NotEnoughMemory(
            f"the weights ({weights}) and the pools of adapters ({format_size(adapter_bytes)}) "
            "leave no memory for a step of one token; use a smaller --max-loras",
            param="max_loras",
        )
    raise NotEnoughMemory(
        f"the weights ({weights}) leave no memory for a step of one token; use a smaller or "
        f"quantized model, or free memory"
    )


def _try_step(
    loaded: LoadedModel,
    rows: int,
    max_running: int,
    make_executor: Callable[[LoadedModel], Executor],
    meter: MemoryMeter,
) -> int | None:
    """Return the peak memory of a step with `rows` rows; None if it runs out of memory."""
    try:
        executor = make_executor(replace(loaded, num_slots=rows))
        plan = largest_plan(rows, loaded.max_model_len, max_running + MIN_PROMPT_LOGITS)
        return meter.peak(lambda: executor.execute(plan))
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return None
    finally:
        release_unused(loaded.device)


def largest_plan(num_rows: int, max_len: int, num_logits: int) -> StepPlan:
    """Return a step with prompts up to `max_len` tokens long, `num_rows` rows in all.

    The last `num_logits` rows yield logits. Slots are those from 0 on.
    """
    every = np.arange(num_rows, dtype=np.int64)
    segments = tuple(
        Segment(every[first : first + max_len], 0, first, min(first + max_len, num_rows), level=0)
        for first in range(0, num_rows, max_len)
    )
    return StepPlan(
        token_ids=np.zeros(num_rows, dtype=np.int64),
        positions=every % max_len,
        slots=every,
        written_rows=every,
        logit_rows=every[max(0, num_rows - num_logits) :],
        segments=segments,
        kv_tokens_read=num_rows,
        kv_tokens_unshared=num_rows,
    )
