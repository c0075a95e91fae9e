"""Warm-up: computes a first answer and a batch before any caller waits.

First steps are slow: libraries load code, allocators grow, kernels are compiled. The warm-up spends
that time before the first request. It leaves the engine's state alone: it runs on a separate core
around the same model.
"""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING

from yaie.base.errors import StartupError
from yaie.base.types import EngineInfo, GenerationRequest, SamplingParams
from yaie.engine.loop import EngineLoop

if TYPE_CHECKING:
    from yaie.engine.core import EngineCore

PROMPT_TOKENS = 16
SHARED_TOKENS = 8  # shared with the first prompt: a hit, and attention in two levels
BATCH = 4
NEW_TOKENS = 3  # one from the prompt's step, one of a planned step, one of an extended step


def warm_up(trial: EngineCore) -> float:
    """Answer one prompt, then a batch, on a core without other requests; return the seconds.

    Raises `StartupError` if a request fails.
    """
    began = time.perf_counter()
    for batch in batches(trial.info):
        try:
            reason = _run(EngineLoop(trial), batch)
        except Exception as error:
            raise _make_error(f"{type(error).__name__}: {error}") from error
        if reason is not None:
            raise _make_error(reason)
    if (graphs := trial.executor.graphs) is not None:
        graphs.num_replayed = 0  # the engine counts from its first request
    return time.perf_counter() - began


def _run(loop: EngineLoop, batch: list[GenerationRequest]) -> str | None:
    """Answer a batch; return the first error's message."""
    for request in batch:
        loop.submit(request)
    while loop.has_work:
        for delta in loop.step():
            if delta.error is not None:
                return delta.error.message
    return None


def _make_error(reason: str) -> StartupError:
    return StartupError(f"the warm-up failed: {reason}; --no-warmup starts without it")


def batches(info: EngineInfo) -> list[list[GenerationRequest]]:
    """Return batches of requests, cut to the engine's context and `max_running`."""
    new = min(NEW_TOKENS, max(1, info.max_model_len - 1))
    length = max(1, min(PROMPT_TOKENS, info.max_model_len - new))
    random = Random(0)
    how, ranking = info.embedding, info.ranking
    pooling = how.pooling if how is not None and not how.generates else None
    if ranking is not None and not ranking.generates:
        pooling = "score"

    def request(number: int, start: tuple[int, ...]) -> GenerationRequest:
        rest = length - len(start)
        own = tuple(random.randrange(info.vocab_size) for _ in range(rest))
        is_drawn = bool(number % 2)  # greedy and drawn tokens take different paths
        return GenerationRequest(
            request_id=f"warm-up-{number}",
            prompt_token_ids=start + own,
            sampling=SamplingParams(
                temperature=0.8 if is_drawn else 0.0,
                top_p=0.9 if is_drawn else 1.0,
                seed=0,
                max_tokens=new,
                ignore_eos=True,
            ),
            pooling=pooling,
        )

    first = request(0, ())
    shared = first.prompt_token_ids[: min(SHARED_TOKENS, length - 1)]
    size = min(BATCH, info.max_running)
    return [[first], [request(number, shared) for number in range(1, size + 1)]]
