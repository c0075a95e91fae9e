"""Bodies and replies of `/v1/count_tokens`, `/tokenize` and `/detokenize`."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType
from pydantic import ConfigDict

from yaie.base.errors import InvalidRequest
from yaie.server.schemas.base import RequestBody
from yaie.server.schemas.reply_struct import ReplyStruct


class CountBody(RequestBody):
    """A chat or text completion body; only its prompt is read."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["prompt"]}, {"required": ["messages"]}]}
    )

    prompt: Any = None  # as of a text completion
    messages: list[Any] | None = None
    tools: list[Any] | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """All fields that the client sent."""
        return self.model_dump(exclude_unset=True)


class CountedBody(CountBody):
    """Body to count; `conversation` is another name of its prompt or messages."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [name]} for name in ("prompt", "messages", "conversation")]
        }
    )

    conversation: str | list[Any] | None = None  # text, or messages
    return_cached_tokens: bool | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """All fields of the counted body. Raises `InvalidRequest` for two prompts."""
        own = {"conversation", "return_cached_tokens"}
        fields = self.model_dump(exclude_unset=True, exclude=own)
        if self.conversation is None:
            return fields
        if self.prompt is not None or self.messages is not None:
            raise InvalidRequest(
                "conversation stands for prompt or messages; send one of the three",
                param="conversation",
            )
        name = "prompt" if isinstance(self.conversation, str) else "messages"
        return fields | {name: self.conversation}


class TokenizeBody(CountBody):
    """vLLM's request for the tokens of a text or conversation."""

    return_token_strs: bool | None = None


class DetokenizeBody(RequestBody):
    """vLLM's request for the text of tokens."""

    tokens: list[Any]


class TokenCount(ReplyStruct, kw_only=True):
    """Token count of a body's prompts."""

    count: int
    """The `prompt_tokens` of the real request's usage."""
    max_model_len: int
    """Longest prompt plus answer."""


class CachedTokenCount(TokenCount, kw_only=True):
    """Token count of a body's prompts, with the cached tokens."""

    cached_tokens: int | UnsetType = UNSET
    """Tokens that need no computing now, with `return_cached_tokens`."""


class TokenList(TokenCount, kw_only=True):
    """Tokens of a text or conversation."""

    tokens: list[int]
    token_strs: list[str | None] | None
    """The tokenizer's names of the tokens, with `return_token_strs`."""


class DetokenizedText(ReplyStruct, kw_only=True):
    """Text of tokens."""

    prompt: str


class InputTokenCount(ReplyStruct, kw_only=True):
    """Number of tokens that a request for a message has as its input."""

    input_tokens: int


class ResponseInputTokens(ReplyStruct, kw_only=True):
    """Number of tokens that a request for a response has as its input."""

    object: Literal["response.input_tokens"] = "response.input_tokens"
    input_tokens: int
