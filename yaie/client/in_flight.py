"""The requests of one client that are not answered yet, and the queue of deltas of each.

Both clients deliver the engine's deltas here and hand each caller its own. Everything runs on
the event loop of the callers; an engine thread comes in through `call_soon_threadsafe`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

from yaie.errors import InvalidRequest, YaieError
from yaie.types import GenerationRequest, TokenDelta


class PendingRequest:
    """One request: deltas that came and were not taken, and whether more will come."""

    def __init__(self, request: GenerationRequest) -> None:
        self.request_id = request.request_id
        self.submission = request.submission
        self._unfinished = set(range(request.sampling.n))
        self._queue: asyncio.Queue[TokenDelta | YaieError] = asyncio.Queue()
        self._failed = False

    @property
    def wants_more(self) -> bool:
        """Whether the caller is owed anything."""
        return bool(self._unfinished) and not self._failed

    def put(self, delta: TokenDelta) -> None:
        """Keep a delta for the caller."""
        if delta.finish_reason == "error":
            self._unfinished.clear()  # an error ends the request, not one sequence of it
        elif delta.finish_reason is not None:
            self._unfinished.discard(delta.index)
        self._queue.put_nowait(delta)

    def fail(self, error: YaieError) -> None:
        """Let the caller get `error` after what it has not taken yet."""
        self._failed = True
        self._queue.put_nowait(error)

    async def take(self) -> TokenDelta | None:
        """The next delta; None after the last. Raises the error that ended the request."""
        if self._queue.empty() and not self._unfinished:
            return None
        item = await self._queue.get()
        if isinstance(item, YaieError):
            raise item
        return item


class InFlight:
    """All pending requests of one client, by id."""

    def __init__(self) -> None:
        self._pending: dict[str, PendingRequest] = {}
        self._submissions = itertools.count(1)

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def wants_more(self) -> bool:
        """Whether the engine owes anything."""
        return any(pending.wants_more for pending in self._pending.values())

    def number(self, request: GenerationRequest) -> GenerationRequest:
        """The request as it is sent. What is still said of an earlier one that had its id, and
        was left, is told from what is said of this one by the number.
        """
        return replace(request, submission=next(self._submissions))

    def open(self, request: GenerationRequest) -> PendingRequest:
        """Begin to collect deltas of `request`. Raises `InvalidRequest` where its id is in use."""
        if request.request_id in self._pending:
            raise InvalidRequest(
                f"a request with the id {request.request_id!r} is still being answered;"
                " give each request its own id",
                param="request_id",
            )
        pending = PendingRequest(request)
        self._pending[request.request_id] = pending
        return pending

    def close(self, pending: PendingRequest) -> None:
        """Forget a request; deltas that still come for it are dropped."""
        self._pending.pop(pending.request_id, None)

    def deliver(self, deltas: Iterable[TokenDelta]) -> None:
        """Hand each delta to the request that it belongs to, if anybody still waits for it."""
        pending = self._pending
        for delta in deltas:
            request = pending.get(delta.request_id)
            if request is None or request.submission != delta.submission:
                continue
            if request.wants_more:
                request.put(delta)

    def fail_all(self, make_error: Callable[[], YaieError]) -> int:
        """End every request that is not finished with an error of its own; returns how many."""
        hit = [pending for pending in self._pending.values() if pending.wants_more]
        for pending in hit:
            pending.fail(make_error())
        return len(hit)
