"""Bodies of Ollama's API: `/api/chat`, `/api/generate`, and the paths about models.

The fields are Ollama's. `yaie/server/ollama` checks messages and translates the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict

from yaie.server.schemas import unused
from yaie.server.schemas.base import RequestBody, Unused, Used
from yaie.server.schemas.completions import CompletionBody
from yaie.server.schemas.shared_fields import TEXT_OR_TEXTS, WholeNumber

_AS_IN_CHATS = "As in chat completions."
_TOOL = {
    "type": "function",
    "function": {"name": "add_numbers", "parameters": {"type": "object", "properties": {}}},
}
_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class OllamaBody(RequestBody):
    """The fields of `/api/chat` and `/api/generate`."""

    unused: ClassVar[Mapping[str, Unused]] = {each.name: each for each in unused.OLLAMA}

    stream: Annotated[
        bool | None, Used("One JSON object a line while tokens arrive.", "true", False)
    ] = None
    format: Annotated[
        Any,
        Used(
            "`json`, or a JSON schema that the answer follows.",
            example=_SCHEMA,
            schema={"type": ["string", "object", "null"]},
        ),
    ] = None
    options: Annotated[
        dict[str, Any] | None,
        Used("See [options](#options).", example={"temperature": 0}),
    ] = None
    think: Annotated[
        Any,
        Used(
            "A boolean sets the template's `enable_thinking` (or `thinking`). `low`, `medium` and "
            "`high` are `reasoning_effort` if the template reads it, else true.",
            "the model's",
            example=False,
            schema={"type": ["boolean", "string", "null"]},
        ),
    ] = None
    keep_alive: Annotated[
        Any,
        Used(
            "Seconds, or a text such as `5m`. 0 without a prompt unloads the model; else "
            "`YAIE_UNLOAD_IDLE_S` decides, and the field is reported as ignored.",
            example="5m",
            schema={"type": ["number", "string", "null"]},
        ),
    ] = None
    logprobs: Annotated[
        bool | None, Used("Logprobs of the sampled tokens.", "false", example=True)
    ] = None
    top_logprobs: Annotated[
        WholeNumber | None,
        Used("0 to 20: logprobs of the most likely tokens too, with `logprobs`.", "0", 2),
    ] = None

    @property
    def is_streamed(self) -> bool:
        """True unless the request wants one document."""
        return self.stream is not False


class OllamaChatBody(OllamaBody):
    """Ollama's request for the next message of a conversation."""

    messages: Annotated[
        list[Any] | None,
        Used(
            "Roles `system`, `user`, `assistant` and `tool`. Without messages the model is only "
            "loaded.",
            "none",
            example=[{"role": "user", "content": "What is a radix tree?"}],
        ),
    ] = None
    tools: Annotated[list[Any] | None, Used(_AS_IN_CHATS, example=[_TOOL])] = None


class OllamaGenerateBody(OllamaBody):
    """Ollama's request for an answer to one prompt."""

    unused: ClassVar[Mapping[str, Unused]] = {
        **OllamaBody.unused,
        **{each.name: each for each in unused.OLLAMA_GENERATE},
    }

    prompt: Annotated[
        str | None,
        Used(
            "The user's message. Without a prompt the model is only loaded.",
            "none",
            example="What is a radix tree?",
        ),
    ] = None
    system: Annotated[str | None, Used("The system message.", example="Answer briefly.")] = None
    raw: Annotated[
        bool | None,
        Used("Continue the prompt as it is, without the chat template.", "false", example=True),
    ] = None


class OllamaModelBody(RequestBody):
    """Body of `/api/show` and `/api/pull`."""

    name: Annotated[str | None, Used("Older name of `model`.")] = None
    stream: Annotated[
        bool | None, Used("`/api/pull`: one JSON object a line.", "true", example=False)
    ] = None

    @property
    def wanted(self) -> str:
        """The model's name under either field; empty without one."""
        return self.model or self.name or ""


class RawPromptBody(CompletionBody):
    """Text completion whose limit is the context, as Ollama's."""

    default_max_tokens: ClassVar[int | None] = None


class OllamaEmbedBody(RequestBody):
    """Ollama's request for the vectors of texts."""

    model_config = ConfigDict(json_schema_extra={"required": ["input"]})

    input: Annotated[
        Any, Used("A text, or a list of texts.", "required", "A slot", schema=TEXT_OR_TEXTS)
    ] = None
    truncate: Annotated[
        bool | None, Used("Cut the end of texts beyond the context.", "true", False)
    ] = None
    dimensions: Annotated[
        WholeNumber | None, Used("First numbers of each vector to keep.", "all", 32)
    ] = None
