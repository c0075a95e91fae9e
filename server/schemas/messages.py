"""Bodies of `POST /v1/messages` and `POST /v1/messages/count_tokens`.

The fields are Anthropic's. `server/messages/blocks.py` checks messages, tools and their blocks.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from server.schemas.base import RequestBody, tenant_name
from server.schemas.common import Short, WholeNumber


class CountedMessagesBody(RequestBody):
    """Fields of a conversation that its number of tokens depends on."""

    # Without effect on the answer.
    accepted: ClassVar[frozenset[str]] = frozenset(
        {"cache_control", "inference_geo", "metadata", "service_tier", "speed", "user_profile_id"}
    )
    # They would change the answer; the listed values mean "unused".
    unsupported: ClassVar[dict[str, tuple[Any, ...]]] = {"mcp_servers": ([],), "container": ()}

    messages: Annotated[list[Any], Field(json_schema_extra={"minItems": 1})]
    system: Any = None  # a string or text blocks
    tools: list[Any] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None
    chat_template_kwargs: Annotated[dict[str, Any] | None, Short] = None

    @property
    def tenant(self) -> str:
        """Tenant of the request by `metadata.user_id`; empty without one."""
        metadata = (self.model_extra or {}).get("metadata")
        return tenant_name(metadata.get("user_id") if isinstance(metadata, dict) else None)


class MessagesBody(CountedMessagesBody):
    """Anthropic's request for a message, with extensions named as in chat completions."""

    max_tokens: WholeNumber
    stream: bool | None = None
    stop_sequences: list[Any] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: WholeNumber | None = None
    min_p: float | None = None
    seed: WholeNumber | None = None
    cache_salt: str | None = None
    priority: WholeNumber | None = None
