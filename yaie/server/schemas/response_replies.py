"""Answers of `/v1/responses`: responses, their items, and the events of streams."""

from __future__ import annotations

from typing import Any, Literal

from yaie.server.schemas.base import Documented
from yaie.server.schemas.cache import UsageExplanation
from yaie.server.schemas.generation_replies import TokenLogprob

ItemStatus = Literal["in_progress", "completed", "incomplete"]
Status = Literal["queued", "in_progress", "completed", "incomplete", "cancelled", "failed"]


class OutputText(Documented):
    """Text of a message."""

    type: Literal["output_text"]
    text: str
    annotations: list[Any]
    logprobs: list[TokenLogprob] | None = None


class Refusal(Documented):
    """Refusal that the client sent as part of an earlier message."""

    type: Literal["refusal"]
    refusal: str


class InputText(Documented):
    """Text from the client."""

    type: Literal["input_text"]
    text: str


class ReasoningText(Documented):
    """Text of a thought."""

    type: Literal["reasoning_text", "summary_text"]
    text: str


class MessageItem(Documented):
    """Message of either side."""

    id: str
    type: Literal["message"]
    status: ItemStatus
    role: Literal["user", "assistant", "system", "developer"]
    content: list[OutputText | Refusal | InputText]


class ReasoningItem(Documented):
    """Thought of the model before an answer or a call."""

    id: str
    type: Literal["reasoning"]
    status: ItemStatus
    summary: list[ReasoningText]
    content: list[ReasoningText]


class FunctionCallItem(Documented):
    """Call of a tool."""

    id: str
    type: Literal["function_call"]
    status: ItemStatus
    call_id: str
    """Id for the result of the call."""
    name: str
    arguments: str
    """JSON, as the model wrote it."""


class FunctionCallOutputItem(Documented):
    """Result of a tool."""

    id: str
    type: Literal["function_call_output"]
    status: ItemStatus
    call_id: str
    output: str | list[InputText]


OutputItem = MessageItem | ReasoningItem | FunctionCallItem


class ResponseFailure(Documented):
    """Error of a failed response, with OpenAI's code."""

    code: Literal["server_error", "rate_limit_exceeded", "invalid_prompt"]
    message: str


class IncompleteDetails(Documented):
    """Reason of an incomplete response."""

    reason: Literal["max_output_tokens"]


class InputTokensDetails(Documented):
    """Details on the tokens of the prompt."""

    cached_tokens: int
    """Prompt tokens that were not computed for this request."""
    cache_write_tokens: int
    """Prompt tokens that were computed, and are cached now."""


class OutputTokensDetails(Documented):
    """Details on the generated tokens."""

    reasoning_tokens: int


class ResponseUsage(Documented):
    """Numbers of tokens."""

    input_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int
    cache_explanation: UsageExplanation | None = None
    """Present with `explain_cache`."""


class ReasoningSettings(Documented):
    """Effort of the reasoning, as requested."""

    effort: str | None
    summary: None


class TextSettings(Documented):
    """Form of the text, as requested."""

    format: dict[str, Any]


class CacheDiagnostics(Documented):
    """Comparison of a prompt with that of an earlier response."""

    type: Literal["cache_hit", "cache_miss", "comparison_response_not_found"]
    reason: str | None = None
    """Of a miss: `model_`, `tools_`, `settings_` or `input_changed`, or `evicted`."""
    cache_missed_tokens: int | None = None
    comparison_reusable_tokens: int | None = None


class ResponseDocument(Documented):
    """Response to a turn: its items, and the settings that it was made with."""

    id: str
    object: Literal["response"]
    created_at: int
    """Unix time in seconds."""
    status: Status
    model: str
    output: list[OutputItem]
    background: bool
    completed_at: int | None
    error: ResponseFailure | None
    incomplete_details: IncompleteDetails | None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    metadata: dict[str, str]
    parallel_tool_calls: bool
    previous_response_id: str | None
    prompt_cache_diagnostics: CacheDiagnostics | None = None
    """Present in a finished response if it was requested."""
    prompt_cache_key: str | None
    reasoning: ReasoningSettings
    safety_identifier: str | None
    service_tier: Literal["default"]
    store: bool
    """True if the response is stored."""
    temperature: float
    text: TextSettings
    tool_choice: str | dict[str, Any]
    tool_parse_error: str | None = None
    """Reason why a tool call could not be parsed; its markup is text then."""
    tools: list[dict[str, Any]]
    top_logprobs: int
    top_p: float
    truncation: Literal["auto", "disabled"]
    usage: ResponseUsage | None
    user: str | None


class ResponseEvent(Documented):
    """Event of a stream; the fields depend on its type."""

    type: str
    sequence_number: int
    response: ResponseDocument | None = None
    output_index: int | None = None
    item: OutputItem | None = None
    item_id: str | None = None
    content_index: int | None = None
    part: OutputText | ReasoningText | None = None
    delta: str | None = None
    text: str | None = None
    logprobs: list[TokenLogprob] | None = None
    name: str | None = None
    arguments: str | None = None
    code: str | None = None
    """Stable name of an error."""
    message: str | None = None
    param: str | None = None


class DeletedResponse(Documented):
    """Confirmation that a response is no longer stored."""

    id: str
    object: Literal["response"]
    deleted: bool


class InputItems(Documented):
    """Page of the items that the model saw."""

    object: Literal["list"]
    data: list[OutputItem | FunctionCallOutputItem]
    first_id: str | None
    last_id: str | None
    has_more: bool
