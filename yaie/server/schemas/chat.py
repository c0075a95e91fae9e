"""Body of `POST /v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, PrivateAttr

from yaie.server.schemas import unused
from yaie.server.schemas.base import Extension, Unused, Used
from yaie.server.schemas.shared_fields import (
    GenerationBody,
    SeveralCalls,
    Short,
    WholeNumber,
)
from yaie.text.plain_messages import ROLES

_A_TOOL = {
    "type": "function",
    "function": {"name": "add_numbers", "parameters": {"type": "object", "properties": {}}},
}
_PART = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"enum": ["text", "refusal"]}, "text": {"type": "string"}},
}
_MESSAGE = {
    "type": "object",
    "required": ["role"],
    "properties": {
        "role": {"enum": list(ROLES)},
        "content": {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"anyOf": [_PART, {"type": "string"}]}},
                {"type": "null"},
            ]
        },
    },
}


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The client's names of a chat's fields, for errors. Other APIs are translated to a chat."""

    messages: str = "messages"
    max_tokens: str | None = None  # one of OpenAI's two
    tools: str = "tools"
    function: str = ".function"  # in a tool, and in a choice
    custom: frozenset[int] = frozenset()  # places of the custom tools
    parameters: str = "parameters"
    tool_choice: str = "tool_choice"
    allowed_tools: str = "tool_choice.allowed_tools"
    response_format: str = "response_format"
    json_schema: str = "response_format.json_schema"

    def inner(self, at: int) -> str:
        """Return the name of the object in a tool that has the tool's name."""
        return ".custom" if at in self.custom else self.function


class ChatBody(GenerationBody):
    """OpenAI's chat completion request with the extensions of `docs/reference/http-api.md`."""

    unused: ClassVar[Mapping[str, Unused]] = {
        **GenerationBody.unused,
        **{each.name: each for each in unused.CHAT},
    }

    messages: Annotated[
        list[Any],
        Used(
            "Roles `system`, `developer` (the same), `user`, `assistant`, `tool`, `function`. At "
            "most 10,000, and 33,554,432 characters once rendered.",
            "required",
            example=[{"role": "user", "content": "What is a radix tree?"}],
            schema={"minItems": 1, "items": _MESSAGE},
        ),
    ]
    max_completion_tokens: Annotated[
        WholeNumber | None,
        Used(
            "Limit on the tokens. More than fits is [clipped](errors.md#token-limits).",
            "the rest of the context",
            64,
        ),
    ] = None
    max_tokens: Annotated[
        WholeNumber | None,
        Used("Older name of `max_completion_tokens`.", "the rest of the context", 64),
    ] = None
    logprobs: Annotated[
        bool | None, Used("Logprobs of the sampled tokens.", "false", example=True)
    ] = None
    top_logprobs: Annotated[
        WholeNumber | None,
        Used("0 to 20: logprobs of the most likely tokens too, with `logprobs`.", "0", 2),
    ] = None
    tools: Annotated[
        list[Any] | None, Used("At most 512; see [tools](#tools).", example=[_A_TOOL])
    ] = None
    tool_choice: Annotated[Any, Used("See [tools](#tools).", "`auto`", example="none")] = None
    parallel_tool_calls: SeveralCalls = None
    functions: Annotated[
        list[Any] | None,
        Used(
            "The older field for `tools`. The answer then has a `function_call` in place of "
            "`tool_calls`, and the `finish_reason` of that name.",
            example=[_A_TOOL["function"]],
        ),
    ] = None
    function_call: Annotated[
        Any,
        Used(
            "`none`, `auto`, or an object with the name of one of the `functions`.",
            "`auto`",
            example="none",
            schema={"type": ["string", "object", "null"]},
        ),
    ] = None
    prediction: Annotated[
        dict[str, Any] | None,
        Used(
            "The likely answer, as `type` `content` with a string or text parts as `content`. A "
            "server with `--speculate` drafts from it "
            "([speculative decoding](../guides/speculation.md)).",
            example={"type": "content", "content": "The tree"},
        ),
    ] = None
    reasoning_effort: Annotated[
        Annotated[str, Field(max_length=32)] | None,
        Used(
            "Passed to chat templates that read it; at most 32 characters. With other templates "
            "it must be one of OpenAI's values, and is reported as ignored; `none` also turns "
            "`enable_thinking` or `thinking` off.",
            example="low",
        ),
    ] = None
    thinking_token_budget: Annotated[
        WholeNumber | None,
        Extension(
            "Most tokens of the reasoning, from 0; its end mark is forced then. -1 is no limit. "
            "Reported as ignored where the template shows no such mark, or the mark is several "
            "tokens.",
            example=64,
        ),
    ] = None
    include_reasoning: Annotated[
        bool | None,
        Extension(
            "Answer with the reasoning. `logprobs`, `token_ids` and the usage have its tokens "
            "either way.",
            "true",
            example=False,
        ),
    ] = None
    add_generation_prompt: Annotated[
        bool | None,
        Extension("End the prompt with the beginning of an answer.", "true", example=False),
    ] = None
    continue_final_message: Annotated[
        bool | None,
        Extension(
            "Continue the text of the last message instead of a new one. "
            "`add_generation_prompt` must then be false or missing.",
            "false",
            example=True,
        ),
    ] = None
    echo: Annotated[
        bool | None,
        Extension(
            "The text of the last message before the answer, if the message is the assistant's or "
            "is continued.",
            "false",
            example=True,
        ),
    ] = None
    chat_template_kwargs: Annotated[
        dict[str, Any] | None,
        Short,
        Extension(
            'Variables of the template, as `{"enable_thinking": false}`. Unread ones are '
            "reported as ignored.",
            example={"enable_thinking": False},
        ),
    ] = None
    _names: FieldNames = PrivateAttr(default=FieldNames())

    @property
    def names(self) -> FieldNames:
        """The client's names of the fields."""
        return self._names

    def with_names(self, names: FieldNames) -> Self:
        """Return the body with other names for errors."""
        body = self.model_copy()
        body._names = names
        return body
