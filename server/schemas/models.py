"""Answers of `GET /v1/models` and `GET /v1/models/{id}`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class ModelLimits(BaseModel):
    """Largest values that a request for the model may have."""

    model_config = ConfigDict(extra="forbid")

    max_choices: int  # `n`
    max_logprobs: int
    max_stop_strings: int
    max_logit_bias: int
    max_messages: int
    max_tools: int
    max_body_bytes: int


class ModelCapabilities(BaseModel):
    """Abilities of the model by its chat template."""

    model_config = ConfigDict(extra="forbid")

    completion: Literal[True] = True
    chat: bool
    tools: bool  # the template shows tools to the model
    reasoning: bool  # the template knows thoughts before an answer
    embeddings: Literal[False] = False
    chat_template_kwargs: list[str]  # variables that the template reads


class ModelCard(BaseModel):
    """Description of one served model; null where a model that loads cannot tell yet."""

    model_config = ConfigDict(extra="forbid")

    id: str
    object: Literal["model"] = "model"
    created: int  # unix time, seconds
    owned_by: Literal["yaie"] = "yaie"
    root: str  # the name or folder that it was loaded from
    parent: None = None  # of an adapter, as in vLLM
    max_model_len: int | None = None  # prompt plus completion, in tokens
    architecture: str | None = None
    dtype: str | None = None
    quantization: str | None = None
    limits: ModelLimits | None = None
    capabilities: ModelCapabilities | None = None


class ModelList(BaseModel):
    """List of the served models."""

    model_config = ConfigDict(extra="forbid")

    object: Literal["list"] = "list"
    data: list[ModelCard]
