"""Bodies of `POST /v1/messages` and `POST /v1/messages/count_tokens`.

The fields are Anthropic's. `yaie/server/anthropic` checks messages, tools and their blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from yaie.server.schemas import unused
from yaie.server.schemas.base import Extension, RequestBody, Unused, Used, tenant_name
from yaie.server.schemas.shared_fields import Short, WholeNumber

_TOOL = {"name": "add_numbers", "input_schema": {"type": "object", "properties": {}}}
_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
_AS_IN_CHATS = "As in chat completions."


class CountedMessagesBody(RequestBody):
    """Conversation fields that the token count depends on."""

    unused: ClassVar[Mapping[str, Unused]] = {each.name: each for each in unused.MESSAGES}

    messages: Annotated[
        list[Any],
        Used(
            "Roles `user`, `assistant` and `system`; content is a string or a list of blocks.",
            "required",
            example=[{"role": "user", "content": "What is a radix tree?"}],
            schema={"minItems": 1},
        ),
    ]
    system: Annotated[
        Any,
        Used("A string or text blocks.", example="Answer briefly."),
    ] = None
    tools: Annotated[
        list[Any] | None,
        Used(
            "Tools with a `name` and an `input_schema`, and Anthropic's tools for the client; see "
            "below.",
            example=[_TOOL],
        ),
    ] = None
    tool_choice: Annotated[
        dict[str, Any] | None,
        Used(
            "Types `auto`, `any`, `tool` and `none`, as `auto`, `required`, a named function and "
            "`none` of a chat.",
            "`auto`",
            example={"type": "none"},
        ),
    ] = None
    thinking: Annotated[
        dict[str, Any] | None,
        Used(
            "`enabled` and `adaptive` set the template's `enable_thinking` (or `thinking`), "
            '`disabled` clears it; `display: "omitted"` hides the text. '
            "`budget_tokens` with `enabled` is `thinking_token_budget` of a chat.",
            "the model's",
            example={"type": "disabled"},
        ),
    ] = None
    output_config: Annotated[
        dict[str, Any] | None,
        Used(
            "`effort` is `reasoning_effort` if the template reads it, `format` is "
            "`response_format`.",
            example={"format": {"type": "json_schema", "schema": _SCHEMA}},
        ),
    ] = None
    output_format: Annotated[
        dict[str, Any] | None,
        Used(
            "Older place of `output_config.format`.",
            example={"type": "json_schema", "schema": _SCHEMA},
        ),
    ] = None
    metadata: Annotated[
        Any,
        Used(
            "`user_id` is the tenant, as `user` of a chat completion.",
            example={"user_id": "someone"},
        ),
    ] = None
    chat_template_kwargs: Annotated[
        dict[str, Any] | None,
        Short,
        Extension(_AS_IN_CHATS, example={"enable_thinking": False}),
    ] = None

    @property
    def tenant(self) -> str:
        """Tenant of the request by `metadata.user_id`; empty without one."""
        metadata = self.metadata
        return tenant_name(metadata.get("user_id") if isinstance(metadata, dict) else None)


class MessagesBody(CountedMessagesBody):
    """Anthropic's request for a message, with extensions named as in chat completions."""

    max_tokens: Annotated[
        WholeNumber,
        Used(
            "More than fits ends with the context (`model_context_window_exceeded`). 0 computes "
            "the prompt into the cache.",
            "required",
            example=64,
        ),
    ]
    stream: Annotated[
        bool | None, Used("Server-sent events while tokens arrive.", "false", example=True)
    ] = None
    stop_sequences: Annotated[
        list[Any] | None, Used("As `stop` of a chat completion.", example=["tree"])
    ] = None
    temperature: Annotated[float | None, Used(_AS_IN_CHATS, "the model's", example=0.7)] = None
    top_p: Annotated[float | None, Used(_AS_IN_CHATS, "the model's", example=0.9)] = None
    top_k: Annotated[WholeNumber | None, Used(_AS_IN_CHATS, "the model's", example=5)] = None
    min_p: Annotated[float | None, Extension(_AS_IN_CHATS, "the model's", example=0.1)] = None
    seed: Annotated[WholeNumber | None, Extension(_AS_IN_CHATS, "random", example=11)] = None
    diagnostics: Annotated[
        dict[str, Any] | None,
        Short,
        Used(
            "`previous_message_id`: an earlier message of the same key, or null. The message then "
            "has `diagnostics`, with the `cache_miss_reason`, see [cache](cache-api.md).",
            example={"previous_message_id": "msg_1"},
        ),
    ] = None
    explain_cache: Annotated[bool | None, Extension(_AS_IN_CHATS, "false", example=True)] = None
    cache_salt: Annotated[str | None, Extension(_AS_IN_CHATS, example="a-secret")] = None
    priority: Annotated[WholeNumber | None, Extension(_AS_IN_CHATS, "0", example=-3)] = None
