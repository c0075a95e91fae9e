"""Replies of `POST /v1/messages`, whole and as events of a stream."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from yaie.server.schemas.cache import UsageExplanation
from yaie.server.schemas.reply_struct import ReplyStruct

StopReason = Literal[
    "end_turn", "max_tokens", "stop_sequence", "tool_use", "model_context_window_exceeded"
]


class MessageUsage(ReplyStruct, kw_only=True):
    """Numbers of tokens; the prompt is the sum of the three input counts."""

    input_tokens: int
    """Prompt tokens that were computed for this request."""
    cache_creation_input_tokens: int
    """Always 0."""
    cache_read_input_tokens: int
    """Cached prompt tokens."""
    output_tokens: int
    cache_explanation: UsageExplanation | UnsetType = UNSET
    """Present with `explain_cache`."""


class CacheMissReason(ReplyStruct, kw_only=True):
    """First part in which a prompt differs from the previous message's prompt."""

    type: Literal[
        "model_changed", "system_changed", "tools_changed", "messages_changed",
        "previous_message_not_found", "unavailable",
    ]  # fmt: skip
    cache_missed_input_tokens: int | UnsetType = UNSET
    """Tokens of the previous prompt that were not cached for this one."""


class MessageDiagnostics(ReplyStruct, kw_only=True):
    """Comparison of a prompt with the previous message's prompt."""

    cache_miss_reason: CacheMissReason


class ContentBlock(ReplyStruct, kw_only=True):
    """Block of type `text`, `thinking` or `tool_use`, with the fields of its type."""

    type: Literal["text", "thinking", "tool_use"]
    text: str | UnsetType = UNSET
    thinking: str | UnsetType = UNSET
    signature: str | UnsetType = UNSET
    """Digest of the thinking; it is not checked."""
    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    input: dict[str, Any] | UnsetType = UNSET


class MessageDocument(ReplyStruct, kw_only=True):
    """Whole answer of `POST /v1/messages`."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    model: str
    content: list[ContentBlock]
    stop_reason: StopReason | None
    """Null at the start of a stream."""
    stop_sequence: str | None
    usage: MessageUsage
    diagnostics: MessageDiagnostics | UnsetType | None = UNSET
    """Present if it was requested; null if the prompt continues the previous message's."""
    warnings: list[str] | UnsetType = UNSET
    """Tools and items that the model was not shown, such as hosted tools."""


class MessageEvent(ReplyStruct, kw_only=True):
    """Event of a streamed message; its fields depend on its type."""

    type: Literal[
        "message_start", "ping", "content_block_start", "content_block_delta",
        "content_block_stop", "message_delta", "message_stop", "error",
    ]  # fmt: skip
    message: MessageDocument | UnsetType = UNSET
    index: int | UnsetType = UNSET
    """Place of the content block."""
    content_block: ContentBlock | UnsetType = UNSET
    delta: dict[str, Any] | UnsetType = UNSET
    """Growth of a content block, or the reason of the end."""
    usage: MessageUsage | UnsetType = UNSET
    tool_parse_error: str | UnsetType = UNSET
    """Reason why a tool call stayed text, with the reason of the end."""
    error: dict[str, Any] | UnsetType = UNSET
    request_id: str | UnsetType | None = UNSET
