"""Bodies and reply of `/v1/load_lora_adapter` and `/v1/unload_lora_adapter`, named as in vLLM."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from yaie.server.schemas.base import RequestBody
from yaie.server.schemas.reply_struct import ReplyStruct

MAX_NAME_CHARS = 256


class LoadAdapterBody(RequestBody):
    """An adapter to load; `model` names the model that it changes."""

    lora_name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)
    lora_path: str = Field(min_length=1)
    load_inplace: bool = False


class UnloadAdapterBody(RequestBody):
    """An adapter to unload."""

    lora_name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)


class AdapterReply(ReplyStruct, kw_only=True):
    """The adapter that was loaded or unloaded."""

    object: Literal["lora_adapter"] = "lora_adapter"
    id: str
    """Its name as a model."""
    parent: str
    """Model that it changes."""
    root: str
    """Folder of its files."""
    loaded: bool
    rank: int | None = None
    """Largest rank of its layers."""
    bytes: int | None = None
    """Its size in memory."""
