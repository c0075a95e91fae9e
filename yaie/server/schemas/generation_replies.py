"""Answers of the completion endpoints, whole and as chunks of a stream."""

from __future__ import annotations

from typing import Any, Literal

from yaie.server.schemas.base import Documented
from yaie.server.schemas.cache import UsageExplanation

Finish = Literal["stop", "length", "tool_calls", "function_call", "abort"]


class CachedTokens(Documented):
    """Details on the tokens of the prompt."""

    cached_tokens: int
    """Prompt tokens that were not computed for this request."""


class ReasoningTokens(Documented):
    """Details on the tokens of the answer."""

    reasoning_tokens: int


class CompletionUsage(Documented):
    """Numbers of tokens, over all choices."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens
    completion_tokens_details: ReasoningTokens | None = None
    """Present if a model has thought before its answer."""
    processing_time: float | None = None
    """Seconds, in the usage of a finished request."""
    tokens_per_second: float | None = None
    """Completion tokens over that time."""
    cache_explanation: UsageExplanation | None = None
    """Present with `explain_cache`."""


class CalledFunction(Documented):
    """Function of a tool call."""

    name: str
    arguments: str
    """JSON, as the model wrote it."""


class ToolCallReply(Documented):
    """Call of a tool."""

    id: str
    type: Literal["function"]
    function: CalledFunction


class FunctionDelta(Documented):
    """Growth of the function of a tool call."""

    name: str | None = None
    arguments: str | None = None


class ToolCallDelta(Documented):
    """Growth of a tool call; its first delta has id and name."""

    index: int
    id: str | None = None
    type: Literal["function"] | None = None
    function: FunctionDelta


class TopLogprob(Documented):
    """Log-probability of one token."""

    token: str
    logprob: float
    bytes: list[int]


class TokenLogprob(TopLogprob):
    """Log-probability of a sampled token, and of the most likely ones."""

    top_logprobs: list[TopLogprob]


class ChatLogprobs(Documented):
    """Log-probabilities of a chat choice, one entry for each token."""

    content: list[TokenLogprob]
    refusal: None


class PromptLogprob(Documented):
    """Log-probability of a token at one position of the prompt."""

    logprob: float
    rank: int
    """1 for the most likely token."""
    decoded_token: str


PromptLogprobs = list[dict[str, PromptLogprob] | None]


class AboutReply(Documented):
    """Fields that every answer and every chunk begin with."""

    id: str
    created: int
    model: str
    system_fingerprint: str
    """Equal for answers of the same model, version and settings."""
    service_tier: Literal["default"] | None = None
    """If the request has it."""


class ChatMessage(Documented):
    """Message of the assistant."""

    role: Literal["assistant"]
    content: str | None
    reasoning_content: str | None = None
    """Thoughts before the answer, of models that have them."""
    refusal: None
    tool_calls: list[ToolCallReply] | None = None
    function_call: CalledFunction | None = None
    """In place of `tool_calls`, if the request has `functions`."""


class ChatChoice(Documented):
    """One of `n` answers."""

    index: int
    message: ChatMessage
    logprobs: ChatLogprobs | None
    finish_reason: Finish
    stop_reason: str | int | None
    """Stop string or stop token that ended the answer."""
    tool_parse_error: str | None = None
    """Reason why a tool call could not be read."""
    token_ids: list[int] | None = None
    """With `return_token_ids`."""


class ChatCompletion(AboutReply):
    """Whole answer of `POST /v1/chat/completions`."""

    object: Literal["chat.completion"]
    choices: list[ChatChoice]
    usage: CompletionUsage
    prompt_token_ids: list[int] | None = None
    """With `return_token_ids`."""
    prompt_logprobs: PromptLogprobs | None = None
    """With the field of that name, by token id at each position."""


class ChatDelta(Documented):
    """Growth of a message."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCallDelta] | None = None
    function_call: FunctionDelta | None = None


class ChatChunkChoice(Documented):
    """Growth of one answer; its last one has the reason of its end."""

    index: int
    delta: ChatDelta
    logprobs: ChatLogprobs | None = None
    finish_reason: Finish | None
    stop_reason: str | int | None = None
    tool_parse_error: str | None = None
    token_ids: list[int] | None = None


class ChatCompletionChunk(AboutReply):
    """Event of a streamed answer of `POST /v1/chat/completions`."""

    object: Literal["chat.completion.chunk"]
    choices: list[ChatChunkChoice]
    usage: CompletionUsage | None = None
    """In the last chunk, with `stream_options.include_usage`, or in every chunk."""
    prompt_token_ids: list[int] | None = None


class TextLogprobs(Documented):
    """Log-probabilities of a text completion, as parallel lists."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None]
    text_offset: list[int]


class TextChoice(Documented):
    """One completion of one prompt."""

    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: Finish
    stop_reason: str | int | None
    token_ids: list[int] | None = None
    prompt_token_ids: list[int] | None = None
    prompt_logprobs: PromptLogprobs | None = None
    """With the field of that name, by token id at each position."""


class TextCompletion(AboutReply):
    """Whole answer of `POST /v1/completions`."""

    object: Literal["text_completion"]
    choices: list[TextChoice]
    usage: CompletionUsage
    prompt_token_ids: list[int] | None = None
    """With `return_token_ids`, for a single prompt."""


class TextChunkChoice(Documented):
    """Growth of one completion."""

    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: Finish | None
    stop_reason: str | int | None = None
    token_ids: list[int] | None = None
    prompt_token_ids: list[int] | None = None


class TextCompletionChunk(AboutReply):
    """Event of a streamed answer of `POST /v1/completions`."""

    object: Literal["text_completion"]
    choices: list[TextChunkChoice]
    usage: CompletionUsage | None = None
    prompt_token_ids: list[int] | None = None


class RenderedRequest(Documented):
    """One engine request, named as vLLM names its parts."""

    request_id: str
    model: str
    token_ids: list[int]
    """Ids of the prompt, special tokens included."""
    sampling_params: dict[str, Any]
    """Sampling parameters with all defaults; `max_tokens` includes the end of the context."""
    features: None
    """Images and audio, in vLLM."""
    stream: bool
    cache_salt: str | None
    priority: int
