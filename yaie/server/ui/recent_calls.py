"""`RecentCalls`: the last calls of all models, to be explained on `/ui`, and their series."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request

from yaie.base.embedding_info import Pooling
from yaie.server.models.request_hook import ReadRequest, RequestHook
from yaie.server.replies.ended_call import EndedCall
from yaie.server.replies.generation import Generation
from yaie.server.requests.call import Call
from yaie.server.requests.comparison import CacheNotes
from yaie.server.schemas.base import RequestBody
from yaie.server.ui.series import Series

_MOST = 50
_MOST_BODY_BYTES = 2**18
_MOST_BODIES_BYTES = 2**21  # as sent, of all kept bodies: a body may be 20 times as large here
_MOST_TOKENS = 2**20  # of remembered prompts


@dataclass(frozen=True, slots=True)
class RecentCall:
    """One call that has ended; its first prompt stands for all."""

    id: str
    model: str
    at: float  # unix time of its end, seconds
    owner: str
    tenant: str
    cache_salt: str
    adapter: str
    token_ids: tuple[int, ...]
    pooling: Pooling | None  # None: the answer is text
    num_prompt: int
    num_cached: int
    num_output: int
    first_token_s: float | None
    total_s: float
    body: RequestBody | None  # that names the messages; None for a large one
    body_bytes: int


class RecentCalls(RequestHook):
    """The last calls, newest last, and the series of each model."""

    def __init__(self, *, keeps_bodies: bool) -> None:
        self._keeps_bodies = keeps_bodies
        self.calls: deque[RecentCall] = deque(maxlen=_MOST)
        self.num_calls = 0  # since the start
        self.series: dict[str, Series] = {}

    def series_of(self, model: str) -> Series:
        """Return the series of a model."""
        return self.series.setdefault(model, Series())

    def find(self, request_id: str) -> RecentCall | None:
        """Return a call by its id."""
        return next((each for each in self.calls if each.id == request_id), None)

    async def before_open(
        self, read: ReadRequest[Any], call: Call, notes: CacheNotes
    ) -> CacheNotes:
        """See `RequestHook.before_open`: keeps the body until the call has ended."""
        size = read.http.headers.get("content-length", "")
        is_small = size.isdecimal() and int(size) <= _MOST_BODY_BYTES
        if self._keeps_bodies and is_small and not call.is_pooled:
            read.http.state.recent_body = read.body, int(size)
        return notes

    def on_open(self, request: Request, generation: Generation) -> None:
        """See `RequestHook.on_open`: notes the call when it has ended."""
        model = getattr(request.state, "model", "")
        body, size = getattr(request.state, "recent_body", (None, 0))
        generation.at_close.append(lambda ended: self._note(model, body, size, ended))

    def _note(self, model: str, body: RequestBody | None, size: int, ended: EndedCall) -> None:
        self.series_of(model).note_call(ended)
        if ended.is_lost:
            return
        first, usage = ended.call.requests[0], ended.usages[0]
        self.num_calls += 1
        self.calls.append(
            RecentCall(
                id=ended.call.response_id,
                model=model,
                at=time.time(),
                owner=first.owner,
                tenant=first.tenant,
                cache_salt=first.cache_salt,
                adapter=first.adapter,
                token_ids=tuple(first.prompt_token_ids),
                pooling=first.pooling,
                num_prompt=usage.prompt_tokens,
                num_cached=usage.cached_tokens,
                num_output=ended.usage.completion_tokens,
                first_token_s=ended.first_token_s,
                total_s=ended.total_s,
                body=body,
                body_bytes=size,
            )
        )
        self._forget_bodies()
        while sum(len(each.token_ids) for each in self.calls) > _MOST_TOKENS:
            self.calls.popleft()

    def _forget_bodies(self) -> None:
        """Drop the oldest bodies beyond the limit."""
        size = 0
        for at in reversed(range(len(self.calls))):
            call = self.calls[at]
            size += call.body_bytes
            if size > _MOST_BODIES_BYTES and call.body is not None:
                self.calls[at] = replace(call, body=None)
