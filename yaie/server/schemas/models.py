"""Replies of `GET /v1/models` and `GET /v1/models/{id}`, in the formats of two APIs."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from yaie.server.schemas.reply_struct import ReplyStruct


class ModelLimits(ReplyStruct, kw_only=True):
    """Largest values that a request for the model may have."""

    max_choices: int
    """Largest `n`."""
    max_logprobs: int
    max_stop_strings: int
    max_logit_bias: int
    max_messages: int
    max_tools: int
    max_body_bytes: int


class ModelCapabilities(ReplyStruct, kw_only=True):
    """Abilities of the model by its chat template."""

    completion: bool = True
    chat: bool
    tools: bool
    """The template shows tools to the model."""
    tool_format: str | None
    """Format of calls in answers, as `--tool-call-parser` names it."""
    reasoning: bool
    """The template knows thoughts before an answer."""
    embeddings: bool = False
    rerank: bool = False
    input_modalities: tuple[Literal["text"], ...] = ("text",)
    """Kinds of input; images and audio are refused, also by models that were made for them."""
    chat_template_kwargs: list[str]
    """Variables that the template reads."""


class ModelCard(ReplyStruct, kw_only=True):
    """Description of one served model; null where a model that loads cannot tell yet."""

    id: str
    object: Literal["model"] = "model"
    created: int
    """Unix time in seconds."""
    owned_by: Literal["yaie"] = "yaie"
    permission: tuple[()] = ()
    """Empty, for clients that read OpenAI's older form."""
    root: str
    """Repository or folder that the settings name; the folder of an adapter."""
    parent: str | None = None
    """Model that an adapter changes, as in vLLM; null for a model."""
    max_model_len: int | None = None
    """Longest prompt plus completion, in tokens."""
    default_max_tokens: int | None = None
    """Limit for requests without one; null: 16 for texts, the rest of the context for chats."""
    default_sampling: dict[str, float] | None = None
    """Sampling of requests that leave it open."""
    architecture: str | None = None
    dtype: str | None = None
    quantization: str | None = None
    execution: str | None = None
    """Executor of the layers: native, fused or transformers, the slowest."""
    execution_reason: str | None = None
    """Why no faster executor runs; null for the fastest."""
    limits: ModelLimits | None = None
    capabilities: ModelCapabilities | None = None


class ReasoningLevel(ReplyStruct, kw_only=True):
    """Value of `reasoning.effort` that the model's template reads."""

    effort: str
    description: str


class TruncationPolicy(ReplyStruct, kw_only=True):
    """Limit on a tool's output that the agent sends."""

    mode: Literal["bytes"] = "bytes"
    limit: int = 10_000


class AgentModel(ReplyStruct, kw_only=True):
    """Description of one served model in the catalogue form of the agent Codex."""

    slug: str
    """Name of the model."""
    display_name: str
    description: None = None
    base_instructions: str
    """System message of the agent."""
    context_window: int | None = None
    max_context_window: int | None = None
    input_modalities: tuple[Literal["text"], ...] = ("text",)
    default_reasoning_level: str | None = None
    supported_reasoning_levels: list[ReasoningLevel]
    supports_reasoning_summaries: bool = False
    support_verbosity: bool = False
    default_verbosity: None = None
    supports_parallel_tool_calls: bool = True
    shell_type: Literal["default"] = "default"
    apply_patch_tool_type: None = None
    experimental_supported_tools: tuple[()] = ()
    truncation_policy: TruncationPolicy = field(default_factory=TruncationPolicy)
    visibility: Literal["list"] = "list"
    supported_in_api: bool = True
    priority: int = 0
    upgrade: None = None


class ModelList(ReplyStruct, kw_only=True):
    """List of the served models."""

    object: Literal["list"] = "list"
    data: list[ModelCard]
    models: list[AgentModel]
    """The same models for Codex."""


class MessagesModelCard(ReplyStruct, kw_only=True):
    """Description of one served model in Anthropic's format."""

    type: Literal["model"] = "model"
    id: str
    display_name: str
    created_at: str
    """Time of its start in RFC 3339."""
    lifecycle: Literal["active"] = "active"
    deprecated_at: None = None
    retires_at: None = None
    line: None = None
    """Family of models that Anthropic names."""
    capabilities: None = None
    """Abilities of Anthropic's own models."""
    max_input_tokens: int | None = None
    """Longest prompt, with room for one token of the answer; null while the model loads."""
    max_tokens: int | None = None
    """Longest answer, to a prompt of one token."""


class MessagesModelList(ReplyStruct, kw_only=True):
    """Page of the served models in Anthropic's format."""

    data: list[MessagesModelCard]
    has_more: bool
    first_id: str | None
    last_id: str | None
