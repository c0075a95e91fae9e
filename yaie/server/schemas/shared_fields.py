"""Fields shared by chat and text completions.

Types are strict: a number in quotes, or 1.5 for an integer, is refused. 8.0 is an integer, as in
JSON Schema. Null counts as omitted. `translate` checks the ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from yaie.server.schemas import unused
from yaie.server.schemas.base import Extension, Unused, Used
from yaie.server.schemas.structured import StructuredFields

LARGEST_EXACT_FLOAT = 2.0**53
MAX_LISTED = 1024  # ids, biases, or values for the chat template


def _whole_number(value: Any) -> Any:
    """Return 8 for 8.0: some languages write every number as a float."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole and abs(value) <= LARGEST_EXACT_FLOAT else value


def _short(value: Any) -> Any:
    """Refuse a long list before pydantic builds one error for each wrong entry."""
    if isinstance(value, list | dict) and len(value) > MAX_LISTED:
        raise PydanticCustomError(
            "too_long",
            "has {number} entries; at most {limit} are allowed",
            {"number": len(value), "limit": MAX_LISTED},
        )
    return value


WholeNumber = Annotated[int, BeforeValidator(_whole_number)]
Short = BeforeValidator(_short)
# Fields of responses too.
Temperature = Annotated[float | None, Used("0 to 100; 0 is greedy.", "see below", example=0.7)]
TopP = Annotated[
    float | None,
    Used("0 to 1: sample among the most likely tokens of this total.", "see below", 0.9),
]
SeveralCalls = Annotated[
    bool | None, Used("Allow several calls in one answer.", "true", example=False)
]
TEXT_OR_TEXTS = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]
}


class StreamOptions(BaseModel):
    """OpenAI's `stream_options`."""

    model_config = ConfigDict(strict=True, extra="allow")

    include_usage: Annotated[
        bool | None, Used("The usage as a last chunk.", "false", example=True)
    ] = None
    continuous_usage_stats: Annotated[
        bool | None,
        Extension("The usage so far in every chunk.", "false", example=True),
    ] = None


