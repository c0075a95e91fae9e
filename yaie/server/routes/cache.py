"""`/v1/cache`: why a prompt is cached or not, the largest branches, numbers, and the flush."""

from __future__ import annotations

import asyncio
import hmac
from functools import partial
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from yaie.base.errors import AuthenticationFailed
from yaie.base.queries import (
    Answer,
    Branches,
    DescribeCache,
    FlushCache,
    Flushed,
    ListBranches,
    Query,
)
from yaie.base.types import EngineState
from yaie.server.explain.explain_queries import Prompts, both_prompts, explain_prompt
from yaie.server.explain.explanation import NUM_SHOWN
from yaie.server.http.body import read_body
from yaie.server.http.middleware import read_keys
from yaie.server.models.served_model import ServedModel
from yaie.server.models.service import Service
from yaie.server.replies.delivery import ClientGone, unless_gone
from yaie.server.requests.translator import Translator
from yaie.server.routes.endpoint import CLIENT_CLOSED, describe_body
from yaie.server.schemas.cache import (
    BranchesBody,
    CacheBranches,
    CacheExplanation,
    CacheStats,
    ExplainBody,
    FlushedCache,
)
from yaie.text.tokenizer import Tokenizer

router = APIRouter(tags=["cache"])
_CHAT = {"messages": [{"role": "user", "content": "What is a radix tree?"}]}
_EXAMPLES = {
    "conversation": _CHAT,
    "text": {"prompt": "What is a radix tree?"},
    "two": _CHAT | {"compare_with": {"messages": [{"role": "user", "content": "What is a slot?"}]}},
}


def _prompts(translator: Translator, body: ExplainBody) -> Prompts:
    return both_prompts(translator, body.fields, body.compare_with)


@router.post(
    "/v1/cache/explain",
    openapi_extra=describe_body(ExplainBody, _EXAMPLES),
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
            asked = explain_prompt(service, request, model, prompt, other)
            document = await unless_gone(request.receive, asked)
    except (ClientDisconnect, ClientGone):
        return Response(status_code=CLIENT_CLOSED)
    document["model"] = body.model or model.name
    return Response(msgspec.json.encode(document), media_type="application/json")


@router.post(
    "/v1/cache/branches",
    openapi_extra=describe_body(BranchesBody, {"all": {}, "two": {"limit": 2}}),
    responses={200: {"model": CacheBranches}},
)
async def list_cache_branches(request: Request) -> Response:
    """List the largest branches of a namespace, those of one path in order."""
    service: Service = request.app.state.service
    try:
        body = await read_body(request, BranchesBody)
        deadline = asyncio.get_running_loop().time() + service.settings.request_timeout_s
        model = service.model(body.model)
        with await service.use(model, request.receive, deadline):
            service.check_available(model)
            query = ListBranches(
                owner=service.owner(request),
                cache_salt=body.cache_salt or "",
                limit=body.check_limit(),
                num_shown=NUM_SHOWN if service.shows_held(request) else 0,
            )
            found = await unless_gone(request.receive, model.client.ask(query))
    except (ClientDisconnect, ClientGone):
        return Response(status_code=CLIENT_CLOSED)
    assert isinstance(found, Branches)
    tokenizer = model.tokenizer
    document = await service.run_in_thread(partial(_branches, found, tokenizer))
    document["model"] = body.model or model.name
    return Response(msgspec.json.encode(document), media_type="application/json")


def _branches(found: Branches, tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "object": "cache.branches",
        "tokens": found.num_tokens,
        "is_complete": found.is_complete,
        "branches": [
            {
                "text": tokenizer.decode(each.token_ids, False),
                "start": each.start,
                "tokens": each.num_tokens,
                "tokens_below": each.num_tokens_below,
                "depth": each.depth,
                "live": each.num_live,
                "uses": each.num_uses,
                "age_tokens": found.clock - each.last_used,
            }
            for each in found.branches
        ],
    }


@router.head("/v1/cache/stats", include_in_schema=False)
@router.get("/v1/cache/stats", responses={200: {"model": CacheStats}})
async def get_cache_stats(request: Request) -> Response:
    """Return numbers of tokens, nodes and namespaces of every loaded model."""
    service: Service = request.app.state.service
    answers = await _of_loaded(service, DescribeCache())
    data = [{"model": model.name, **msgspec.structs.asdict(found)} for model, found in answers]
    document = {"object": "list", "data": data}
    return Response(msgspec.json.encode(document), media_type="application/json")


@router.post("/v1/cache/flush", responses={200: {"model": FlushedCache}})
async def flush_cache(request: Request) -> Response:
    """Evict every token that no running request needs, of every loaded model. Needs the admin key.

    Computed tokens of all namespaces are lost; answers stay the same.
    """
    service: Service = request.app.state.service
    _check_admin(request, service.settings.admin_key)
    evicted = kept = 0
    for _, found in await _of_loaded(service, FlushCache()):
        assert isinstance(found, Flushed)
        evicted += found.num_evicted_tokens
        kept += found.num_kept_tokens
    document = {"object": "cache.flushed", "evicted_tokens": evicted, "kept_tokens": kept}
    return Response(msgspec.json.encode(document), media_type="application/json")


async def _of_loaded(service: Service, query: Query) -> list[tuple[ServedModel, Answer]]:
    """Ask every model that is ready; raise the error of the first model if all are unready."""
    loaded = [each for each in service.models.values() if each.state is EngineState.READY]
    if not loaded:
        service.check_available(service.model())
    answers = await asyncio.gather(*(model.client.ask(query) for model in loaded))
    return list(zip(loaded, answers, strict=True))


def _check_admin(request: Request, admin_key: str | None) -> None:
    """Raise `AuthenticationFailed` unless a request has the admin key."""
    if not admin_key:
        raise AuthenticationFailed(
            "the cache has no administration here; start the server with YAIE_ADMIN_KEY"
        )
    given = read_keys(request.scope)
    if not any(hmac.compare_digest(key, admin_key.encode()) for key in given):
        raise AuthenticationFailed(
            "the admin key is wrong or missing; send Authorization: Bearer <YAIE_ADMIN_KEY>"
        )
