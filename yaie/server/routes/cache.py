"""`/v1/cache`: why a prompt is cached or not, the largest branches, numbers, and the flush."""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec
from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

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
from yaie.server.explain.explanation import NUM_SHOWN, compare_prompts
from yaie.server.http.api_keys import require_admin
from yaie.server.http.body import json_reply, read_body
from yaie.server.models.served_model import ServedModel
from yaie.server.models.service import Service
from yaie.server.replies.delivery import ClientGone, unless_gone
from yaie.server.requests.translator import Translator
from yaie.server.routes.endpoint import CLIENT_CLOSED, describe_body
from yaie.server.schemas.cache import (
    BranchesBody,
    CacheBranch,
    CacheBranches,
    CacheExplanation,
    CacheStats,
    ExplainBody,
    FlushedCache,
    ModelCache,
)
from yaie.server.schemas.reply_struct import describe_reply
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
    responses={200: describe_reply(CacheExplanation)},
)
async def explain_cache(request: Request) -> Response:
    """Explain how many tokens of a prompt are cached, and why the rest is not."""
    service: Service = request.app.state.service
    try:
        body = await read_body(request, ExplainBody)
        deadline = asyncio.get_running_loop().time() + service.settings.request_timeout_s
        model = service.model(body.model)
        with await service.use(model, request.receive, deadline):
            work = service.translate(
                model, _prompts, body, deadline, tenant=service.tenant(request)
            )
            prompt, other = await unless_gone(request.receive, work)
            explaining = explain_prompt(service, request, model, prompt, body.model)
            found = await unless_gone(request.receive, explaining)
    except (ClientDisconnect, ClientGone):
        return Response(status_code=CLIENT_CLOSED)
    comparison = None
    if other is not None:
        comparison = await service.run_in_thread(
            compare_prompts, prompt, other, tenant=service.tenant(request)
        )
    return json_reply(
        CacheExplanation(
            model=body.model or model.name, comparison=comparison, **msgspec.structs.asdict(found)
        )
    )


@router.post(
    "/v1/cache/branches",
    openapi_extra=describe_body(BranchesBody, {"all": {}, "two": {"limit": 2}}),
    responses={200: describe_reply(CacheBranches)},
)
async def list_cache_branches(request: Request) -> Response:
    """List the largest branches of a namespace, in path order."""
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
                adapter=model.adapters.named(body.model),
            )
            found = await unless_gone(request.receive, model.client.ask(query))
    except (ClientDisconnect, ClientGone):
        return Response(status_code=CLIENT_CLOSED)
    assert isinstance(found, Branches)
    name, tokenizer = body.model or model.name, model.tokenizer
    return json_reply(await service.run_in_thread(partial(_branches, name, found, tokenizer)))


def _branches(model: str, found: Branches, tokenizer: Tokenizer) -> CacheBranches:
    return CacheBranches(
        model=model,
        tokens=found.num_tokens,
        is_complete=found.is_complete,
        branches=[
            CacheBranch(
                text=tokenizer.decode(each.token_ids, False),
                start=each.start,
                tokens=each.num_tokens,
                tokens_below=each.num_tokens_below,
                depth=each.depth,
                live=each.num_live,
                uses=each.num_uses,
                age_tokens=found.clock - each.last_used,
            )
            for each in found.branches
        ],
    )


@router.head("/v1/cache/stats", include_in_schema=False)
@router.get("/v1/cache/stats", responses={200: describe_reply(CacheStats)})
async def get_cache_stats(request: Request) -> Response:
    """Return the numbers of tokens, nodes and namespaces by loaded model."""
    service: Service = request.app.state.service
    answers = await _of_loaded(service, DescribeCache())
    data = [
        ModelCache(model=model.name, **msgspec.structs.asdict(found)) for model, found in answers
    ]
    return json_reply(CacheStats(data=data))


@router.post("/v1/cache/flush", responses={200: describe_reply(FlushedCache)})
async def flush_cache(request: Request) -> Response:
    """Evict every token that no running request needs, of every loaded model. Needs the admin key.

    Computed tokens of all namespaces are lost; answers stay the same.
    """
    service: Service = request.app.state.service
    require_admin(request.scope, service.settings.admin_key, "cache administration")
    evicted = kept = 0
    for _, found in await _of_loaded(service, FlushCache()):
        assert isinstance(found, Flushed)
        evicted += found.num_evicted_tokens
        kept += found.num_kept_tokens
    return json_reply(FlushedCache(evicted_tokens=evicted, kept_tokens=kept))


async def _of_loaded(service: Service, query: Query) -> list[tuple[ServedModel, Answer]]:
    """Ask every model that is ready; raise the error of the first model if all are unready."""
    loaded = [each for each in service.models.values() if each.state is EngineState.READY]
    if not loaded:
        service.check_available(service.model())
    answers = await asyncio.gather(*(model.client.ask(query) for model in loaded))
    return list(zip(loaded, answers, strict=True))