class GenerationBody(StructuredFields):
    """The fields of both completion endpoints."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    unused: ClassVar[Mapping[str, Unused]] = {each.name: each for each in unused.COMMON}
    # Limit without `max_tokens` and without the operator's; None is the rest of the context.
    default_max_tokens: ClassVar[int | None] = None

    n: Annotated[
        WholeNumber | None,
        Used(
            "Number of choices, 1 to 128, and at most `YAIE_MAX_RUNNING`. They share the "
            "computation of the prompt.",
            "1",
            example=2,
        ),
    ] = None
    stream: Annotated[
        bool | None, Used("Server-sent events while tokens arrive.", "false", example=True)
    ] = None
    stream_options: Annotated[
        StreamOptions | None,
        Used(
            "`include_usage`: the usage as a last chunk. `continuous_usage_stats`: also the "
            "usage so far in every chunk. Other keys are reported as ignored.",
            example={"include_usage": True},
        ),
    ] = None
    temperature: Temperature = None
    top_p: TopP = None
    presence_penalty: Annotated[
        float | None, Used("-2 to 2, subtracted once from each token of the output.", "0", 0.5)
    ] = None
    frequency_penalty: Annotated[
        float | None, Used("-2 to 2, subtracted for each use of a token in the output.", "0", 0.5)
    ] = None
    logit_bias: Annotated[
        dict[str, float] | None,
        Short,
        Used("Token id to -100 ... 100, at most 1,024.", example={"5": -100}),
    ] = None
    seed: Annotated[
        WholeNumber | None, Used("A signed 64-bit integer; see below.", "random", example=11)
    ] = None
    stop: Annotated[
        Any,
        Used(
            "A string or up to 16, of at most 1,024 characters each. Never shown, not even in "
            "part.",
            example=["tree"],
            schema=TEXT_OR_TEXTS,
        ),
    ] = None
    user: Annotated[
        str | None,
        Used(
            "On a server without API keys: the tenant, for "
            "[fair shares](../guides/scheduling.md#shares-of-tenants). With keys the key is "
            "the tenant.",
            example="someone",
        ),
    ] = None
    service_tier: Annotated[
        str | None,
        Used(
            "This server has one tier. Answers to a request with this field name it: `default`.",
            example="auto",
        ),
    ] = None

    # Beyond OpenAI's API; names as in vLLM.
    top_k: Annotated[
        WholeNumber | None,
        Extension("Sample among this many most likely tokens; 0 or -1 is off.", "see below", 5),
    ] = None
    min_p: Annotated[
        float | None,
        Extension(
            "0 to 1: least probability, relative to the most likely token.", "see below", 0.1
        ),
    ] = None
    repetition_penalty: Annotated[
        float | None,
        Extension("0.01 to 100, for tokens of prompt and output.", "see below", 1.1),
    ] = None
    min_tokens: Annotated[
        WholeNumber | None,
        Extension(
            "Least number of tokens. A stop string that is complete earlier is text.", "0", 2
        ),
    ] = None
    ignore_eos: Annotated[
        bool | None, Extension("Continue after the end token.", "false", example=True)
    ] = None
    stop_regex: Annotated[
        Any,
        Extension(
            "SGLang's: a regular expression or up to 16, of 1,024 characters together. The first "
            "match ends the answer, as a stop string does; see [stops](#stops).",
            example="pl.n",
            schema=TEXT_OR_TEXTS,
        ),
    ] = None
    stop_token_ids: Annotated[
        list[WholeNumber] | None,
        Short,
        Extension("Ids that end the answer, at most 1,024.", example=[9]),
    ] = None
    allowed_token_ids: Annotated[
        Annotated[list[WholeNumber], Field(fail_fast=True)] | None,
        Extension(
            "The only ids that may be sampled, at least one. The answer ends early only if an end "
            "token is among them, or at the end of its grammar. Text that a grammar forces "
            "against them is a 400.",
            "every id",
            example=[9],
            schema={"minItems": 1},
        ),
    ] = None
    bad_words: Annotated[
        list[str] | None,
        Short,
        Extension(
            "Up to 1,024 texts of 1 to 1,024 characters. The answer never has the tokens of one, "
            "with or without a space in front. Another division into tokens passes, as in vLLM. "
            "Text that a grammar forces against them is a 400.",
            example=["The"],
        ),
    ] = None
    skip_special_tokens: Annotated[
        bool | None, Extension("Omit special tokens from the text.", "true", example=False)
    ] = None
    include_stop_str_in_output: Annotated[
        bool | None, Extension("End the text with its stop string.", "false", example=True)
    ] = None
    truncate_prompt_tokens: Annotated[
        WholeNumber | None,
        Extension(
            "Keep this many last tokens of each prompt. -1 leaves room for `max_tokens`, or for "
            "half of the context if `max_tokens` exceeds it.",
            example=2,
        ),
    ] = None
    truncation_side: Annotated[
        str | None,
        Extension(
            "`left` cuts the start of a prompt that `truncate_prompt_tokens` shortens, `right` "
            "its end.",
            "`left`",
            example="right",
        ),
    ] = None
    return_tokens_as_token_ids: Annotated[
        bool | None,
        Extension(
            'Tokens in `logprobs` are named `"token_id:5"`, so that equal texts differ. `bytes` '
            "stay the text's bytes.",
            "false",
            example=True,
        ),
    ] = None
    prompt_logprobs: Annotated[
        WholeNumber | None,
        Extension(
            "0 to 20: `prompt_logprobs` of a chat's answer or of each choice of a text completion. "
            "Null for the first token of the prompt; for each other one a map from the ids of it "
            "and of this many most likely ones to `logprob`, `rank` and `decoded_token`. Refused "
            "in streams, as in vLLM.",
            "off",
            example=1,
        ),
    ] = None
    return_token_ids: Annotated[
        bool | None,
        Extension(
            "`token_ids` in each choice and in each chunk with tokens, and `prompt_token_ids`: at "
            "top level for a single prompt, and in each choice of a text completion (in a stream: "
            "in its first chunk).",
            "false",
            example=True,
        ),
    ] = None
    speculate: Annotated[
        bool | None,
        Extension(
            "Draft tokens of this answer, where the server does "
            "([speculative decoding](../guides/speculation.md#the-same-tokens)).",
            "true",
            example=False,
        ),
    ] = None
    cache_salt: Annotated[
        str | None,
        Extension(
            "1 to 256 characters. Only requests with the same key and salt share prefixes, so one "
            "salt per user isolates the users of a key.",
            example="a-secret",
        ),
    ] = None
    explain_cache: Annotated[
        bool | None,
        Extension(
            "Explain before the start how far the prompt is cached: `cache_explanation` in the "
            "usage, also in the last chunk of a stream. See [cache](cache-api.md).",
            "false",
            example=True,
        ),
    ] = None
    priority: Annotated[
        WholeNumber | None,
        Extension(
            "Lower runs first and is preempted last, under the policy `priority`. Reported as "
            "ignored under another policy, and below the lowest number of the API key.",
            "0",
            example=-3,
        ),
    ] = None
    request_timeout_s: Annotated[
        float | None,
        Extension(
            "Longest time of this request in seconds, above 0. A limit above the server's "
            "(`YAIE_REQUEST_TIMEOUT_S`) has no effect.",
            "the server's",
            example=30.0,
        ),
    ] = None
    queue_timeout_s: Annotated[
        float | None,
        Extension(
            "Longest wait for admission in seconds, above 0. A limit above the server's "
            "(`YAIE_QUEUE_TIMEOUT_S`) has no effect.",
            "the server's",
            example=30.0,
        ),
    ] = None
