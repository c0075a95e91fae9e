"""Explanations of past calls: their prompts are cached by now, so the engine remembers the misses.

The tree still has the continuations that were cached where a prompt left it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.queries import ExplainPrompt, Explanation, TreeView, ViewTree
from yaie.server.explain.explained_prompt import prompt_of_body
from yaie.server.explain.prompt_fields import PromptField
from yaie.server.http.http_errors import RequestTimedOut
from yaie.server.models.served_model import ServedModel
from yaie.server.models.service import Service
from yaie.server.ui.recent_calls import RecentCall
from yaie.server.ui.viewer import Viewer

_NUM_BEFORE, _NUM_AFTER = 16, 16  # tokens around the first difference
_NO_TOKEN = -1
_PLACE_S = 5.0  # most time to render the messages again


async def explain_call(service: Service, viewer: Viewer, call: RecentCall) -> dict[str, Any]:
    """Return where a call's prompt left the cache, and why. Raises `EngineUnavailable`."""
    model = service.model(call.model)
    service.check_available(model)
    at = call.num_cached
    view = await model.client.ask(ViewTree(limit=0, num_requests=0))
    assert isinstance(view, TreeView)
    miss = next((each for each in view.misses if each.request_id == call.id), None)
    # A token that no prompt has: the look-up ends there, and the answer has what follows.
    query = ExplainPrompt(
        token_ids=(*call.token_ids[:at], _NO_TOKEN),
        owner=call.owner,
        cache_salt=call.cache_salt,
        num_shown=_NUM_AFTER,
        adapter=call.adapter,
    )
    found = await model.client.ask(query)
    assert isinstance(found, Explanation)
    own = call.token_ids[at] if at < len(call.token_ids) else None
    others = [each for each in found.held if each.token_ids and each.token_ids[0] != own]
    cause = "cached" if call.num_prompt - at <= 1 else "new"
    if _is_computed_whole(model, call):
        cause, others = "whole", []
    elif cause == "new" and miss is not None:
        cause = "evicted" if miss.num_evicted else miss.kind
    shows = viewer.sees_text(is_salted=bool(call.cache_salt))
    decode = model.tokenizer.decode

    def text(first: int, end: int) -> str | None:
        return decode(list(call.token_ids[max(0, first) : end]), False) if shows else None

    place = None if cause in ("cached", "whole") else await _place(service, model, call)
    return {
        "id": call.id,
        "cause": cause,
        "prompt": call.num_prompt,
        "cached": at,
        "evicted": miss.num_evicted if miss is not None else 0,
        "ttft": call.first_token_s,
        "position": at,
        "field": "" if place is None else place.name,
        "role": "" if place is None else place.role,
        "before": text(at - _NUM_BEFORE, at),
        "yours": text(at, at + _NUM_AFTER),
        "held": [
            {
                "text": decode(list(each.token_ids), False) if shows else None,
                "tokens": each.num_tokens,
            }
            for each in others
        ],
    }


def _is_computed_whole(model: ServedModel, call: RecentCall) -> bool:
    """Return True if each token of a call has a row, cached or not."""
    is_encoder = model.info is not None and model.info.execution == "encoder"
    return call.pooling == "mean" or is_encoder


async def _place(service: Service, model: ServedModel, call: RecentCall) -> PromptField | None:
    """Return the message or field where a call's prompt left the cache, if its body is known."""
    if call.body is None:
        return None
    deadline = asyncio.get_running_loop().time() + _PLACE_S
    try:
        prompt = await service.translate(model, prompt_of_body, call.body, deadline)
    except (InvalidRequest, RequestTimedOut):  # several prompts, or none that can be explained
        return None
    return await service.run_in_thread(prompt.field_at, call.num_cached)
