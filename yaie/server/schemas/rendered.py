"""Answers of the `/render` endpoints: requests as the engine would get them."""

from __future__ import annotations

from typing import Any

from yaie.server.schemas.documented import Documented


class RenderedRequest(Documented):
    """One engine request, named as vLLM names its parts."""

    request_id: str
    model: str
    token_ids: list[int]
    """Ids of the prompt, special tokens included."""
    sampling_params: dict[str, Any]
    """Sampling parameters with all defaults; `max_tokens` includes the end of the context."""
    features: None
    """Images and audio, in vLLM."""
    stream: bool
    cache_salt: str | None
    priority: int
