"""Request validation against this engine's limits, before the queue.

`LLM` validates before it sends a request, for an early error; the engine validates again. The
server makes the same checks under the parameter names of its API.
"""

from __future__ import annotations

from yaie.base.errors import ContextLengthExceeded, InvalidRequest, as_shown
from yaie.base.model_tasks import check_generates, ranking_of
from yaie.base.types import EngineInfo, GenerationRequest


def validate_request(request: GenerationRequest, info: EngineInfo, max_running: int) -> int:
    """Return the token limit per sequence: `max_tokens`, or the rest of the context.

    Raises `InvalidRequest` or `ContextLengthExceeded` with the parameter and the limits.
    """
    prompt, sampling = request.prompt_token_ids, request.sampling
    if not isinstance(request.cache_salt, str):
        raise InvalidRequest(
            f"cache_salt must be a string, got {type(request.cache_salt).__name__}",
            param="cache_salt",
        )
    if not isinstance(request.priority, int) or not -(2**63) <= request.priority < 2**63:
        raise InvalidRequest(
            f"priority must be a 64-bit integer, got {as_shown(request.priority):.40}",
            param="priority",
        )
    if request.pooling is None:
        check_generates(info)
    if not prompt:
        raise InvalidRequest("the prompt is empty; it needs at least one token", param="prompt")
    for name, token_ids in (
        ("prompt", prompt),
        ("prediction", request.prediction),
        ("stop_token_ids", sampling.stop_token_ids),
        ("allowed_token_ids", sampling.allowed_token_ids),
        ("bad_words_token_ids", tuple(i for run in sampling.bad_words_token_ids for i in run)),
        ("logit_bias", tuple(sampling.logit_bias or ())),
    ):
        if token_ids and not (min(token_ids) >= 0 and max(token_ids) < info.vocab_size):
            wrong = next(i for i in token_ids if not 0 <= i < info.vocab_size)
            raise InvalidRequest(
                f"{name} has the token id {as_shown(wrong)}; "
                f"this model's ids are 0 to {info.vocab_size - 1}",
                param=name,
            )
    if sampling.n > max_running:
        fix = (
            "; send a smaller n, or start it with a larger --state-bytes or --max-running"
            if info.num_states
            else ""
        )
        raise InvalidRequest(
            f"n is {sampling.n}, but this server runs at most {max_running} sequences "
            f"(max_running){fix}",
            param="n",
        )
    room = info.max_model_len - len(prompt)
    if request.pooling is not None:
        return _check_pooled(room, request, info)
    if room < 1:
        raise ContextLengthExceeded(
            f"this model's maximum context length is {info.max_model_len} tokens, but the prompt "
            f"has {len(prompt)} tokens and the completion needs at least one; shorten the prompt",
            param="prompt",
        )
    if sampling.min_tokens - request.num_resumed > room:
        raise ContextLengthExceeded(
            f"this model's maximum context length is {info.max_model_len} tokens, but the prompt "
            f"has {len(prompt)} tokens and min_tokens is {sampling.min_tokens}; shorten the prompt "
            f"or lower min_tokens to {room}",
            param="min_tokens",
        )
    if request.num_resumed:
        _check_resumed(request)
    if sampling.max_tokens is None:
        return room
    return min(sampling.max_tokens - request.num_resumed, room)


def _check_pooled(room: int, request: GenerationRequest, info: EngineInfo) -> int:
    """Return 0, the tokens of a request that ends after its prompt, if its prompt fits."""
    if request.pooling == "score":
        ranking_of(info)
    if room < 0:
        raise ContextLengthExceeded(
            f"this model's maximum context length is {info.max_model_len} tokens, but the prompt "
            f"has {len(request.prompt_token_ids)} tokens; shorten it",
            param="prompt",
        )
    return 0


def _check_resumed(request: GenerationRequest) -> None:
    """Raise `InvalidRequest` unless the end of the prompt can be output to be continued."""
    sampling = request.sampling
    most = len(request.prompt_token_ids) - 1
    if sampling.max_tokens is not None:
        most = min(most, sampling.max_tokens - 1)
    if not 0 <= request.num_resumed <= most or sampling.n > 1:
        raise InvalidRequest(
            f"num_resumed is {request.num_resumed}; it must be at most {most}, with n=1",
            param="num_resumed",
        )
