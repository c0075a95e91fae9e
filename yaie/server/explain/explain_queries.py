"""Engine queries: explain prompts, count cached tokens, and the hook for `explain_cache`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from starlette.requests import Request

from yaie.base.queries import ExplainPrompt, Explanation
from yaie.server.explain.explained_prompt import (
    ExplainedPrompt,
    prompt_of_body,
    read_prompt,
)
from yaie.server.explain.explanation import NUM_SHOWN, explain
from yaie.server.http.body import as_body, text_bytes
from yaie.server.models.request_hook import ReadRequest, RequestHook
from yaie.server.models.served_model import ServedModel
from yaie.server.models.service import Service
from yaie.server.replies.delivery import unless_gone
from yaie.server.replies.generation import Generation
from yaie.server.requests.call import Call
from yaie.server.requests.comparison import CacheNotes, compare
from yaie.server.requests.digests import RecentDigests
from yaie.server.requests.translator import Translator
from yaie.server.schemas.base import RequestBody
from yaie.server.schemas.cache import UsageExplanation
from yaie.server.schemas.tokens import CountBody

Prompts = tuple[ExplainedPrompt, ExplainedPrompt | None]


async def explain_prompt(
    service: Service,
    request: Request,
    model: ServedModel,
    prompt: ExplainedPrompt,
    name: str | None,
) -> UsageExplanation:
    """Explain how much of a prompt is cached in a model in use, which the body calls `name`.

    Raises `EngineUnavailable`.
    """
    query = ExplainPrompt(
        token_ids=tuple(prompt.token_ids),
        owner=service.owner(request),
        cache_salt=prompt.cache_salt,
        num_shown=NUM_SHOWN if service.shows_held(request) else 0,
        names_salts=bool(service.owner(request)),
        adapter=model.adapters.named(name),
    )
    found = await model.client.ask(query)
    assert isinstance(found, Explanation)
    changed: tuple[str, ...] = ()
    if prompt.digest is not None:
        changed = request.app.state.recent_digests.find_changes(
            (query.owner, query.cache_salt), prompt.digest
        )
    tenant = service.tenant(request)
    return await service.run_in_thread(explain, prompt, found, changed, tenant=tenant)


async def explain_body(
    service: Service, request: Request, model: ServedModel, body: RequestBody, deadline: float
) -> UsageExplanation:
    """Explain the prompt of a request before the request starts; `deadline` is a loop time."""
    prompt = await service.translate(
        model,
        prompt_of_body,
        body,
        deadline,
        tenant=service.tenant(request),
        num_bytes=text_bytes(request, body),
    )
    return await explain_prompt(service, request, model, prompt, body.model)


async def count_cached(model: ServedModel, queries: Iterable[ExplainPrompt]) -> int:
    """Count the cached tokens of prompts. Raises `EngineUnavailable`."""
    cached = 0
    for query in queries:
        found = await model.client.ask(query)
        assert isinstance(found, Explanation)
        # The last is always computed.
        cached += min(found.num_held, len(query.token_ids) - 1)
    return cached


def both_prompts(
    translator: Translator, fields: dict[str, Any], compared: dict[str, Any] | None
) -> Prompts:
    """Return the prompts of two bodies. Raises `InvalidRequest`."""
    other = None
    if compared is not None:
        other = read_prompt(translator, as_body(compared, CountBody).fields)
    return read_prompt(translator, fields), other


class ExplainHook(RequestHook):
    """Explains prompts before they start, and compares chats with `recent` ones."""

    def __init__(self, service: Service, recent: RecentDigests) -> None:
        self._service = service
        self._recent = recent

    async def before_open(
        self, read: ReadRequest[Any], call: Call, notes: CacheNotes
    ) -> CacheNotes:
        """See `RequestHook.before_open`. Raises `ClientGone` for a client that leaves."""
        if getattr(read.body, "explain_cache", None):
            explaining = explain_body(
                self._service, read.http, read.model, read.body, read.deadline
            )
            explanation = await unless_gone(read.http.receive, explaining)
            notes = replace(notes, explanation=explanation)
        if call.is_compared and call.digest is not None:
            first = call.requests[0]
            compared = compare(
                self._recent, (first.owner, first.cache_salt), call.compared_with, call.digest
            )
            notes = replace(notes, compared=compared)
        return notes

    def on_open(self, request: Request, generation: Generation) -> None:
        """See `RequestHook.on_open`: remembers the digest of a chat."""
        call = generation.call
        if call.digest is not None:
            first = call.requests[0]
            self._recent.add(call.response_id, (first.owner, first.cache_salt), call.digest)
