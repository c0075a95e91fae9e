"""Body of `POST /v1/responses`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from server.schemas.base import RequestBody
from server.schemas.common import Short, WholeNumber
from server.turns.store import ResponseStore


class ReasoningOptions(BaseModel):
    """OpenAI's `reasoning`; only `effort` has an effect."""

    model_config = ConfigDict(strict=True, extra="allow")

    effort: Annotated[str, Field(max_length=32)] | None = None


class TextOptions(BaseModel):
    """OpenAI's `text`: the form of the answer."""

    model_config = ConfigDict(strict=True, extra="allow")

    format: dict[str, Any] | None = None
    verbosity: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The store that a request reads and writes, and the tenant that it belongs to."""

    store: ResponseStore
    tenant: str


class ResponsesBody(RequestBody):
    """OpenAI's request for a response, with the extensions of chat completions.

    Fields that are not named here reach the chat body unchanged.
    """

    model_config = ConfigDict(json_schema_extra={"required": ["input"]})

    input: Any = None  # a string or a list of items; `read_items` names its forms
    instructions: str | None = None
    previous_response_id: str | None = None
    store: bool | None = None
    max_output_tokens: WholeNumber | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: WholeNumber | None = None
    include: Annotated[list[str] | None, Short] = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: WholeNumber | None = None  # of tools that a server runs; there are none
    truncation: str | None = None
    background: bool | None = None
    metadata: Annotated[dict[str, str] | None, Short] = None
    user: str | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    conversation: Any = None
    prompt: Any = None
    n: WholeNumber | None = None

    _place: Place | None = PrivateAttr(default=None)

    @property
    def place(self) -> Place:
        """Store and tenant of the request."""
        assert self._place is not None
        return self._place

    def at(self, place: Place) -> ResponsesBody:
        """Note store and tenant; return the body."""
        self._place = place
        return self
