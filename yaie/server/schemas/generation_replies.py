"""Replies of the completion endpoints, whole and as chunks of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from yaie.base.types import SamplingParams
from yaie.server.schemas.cache import UsageExplanation
from yaie.server.schemas.reply_struct import ReplyStruct

FinishReason = Literal["stop", "length", "tool_calls", "function_call", "abort"]


class CachedTokens(ReplyStruct, kw_only=True):
    """Details on the tokens of the prompt."""

    cached_tokens: int
    """Prompt tokens that were not computed for this request."""


class ReasoningTokens(ReplyStruct, kw_only=True):
    """Details on the tokens of the answer."""

    reasoning_tokens: int
    accepted_prediction_tokens: int | UnsetType = UNSET
    """Present after speculative decoding: draft tokens that are part of the answer."""
    rejected_prediction_tokens: int | UnsetType = UNSET
    """Draft tokens that are not; `completion_tokens` do not include them."""


class CompletionUsage(ReplyStruct, kw_only=True):
    """Numbers of tokens, over all choices."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens
    completion_tokens_details: ReasoningTokens | UnsetType = UNSET
    """Present if a model has thought before its answer, and after speculative decoding."""
    processing_time: float | UnsetType = UNSET
    """Seconds, in the usage of a finished request."""
    tokens_per_second: float | UnsetType = UNSET
    """Completion tokens over that time."""
    cache_explanation: UsageExplanation | UnsetType = UNSET
    """Present with `explain_cache`."""


class CalledFunction(ReplyStruct, kw_only=True):
    """Function of a tool call."""

    name: str
    arguments: str
    """JSON, as the model wrote it."""


class CalledCustom(ReplyStruct, kw_only=True):
    """Custom tool of a call."""

    name: str
    input: str


class ToolCallReply(ReplyStruct, kw_only=True):
    """Call of a tool."""

    id: str
    type: Literal["function", "custom"] = "function"
    function: CalledFunction | UnsetType = UNSET
    """Present if the type is `function`."""
    custom: CalledCustom | UnsetType = UNSET
    """Present if the type is `custom`."""


class FunctionDelta(ReplyStruct, kw_only=True):
    """Growth of a tool call's function."""

    name: str | UnsetType = UNSET
    arguments: str | UnsetType = UNSET


class CustomDelta(ReplyStruct, kw_only=True):
    """Growth of a custom tool's call."""

    name: str | UnsetType = UNSET
    input: str


class ToolCallDelta(ReplyStruct, kw_only=True):
    """Growth of a tool call; its first delta has id and name."""

    index: int
    id: str | UnsetType = UNSET
    type: Literal["function", "custom"] | UnsetType = UNSET
    function: FunctionDelta | UnsetType = UNSET
    custom: CustomDelta | UnsetType = UNSET


class TopLogprob(ReplyStruct, kw_only=True):
    """Log-probability of one token."""

    token: str
    logprob: float
    bytes: list[int]


class TokenLogprob(TopLogprob, kw_only=True):
    """Log-probability of a sampled token, with the most likely alternatives."""

    top_logprobs: list[TopLogprob]


class ChatLogprobs(ReplyStruct, kw_only=True):
    """Log-probabilities of a chat choice, one entry for each token."""

    content: list[TokenLogprob]
    refusal: None = None


class PromptLogprob(ReplyStruct, kw_only=True):
    """Log-probability of a token at one prompt position."""

    logprob: float
    rank: int
    """1 for the most likely token."""
    decoded_token: str


PromptLogprobs = list[dict[str, PromptLogprob] | None]


class AboutReply(ReplyStruct, kw_only=True):
    """Fields that every answer and every chunk begin with."""

    id: str
    created: int
    model: str
    system_fingerprint: str
    """Equal for answers of the same model, version and settings."""
    service_tier: Literal["default"] | UnsetType = UNSET
    """If the request has it."""


class WholeCompletion(AboutReply, kw_only=True):
    """Whole answer, with all choices."""

    choices: list[Any]
    usage: CompletionUsage
    prompt_token_ids: Sequence[int] | UnsetType = UNSET
    """With `return_token_ids`, for a single prompt."""


