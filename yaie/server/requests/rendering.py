"""Rendering of a request: its token ids and sampling parameters, without generation.

Routers that send a request to the engine with the longest cached prefix ask for the ids first.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from yaie.base.types import GenerationRequest
from yaie.server.requests.call import Call


def rendered(call: Call, max_model_len: int) -> list[dict[str, Any]]:
    """Return the engine requests of a call as JSON values; see `RenderedRequest`."""
    return [_rendered(call, request, max_model_len) for request in call.requests]


def _rendered(call: Call, request: GenerationRequest, max_model_len: int) -> dict[str, Any]:
    sampling = request.sampling
    if sampling.max_tokens is None:
        sampling = replace(sampling, max_tokens=max_model_len - len(request.prompt_token_ids))
    return {
        "request_id": request.request_id,
        "model": call.model,
        "token_ids": request.prompt_token_ids,
        "sampling_params": asdict(sampling),
        "features": None,
        "stream": call.stream,
        "cache_salt": request.cache_salt or None,
        "priority": request.priority,
    }
