"""Sampling parameters: apply the model's defaults, check values, name the client's fields."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.types import EngineInfo, SamplingParams
from yaie.server.requests.checks import check_patterns, field_name, stops
from yaie.server.requests.prompt_tokens import check_ids, context_limit, no_such_token
from yaie.server.schemas.shared_fields import GenerationBody

_GREEDY_TOP_P = 1e-9  # leaves one token
# Sampling fields in another form in a body.
_CONVERTED = {
    *("stop", "stop_regex", "stop_token_ids"),
    *("allowed_token_ids", "logit_bias", "prompt_logprobs"),
}
_PASSED_ON = tuple(
    field.name
    for field in fields(SamplingParams)
    if field.name in GenerationBody.model_fields and field.name not in _CONVERTED
)


def sampling_of(
    body: GenerationBody,
    info: EngineInfo,
    *,
    max_tokens: int | None,
    logprobs: int | None,
    prompt_logprobs: int | None = None,
) -> SamplingParams:
    """Return the sampling parameters of a body. Raises `InvalidRequest` with the client's name."""
    given = {name: getattr(body, name) for name in _PASSED_ON}
    fields: dict[str, Any] = {
        # Defaults for omitted fields: the recommendations of the model's authors.
        **info.default_sampling,
        **{name: value for name, value in given.items() if value is not None},
    }
    if (fields.get("top_k") or 0) > info.vocab_size:
        fields["top_k"] = 0  # off, since it would keep every token
    if fields.get("top_p") == 0:
        fields["top_p"] = _GREEDY_TOP_P  # allowed by OpenAI
    if (fields.get("min_tokens") or 0) > info.max_model_len:
        raise InvalidRequest(
            f"min_tokens is {body.min_tokens}, but {context_limit(info)}", param="min_tokens"
        )
    try:
        return SamplingParams(
            **fields,
            max_tokens=max_tokens,
            logprobs=logprobs,
            prompt_logprobs=prompt_logprobs,
            stop=stops(body.stop),
            stop_regex=check_patterns(body.stop_regex),
            stop_token_ids=check_ids(body.stop_token_ids, "stop_token_ids", info.vocab_size),
            allowed_token_ids=_check_allowed(body.allowed_token_ids, info.vocab_size),
            logit_bias=_logit_bias(body.logit_bias, info.vocab_size),
        )
    except InvalidRequest as error:
        renamed = field_name(error.param, body)
        if renamed == error.param or error.param is None:
            raise
        message = error.message.replace(error.param, renamed or error.param, 1)
        raise InvalidRequest(message, param=renamed) from None


def limit_tokens(
    sampling: SamplingParams,
    body: GenerationBody,
    info: EngineInfo,
    prompt_len: int,
    default: int | None = None,
) -> SamplingParams:
    """Limit an answer to `max_tokens`, or to the rest of the context if that is less.

    `default`: the operator's limit without `max_tokens`; None is the limit of the body's API.
    """
    wanted = sampling.max_tokens
    if wanted is None:
        if default is None:
            default = body.default_max_tokens
        if default is None:
            return sampling
        wanted = max(default, sampling.min_tokens)
    limit = min(wanted, max(1, info.max_model_len - prompt_len))
    return sampling if limit == sampling.max_tokens else replace(sampling, max_tokens=limit)


def _check_allowed(given: list[int] | None, vocab_size: int) -> tuple[int, ...] | None:
    if given is None:
        return None
    if not given:
        raise InvalidRequest(
            "allowed_token_ids is empty; give at least one id, or omit it",
            param="allowed_token_ids",
        )
    return check_ids(given, "allowed_token_ids", vocab_size)


def _logit_bias(given: dict[str, float] | None, vocab_size: int) -> dict[int, float] | None:
    if not given:
        return None
    biases = {}
    for key, bias in given.items():
        if not re.fullmatch(r"[0-9]{1,10}", key, re.ASCII):
            raise InvalidRequest(
                f"logit_bias keys must be token ids, got {key[:40]!r}", param="logit_bias"
            )
        if int(key) >= vocab_size:
            raise no_such_token(int(key), "logit_bias", vocab_size)
        biases[int(key)] = bias
    return biases