class CompletionChunk(AboutReply, kw_only=True):
    """Event of a streamed answer, with the growth of one choice."""

    choices: list[Any]
    usage: CompletionUsage | UnsetType | None = UNSET
    """In the last chunk, with `stream_options.include_usage`, or in every chunk."""
    prompt_token_ids: Sequence[int] | UnsetType = UNSET


class ChatMessage(ReplyStruct, kw_only=True):
    """Message of the assistant."""

    role: Literal["assistant"] = "assistant"
    content: str | None
    reasoning_content: str | UnsetType = UNSET
    """Thoughts before the answer, of models that have them."""
    refusal: None = None
    tool_calls: list[ToolCallReply] | UnsetType = UNSET
    function_call: CalledFunction | UnsetType = UNSET
    """In place of `tool_calls`, if the request has `functions`."""


class ChatChoice(ReplyStruct, kw_only=True):
    """One of `n` answers."""

    index: int
    message: ChatMessage
    logprobs: ChatLogprobs | None
    finish_reason: FinishReason
    stop_reason: str | int | None
    """Stop string or stop token that ended the answer."""
    tool_parse_error: str | UnsetType = UNSET
    """Reason why a tool call could not be read."""
    token_ids: Sequence[int] | UnsetType = UNSET
    """With `return_token_ids`."""


class ChatCompletion(WholeCompletion, kw_only=True):
    """Whole answer of `POST /v1/chat/completions`."""

    object: Literal["chat.completion"] = "chat.completion"
    choices: list[ChatChoice]
    prompt_logprobs: PromptLogprobs | UnsetType = UNSET
    """With the field of that name, by token id at each position."""


class ChatDelta(ReplyStruct, kw_only=True):
    """Growth of a message."""

    role: Literal["assistant"] | UnsetType = UNSET
    content: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    tool_calls: list[ToolCallDelta] | UnsetType = UNSET
    function_call: FunctionDelta | UnsetType = UNSET


class ChatChunkChoice(ReplyStruct, kw_only=True):
    """Growth of one answer; its last one has the reason of its end."""

    index: int
    delta: ChatDelta
    logprobs: ChatLogprobs | None
    finish_reason: FinishReason | None
    stop_reason: str | int | UnsetType | None = UNSET
    tool_parse_error: str | UnsetType = UNSET
    token_ids: Sequence[int] | UnsetType = UNSET


class ChatCompletionChunk(CompletionChunk, kw_only=True):
    """Event of a streamed answer of `POST /v1/chat/completions`."""

    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    choices: list[ChatChunkChoice]


class TextLogprobs(ReplyStruct, kw_only=True):
    """Log-probabilities of a text completion, as parallel lists."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None]
    text_offset: list[int]


class TextChoice(ReplyStruct, kw_only=True):
    """One completion of one prompt."""

    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: FinishReason
    stop_reason: str | int | None
    token_ids: Sequence[int] | UnsetType = UNSET
    prompt_token_ids: Sequence[int] | UnsetType = UNSET
    prompt_logprobs: PromptLogprobs | UnsetType = UNSET
    """With the field of that name, by token id at each position."""


class TextCompletion(WholeCompletion, kw_only=True):
    """Whole answer of `POST /v1/completions`."""

    object: Literal["text_completion"] = "text_completion"
    choices: list[TextChoice]


class TextChunkChoice(ReplyStruct, kw_only=True):
    """Growth of one completion."""

    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: FinishReason | None
    stop_reason: str | int | UnsetType | None = UNSET
    token_ids: Sequence[int] | UnsetType = UNSET
    prompt_token_ids: Sequence[int] | UnsetType = UNSET


class TextCompletionChunk(CompletionChunk, kw_only=True):
    """Event of a streamed answer of `POST /v1/completions`."""

    object: Literal["text_completion"] = "text_completion"
    choices: list[TextChunkChoice]


class RenderedRequest(ReplyStruct, kw_only=True):
    """One engine request, named as vLLM names its parts."""

    request_id: str
    model: str
    token_ids: Sequence[int]
    """Ids of the prompt, special tokens included."""
    sampling_params: SamplingParams
    """Sampling parameters with all defaults; `max_tokens` includes the end of the context."""
    features: None = None
    """Images and audio, in vLLM."""
    stream: bool
    cache_salt: str | None
    priority: int
