"""Numbers of log-probabilities, which bound what an answer holds in memory."""

from __future__ import annotations

from collections.abc import Iterable

from yaie.base.types import GenerationRequest, TokenLogprobs


def num_prompt_logprobs(requests: Iterable[GenerationRequest]) -> int:
    """Return the number of prompt log-probabilities that the requests will have."""
    return sum(
        (1 + request.sampling.prompt_logprobs) * (len(request.prompt_token_ids) - 1)
        for request in requests
        if request.sampling.prompt_logprobs is not None
    )


def num_logprobs(logprobs: Iterable[TokenLogprobs]) -> int:
    """Return the number of log-probabilities, those of alternatives included."""
    return sum(1 + len(each.top) for each in logprobs)
