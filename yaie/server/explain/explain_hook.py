"""`ExplainHook`: the cache explanation and the comparison that a completion request asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import Request

from yaie.server.explain.explain_queries import explain_body
from yaie.server.models.request_hook import ReadRequest, RequestHook
from yaie.server.models.service import Service
from yaie.server.replies.delivery import unless_gone
from yaie.server.replies.generation import Generation
from yaie.server.requests.call import Call
from yaie.server.requests.comparison import CacheNotes, compare
from yaie.server.requests.digests import RecentDigests


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

    def opened(self, request: Request, generation: Generation) -> None:
        """See `RequestHook.opened`: remembers the digest of a chat."""
        call = generation.call
        if call.digest is not None:
            first = call.requests[0]
            self._recent.add(call.response_id, (first.owner, first.cache_salt), call.digest)
