"""Replies of `/v1/responses`: responses, and the events of streams."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from yaie.server.schemas.cache import UsageExplanation
from yaie.server.schemas.generation_replies import TokenLogprob
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.server.schemas.response_items import InputItem, OutputItem, OutputText, ReasoningText

Status = Literal["queued", "in_progress", "completed", "incomplete", "cancelled", "failed"]


class ResponseFailure(ReplyStruct, kw_only=True):
    """Error of a failed response, with OpenAI's code."""

    code: Literal["server_error", "rate_limit_exceeded", "invalid_prompt"]
    message: str


class IncompleteDetails(ReplyStruct, kw_only=True):
    """Reason of an incomplete response."""

    reason: Literal["max_output_tokens"]


class InputTokensDetails(ReplyStruct, kw_only=True):
    """Details on the tokens of the prompt."""

    cached_tokens: int
    """Prompt tokens that were not computed for this request."""
    cache_write_tokens: int
    """Prompt tokens that were computed, and are cached now."""


class OutputTokensDetails(ReplyStruct, kw_only=True):
    """Details on the generated tokens."""

    reasoning_tokens: int


class ResponseUsage(ReplyStruct, kw_only=True):
    """Numbers of tokens."""

    input_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int
    cache_explanation: UsageExplanation | UnsetType = UNSET
    """Present with `explain_cache`."""


class ReasoningSettings(ReplyStruct, kw_only=True):
    """Effort of the reasoning, as requested."""

    effort: str | None
    summary: None


class TextSettings(ReplyStruct, kw_only=True):
    """Form of the text, as requested."""

    format: dict[str, Any]


class CacheDiagnostics(ReplyStruct, kw_only=True):
    """Comparison of a prompt with an earlier response's prompt."""

    type: Literal["cache_hit", "cache_miss", "comparison_response_not_found"]
    reason: str | UnsetType = UNSET
    """Of a miss: `model_`, `tools_`, `settings_` or `input_changed`, or `evicted`."""
    cache_missed_tokens: int | UnsetType = UNSET
    comparison_reusable_tokens: int | UnsetType = UNSET


class ResponseDocument(ReplyStruct, kw_only=True):
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
    prompt_cache_diagnostics: CacheDiagnostics | UnsetType | None = UNSET
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
    tool_parse_error: str | UnsetType = UNSET
    """Reason why a tool call could not be parsed; its markup is text then."""
    tools: list[dict[str, Any]]
    top_logprobs: int
    top_p: float
    truncation: Literal["auto", "disabled"]
    usage: ResponseUsage | None
    user: str | None
    warnings: list[str] | UnsetType = UNSET
    """Tools and items that the model was not shown, such as hosted tools."""


class ResponseEvent(ReplyStruct, kw_only=True):
    """Event of a stream; the fields depend on its type."""

    type: str
    sequence_number: int
    response: ResponseDocument | UnsetType = UNSET
    output_index: int | UnsetType = UNSET
    item: OutputItem | UnsetType = UNSET
    item_id: str | UnsetType = UNSET
    content_index: int | UnsetType = UNSET
    part: OutputText | ReasoningText | UnsetType = UNSET
    delta: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    logprobs: list[TokenLogprob] | UnsetType = UNSET
    name: str | UnsetType = UNSET
    arguments: str | UnsetType = UNSET
    input: str | UnsetType = UNSET
    code: str | UnsetType | None = UNSET
    """Stable name of an error."""
    message: str | UnsetType = UNSET
    param: str | UnsetType | None = UNSET


class DeletedResponse(ReplyStruct, kw_only=True):
    """Confirmation that a response is no longer stored."""

    id: str
    object: Literal["response"] = "response"
    deleted: bool = True


class InputItems(ReplyStruct, kw_only=True):
    """Page of the items that the model saw."""

    object: Literal["list"] = "list"
    data: list[InputItem]
    first_id: str | None
    last_id: str | None
    has_more: bool
