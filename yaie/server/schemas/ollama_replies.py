"""Replies of Ollama's API, whole and as the lines of a stream."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from yaie.server.schemas.generation_replies import TokenLogprob
from yaie.server.schemas.reply_struct import ReplyStruct

OllamaCapability = Literal["completion", "tools", "thinking", "embedding"]


class OllamaFunction(ReplyStruct, kw_only=True):
    """Function of a tool call."""

    name: str
    arguments: dict[str, Any]


class OllamaToolCall(ReplyStruct, kw_only=True):
    """Call of a tool, whole in one line of a stream."""

    id: str
    """Number of the call in its conversation; the next turn may omit it."""
    function: OllamaFunction


class OllamaMessage(ReplyStruct, kw_only=True):
    """Message of the assistant, or its growth."""

    role: Literal["assistant"] = "assistant"
    content: str = ""
    thinking: str | UnsetType = UNSET
    tool_calls: list[OllamaToolCall] | UnsetType = UNSET


class OllamaAnswer(ReplyStruct, kw_only=True):
    """Fields of an answer of both kinds; the times are nanoseconds."""

    model: str
    created_at: str
    """Time of the request in RFC 3339."""
    done: bool
    done_reason: Literal["stop", "length", "abort", "load", "unload"] | UnsetType = UNSET
    """Present in the last line, as all fields below."""
    total_duration: int | UnsetType = UNSET
    """From the arrival of the request to its end."""
    load_duration: int | UnsetType = UNSET
    """Load of a model that was not in memory."""
    prompt_eval_count: int | UnsetType = UNSET
    """Prompt tokens, the cached ones included."""
    prompt_eval_duration: int | UnsetType = UNSET
    """From the admission to the first token."""
    eval_count: int | UnsetType = UNSET
    """Tokens of the answer."""
    eval_duration: int | UnsetType = UNSET
    """From the first token to the last."""
    logprobs: list[TokenLogprob] | UnsetType = UNSET
    """Present with `logprobs`, in lines with tokens."""
    tool_parse_error: str | UnsetType = UNSET
    """Reason why a tool call stayed text."""


class OllamaChatAnswer(OllamaAnswer, kw_only=True):
    """Answer of `POST /api/chat`, or one line of it."""

    message: OllamaMessage


class OllamaGenerateAnswer(OllamaAnswer, kw_only=True):
    """Answer of `POST /api/generate`, or one line of it."""

    response: str = ""
    thinking: str | UnsetType = UNSET


class OllamaEmbedAnswer(ReplyStruct, kw_only=True):
    """Vectors of texts; the times are nanoseconds."""

    model: str
    embeddings: list[list[float]]
    total_duration: int
    load_duration: int
    """Load of a model that was not in memory."""
    prompt_eval_count: int
    """Tokens of the texts, the cached ones included."""


class OllamaModelDetails(ReplyStruct, kw_only=True):
    """Kind of a model; empty where a model that was never loaded cannot tell yet."""

    parent_model: str = ""
    format: str = ""
    """`safetensors` or `gguf`."""
    family: str = ""
    families: tuple[str, ...] = ()
    parameter_size: str = ""
    """Number of parameters, such as `134.5M`."""
    quantization_level: str = ""


class OllamaListedModel(ReplyStruct, kw_only=True):
    """One served model."""

    name: str
    model: str
    modified_at: str
    """Time at which the server started, in RFC 3339."""
    size: int
    """Bytes of the weights in memory; 0 before the first load."""
    digest: str
    """SHA-256 of the model's source, not of its files."""
    details: OllamaModelDetails


class OllamaModelList(ReplyStruct, kw_only=True):
    """Served models, loaded or not."""

    models: list[OllamaListedModel]


class OllamaLoadedModel(ReplyStruct, kw_only=True):
    """One model in memory."""

    name: str
    model: str
    size: int
    """Bytes that the engine takes: weights, activations and cache."""
    digest: str
    details: OllamaModelDetails
    expires_at: str
    """Time of its unload if no request comes, in RFC 3339; the year 9999 without a limit."""
    size_vram: int
    """The same bytes for an engine on a GPU, else 0."""
    context_length: int


class OllamaLoadedModels(ReplyStruct, kw_only=True):
    """Models in memory."""

    models: list[OllamaLoadedModel]


class OllamaModel(ReplyStruct, kw_only=True):
    """Description of one served model."""

    modelfile: str
    parameters: str
    """Sampling defaults, one a line."""
    template: str
    """The chat template, in Jinja."""
    details: OllamaModelDetails
    model_info: dict[str, Any]
    capabilities: list[OllamaCapability]
    modified_at: str


class OllamaProgress(ReplyStruct, kw_only=True):
    """One line of a pull."""

    status: str
    digest: str | UnsetType = UNSET
    total: int | UnsetType = UNSET
    """Bytes of the download."""
    completed: int | UnsetType = UNSET


class OllamaVersion(ReplyStruct, kw_only=True):
    """Version of Ollama's API that is answered, and YAIE's own."""

    version: str
    yaie_version: str
