"""Deltas: the report of one step about one sequence. Pure; used by the scheduler."""

from __future__ import annotations

from collections.abc import Sequence as List

from yaie.base.errors import request_error
from yaie.base.types import FinishReason, TokenDelta
from yaie.engine.request import Sequence
from yaie.engine.scheduled_step import SampledToken


def make_delta(
    sequence: Sequence,
    sampled: SampledToken | None,
    forced: List[int] = (),
    reason: FinishReason | None = None,
    *,
    now: float = 0.0,
    stop_token_id: int | None = None,
    error: Exception | None = None,
    first: bool = False,
) -> TokenDelta:
    """Return the delta of a sampled token with the forced ones after it, of an end, or of both.

    The last delta, with a `reason`, carries the timings up to `now`; the first one of sequence 0
    carries the log-probabilities of the prompt.
    """
    request = sequence.request
    logprobs = sampled.logprobs if sampled else None
    prompt_logprobs = request.prompt_logprobs if first and sequence.index == 0 else None
    return TokenDelta(
        request_id=request.request_id,
        submission=request.submission,
        index=sequence.index,
        token_ids=(sampled.token_id, *forced) if sampled else (),
        logprobs=(logprobs,) if logprobs else (),
        finish_reason=reason,
        stop_token_id=stop_token_id,
        error=request_error(error) if error else None,
        num_cached_tokens=request.num_cached or 0,
        prompt_logprobs=(None, *prompt_logprobs) if prompt_logprobs is not None else None,
        timings=sequence.timings(now) if reason else None,
    )
