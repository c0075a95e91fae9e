"""Body of `POST /v1/responses`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from yaie.server.schemas import unused
from yaie.server.schemas.base import RequestBody, Unused, Used
from yaie.server.schemas.shared_fields import (
    SeveralCalls,
    Short,
    Temperature,
    TopP,
    WholeNumber,
)

ITEM_REFERENCE = "item_reference"  # type of an item: the id of a stored item


class ReasoningOptions(BaseModel):
    """OpenAI's `reasoning`; only `effort` has an effect."""

    model_config = ConfigDict(strict=True, extra="allow")

    effort: Annotated[str, Field(max_length=32)] | None = None


class TextOptions(BaseModel):
    """OpenAI's `text`: the form of the answer."""

    model_config = ConfigDict(strict=True, extra="allow")

    format: dict[str, Any] | None = None
    verbosity: str | None = None


class ResponsesBody(RequestBody):
    """OpenAI's request for a response, with the extensions of chat completions.

    Fields that are not named here, nor in `unused`, reach the chat body unchanged.
    """

    unused: ClassVar[Mapping[str, Unused]] = unused.RESPONSES
    model_config = ConfigDict(json_schema_extra={"required": ["input"]})

    # `read_input` names its forms.
    input: Annotated[
        Any,
        Used(
            "A string, or items: `message`, `reasoning`, calls of tools and their outputs, "
            "`item_reference` (the id of a stored item). Items of other servers' tools are "
            "omitted.",
            "required",
            example="What is a radix tree?",
            schema={"anyOf": [{"type": "string"}, {"type": "array"}]},
        ),
    ] = None
    instructions: Annotated[
        str | None,
        Used(
            "A system message in front of the conversation, for this turn only.",
            example="Answer briefly.",
        ),
    ] = None
    previous_response_id: Annotated[
        str | None,
        Used(
            "Continues a stored conversation; its prompt is cached like any other.",
            example="resp_5f",
        ),
    ] = None
    store: Annotated[
        bool | None,
        Used(
            "Store the response; all stored responses take at most `YAIE_RESPONSE_STORE_BYTES`. "
            "The answer's `store` tells whether it is stored.",
            "true",
            example=False,
        ),
    ] = None
    max_output_tokens: Annotated[
        WholeNumber | None,
        Used(
            "Limit on the tokens. More than fits is [clipped](errors.md#token-limits).",
            "the rest of the context",
            64,
        ),
    ] = None
    temperature: Temperature = None
    top_p: TopP = None
    include: Annotated[
        list[str] | None,
        Short,
        Used(
            "`message.output_text.logprobs`: logprobs of the text. Values for tools of other "
            "servers have no effect, and `reasoning.encrypted_content` is reported as ignored.",
            example=["message.output_text.logprobs"],
        ),
    ] = None
    top_logprobs: Annotated[
        WholeNumber | None,
        Used("0 to 20: logprobs of the most likely tokens too, with `include`.", "0", 2),
    ] = None
    stream: Annotated[
        bool | None, Used("Server-sent events while tokens arrive.", "false", example=True)
    ] = None
    background: Annotated[
        bool | None,
        Used(
            "Answer at once with a response in progress; `GET /v1/responses/{id}` fetches its "
            "end. Needs `store`.",
            "false",
            example=True,
        ),
    ] = None
    text: Annotated[
        TextOptions | None,
        Used(
            "`format`: as `response_format` of chats, in the flat form of this API. `verbosity` "
            "is reported as ignored.",
            example={"format": {"type": "json_object"}},
        ),
    ] = None
    reasoning: Annotated[
        ReasoningOptions | None,
        Used(
            "`effort`: as `reasoning_effort` of chats. Other parts are reported as ignored.",
            example={"effort": "low"},
        ),
    ] = None
    tools: Annotated[
        list[Any] | None,
        Used(
            "Tools of every type; see [below](#tools). Functions are as in "
            "[chats](http-api.md#tools), in the flat form of this API.",
            example=[{"type": "function", "name": "add_numbers"}],
        ),
    ] = None
    tool_choice: Annotated[
        Any, Used("As in [chats](http-api.md#tools), in the flat form.", "`auto`", example="none")
    ] = None
    parallel_tool_calls: SeveralCalls = None
    max_tool_calls: Annotated[
        WholeNumber | None,
        Used("Of tools that a server runs; repeated in the response.", example=3),
    ] = None
    truncation: Annotated[
        str | None,
        Used(
            "`auto` drops the oldest turns of a conversation that exceeds the context; see below.",
            "`disabled`",
            example="auto",
        ),
    ] = None
    metadata: Annotated[
        dict[str, str] | None,
        Short,
        Used("Notes of the client, repeated in the response.", example={"a": "b"}),
    ] = None
    user: Annotated[
        str | None,
        Used(
            "The tenant, as in chats; repeated in the response.",
            example="someone",
        ),
    ] = None
    safety_identifier: Annotated[
        str | None, Used("Repeated in the response.", example="someone")
    ] = None
    prompt_cache_options: Annotated[
        dict[str, Any] | None,
        Short,
        Used(
            "`comparison_response_id`: an earlier response of the same key. The response then has "
            "`prompt_cache_diagnostics`, see [cache](cache-api.md). Other options are ignored: "
            "every prefix is cached.",
            example={"comparison_response_id": "resp_1"},
        ),
    ] = None
    prompt_cache_key: Annotated[
        str | None, Used("Repeated in the response; every prefix is cached.", example="k")
    ] = None

    _place: Any = PrivateAttr(default=None)

    @property
    def place(self) -> Any:
        """The `Place` of `yaie.server.responses_api.response_store`: store and tenant."""
        assert self._place is not None
        return self._place

    @property
    def names_stored(self) -> bool:
        """True if the body names stored items or a stored conversation."""
        items = self.input if isinstance(self.input, list) else ()
        return self.previous_response_id is not None or any(
            isinstance(item, dict) and item.get("type") == ITEM_REFERENCE for item in items
        )

    def at(self, place: object) -> ResponsesBody:
        """Note store and tenant; return the body."""
        self._place = place
        return self
