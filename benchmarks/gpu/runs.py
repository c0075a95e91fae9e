"""Timed runs of one engine core: decode steps, prompts, and a batch of mixed lengths."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from yaie.base.stats import EngineStats
from yaie.base.types import GenerationRequest, SamplingParams
from yaie.engine.core import EngineCore

_WARM_UP_STEPS = 8
_names = itertools.count()


class SequenceEnded(RuntimeError):
    """A sequence of a run ended early, so that the run has no figure."""


def decode(core: EngineCore, batch: int, shared: int, own: int, steps: int) -> dict[str, Any]:
    """Time `steps` decode steps of `batch` sequences with `shared` + `own` tokens of prompt each.

    Returns tokens a second, milliseconds of the median step, the scheduler's share of a step, and
    the chosen methods of attention with their estimate.
    """
    room = steps + 2 * _WARM_UP_STEPS
    times = []
    with _added(core, _prompts(core, batch, shared, own), [room] * batch):
        _step_until_decoding(core, batch)
        before = core.stats
        for _ in range(steps):
            _synchronize(core)
            began = time.perf_counter()
            _step(core)
            _synchronize(core)
            times.append(time.perf_counter() - began)
        after = core.stats
    read = after.kv_tokens_read - before.kv_tokens_read
    return {
        "batch": batch,
        "shared": shared,
        "own": own,
        "steps": steps,
        "tokens_per_s": round(batch / statistics.median(times), 1),
        "step_ms": round(1e3 * statistics.median(times), 3),
        "scheduler_share": round(
            (after.schedule_s - before.schedule_s) / (after.step_s - before.step_s), 4
        ),
        "keys_unshared_over_read": round(
            (after.kv_tokens_unshared - before.kv_tokens_unshared) / max(1, read), 3
        ),
        **attention_choices(after.since(before)),
    }


def attention_choices(stats: EngineStats) -> dict[str, Any]:
    """Return the steps by method of attention, and the estimated milliseconds a step.

    Nothing for a backend that does not choose.
    """
    steps = {
        "decode": stats.num_flashinfer_decode_steps,
        "cascade": stats.num_flashinfer_cascade_steps,
        "tree": stats.num_tree_decode_steps,
    }
    chosen = {method: number for method, number in steps.items() if number}
    if not chosen:
        return {}
    estimate_ms = 1e3 * stats.attention_estimate_s / sum(chosen.values())
    return {"attention_steps": chosen, "attention_estimate_ms": round(estimate_ms, 4)}


def prefill(core: EngineCore, tokens: int, repeats: int) -> dict[str, Any]:
    """Time single prompts of `tokens` new tokens up to their first token."""
    times = []
    for _ in range(repeats + 1):  # the first is a warm-up
        with _added(core, _prompts(core, 1, 0, tokens), [1]):
            _synchronize(core)
            began = time.perf_counter()
            while core.has_work:
                _step(core)
            _synchronize(core)
            times.append(time.perf_counter() - began)
    median = statistics.median(times[1:])
    return {
        "tokens": tokens,
        "tokens_per_s": round(tokens / median, 1),
        "ms": round(1e3 * median, 2),
    }


def offline(core: EngineCore, sequences: int, shortest: int, longest: int) -> dict[str, Any]:
    """Time a batch whose prompts and answers have random lengths, all present at the start."""
    rng = np.random.default_rng(0)
    prompt_lengths, output_lengths = rng.integers(shortest, longest + 1, (2, sequences))
    prompts = [_prompts(core, 1, 0, int(length))[0] for length in prompt_lengths]
    before = core.stats
    _synchronize(core)
    began = time.perf_counter()
    with _added(core, prompts, [int(length) for length in output_lengths]):
        while core.has_work:
            _step(core)
        _synchronize(core)
        elapsed = time.perf_counter() - began
    after = core.stats
    return {
        "sequences": sequences,
        "lengths": [shortest, longest],
        "output_tokens": int(output_lengths.sum()),
        "output_tokens_per_s": round(int(output_lengths.sum()) / elapsed, 1),
        "seconds": round(elapsed, 2),
        "steps": after.num_steps - before.num_steps,
        "preemptions": after.num_preemptions - before.num_preemptions,
    }


def traced(core: EngineCore, batch: int, own: int, run: Callable[[Callable[[], None]], Any]) -> Any:
    """Call `run` with a function that computes one decode step of `batch` sequences."""
    with _added(core, _prompts(core, batch, 0, own), [own] * batch):
        _step_until_decoding(core, batch)
        return run(lambda: _step(core))


def _prompts(core: EngineCore, batch: int, shared: int, own: int) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(next(_names))  # every run has tokens of its own
    low, high = 3, core.info.vocab_size
    head = rng.integers(low, high, shared).tolist()
    return [(*head, *rng.integers(low, high, own).tolist()) for _ in range(batch)]


@contextmanager
def _added(core: EngineCore, prompts: list[tuple[int, ...]], lengths: list[int]) -> Iterator[None]:
    """Add a sequence for each prompt; at the end abort those that are left."""
    names = [f"gpu-{next(_names)}" for _ in prompts]
    try:
        for name, prompt, length in zip(names, prompts, lengths, strict=True):
            sampling = SamplingParams(max_tokens=length, temperature=0.0, ignore_eos=True)
            core.add(GenerationRequest(request_id=name, prompt_token_ids=prompt, sampling=sampling))
        yield
    finally:
        for name in names:
            core.abort(name)
        core.step()  # reports the aborted ones


def _step_until_decoding(core: EngineCore, batch: int) -> None:
    """Step until every sequence has its first token, and some steps more."""
    started = core.stats.num_started + batch
    while core.stats.num_started < started:
        if not core.has_work:
            raise SequenceEnded(
                f"{started - core.stats.num_started} of {batch} sequences have no first token, "
                "and the engine has no work left; its log has the reason"
            )
        _step(core)
    for _ in range(_WARM_UP_STEPS):
        _step(core)


def _step(core: EngineCore) -> None:
    """Compute a step. Raises `SequenceEnded` if it ended a sequence before its last token."""
    ended = [delta for delta in core.step() if delta.finish_reason not in (None, "length")]
    if ended:
        failures = {each.error.message if each.error else each.finish_reason for each in ended}
        raise SequenceEnded(f"{len(ended)} sequences ended early: {', '.join(map(str, failures))}")


def _synchronize(core: EngineCore) -> None:
    if core.executor.loaded.device.type == "cuda":
        torch.cuda.synchronize()
