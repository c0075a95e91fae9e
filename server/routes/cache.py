"""`POST /v1/cache/explain`: how far a prompt is cached, and why no further."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from server.bodies import read_body
from server.cache.explanation import NUM_SHOWN, comparison_of, document_of
from server.cache.prompt import ExplainedPrompt, read_prompt
from server.endpoint import CLIENT_CLOSED, described_body
from server.schemas.cache import CacheExplanation, ExplainBody
from server.service import Service
from server.streaming import ClientGone, unless_gone
from server.translate import Translator
from yaie.queries import ExplainPrompt, Explanation

router = APIRouter(tags=["cache"])
_CHAT = {"messages": [{"role": "user", "content": "What is a radix tree?"}]}
_EXAMPLES = {
    "conversation": _CHAT,
    "text": {"prompt": "What is a radix tree?"},
    "two": _CHAT | {"compare_with": {"messages": [{"role": "user", "content": "What is a slot?"}]}},
}


def _prompts(
    translator: Translator, body: ExplainBody
) -> tuple[ExplainedPrompt, ExplainedPrompt | None]:
    other = None if body.compare_with is None else read_prompt(translator, body.compare_with)
    return read_prompt(translator, body.fields), other


def _document(
    prompt: ExplainedPrompt,
    found: Explanation,
    changed: tuple[str, ...],
    other: ExplainedPrompt | None,
) -> dict[str, Any]:
    document = document_of(prompt, found, changed)
    document["comparison"] = None if other is None else comparison_of(prompt, other)
    return document


@router.post(
    "/v1/cache/explain",
    openapi_extra=described_body(ExplainBody, _EXAMPLES),
    responses={200: {"model": CacheExplanation}},
)
async def explain_cache(request: Request) -> Response:
    """Explain how many tokens of a prompt are cached, and why the rest is not."""
    service: Service = request.app.state.service
    try:
        body = await read_body(request, ExplainBody)
        deadline = asyncio.get_running_loop().time() + service.settings.request_timeout_s
        model = service.model(body.model)
        with await service.use(model, request.receive, deadline):
            work = service.translate(model, _prompts, body, deadline)
            prompt, other = await unless_gone(request.receive, work)
            query = ExplainPrompt(
                token_ids=tuple(prompt.token_ids),
                owner=service.owner(request),
                cache_salt=prompt.cache_salt,
                num_shown=NUM_SHOWN if service.shows_held(request) else 0,
                names_salts=bool(service.owner(request)),
            )
            found = await unless_gone(request.receive, model.client.ask(query))
    except (ClientDisconnect, ClientGone):
        return Response(status_code=CLIENT_CLOSED)
    assert isinstance(found, Explanation)
    changed: tuple[str, ...] = ()
    if prompt.digest is not None:
        changed = service.recent.changed((query.owner, query.cache_salt), prompt.digest)
    document = await service.run_in_thread(partial(_document, prompt, found, changed, other))
    document["model"] = body.model or model.name
    return Response(msgspec.json.encode(document), media_type="application/json")
