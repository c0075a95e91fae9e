"""Views of the requests that wait and run, for a page that shows them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from yaie.base.queries import Miss, ViewedRequest
from yaie.engine.request import Request, SequenceState
from yaie.engine.scheduler import Scheduler
from yaie.kvcache.node import Node
from yaie.kvcache.tree_view import owner_of


class RequestViews:
    """The requests of one scheduler, oldest first."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def live_nodes(self) -> Iterator[Node]:
        """Yield the nodes at which running sequences are."""
        for sequence in self._scheduler.running:
            if sequence.cursor is not None and sequence.cursor.node is not None:
                yield sequence.cursor.node

    def view(self, limit: int) -> tuple[list[ViewedRequest], int, int]:
        """Return the oldest requests, the number of others, and the prompt tokens of those."""
        alive = self._scheduler.requests
        shown = [self._view(each) for each in islice(alive.values(), limit)]
        others = islice(alive.values(), limit, None)
        num_tokens = sum(len(each.prompt) for each in others)
        return shown, len(alive) - len(shown), num_tokens

    def misses(self) -> tuple[Miss, ...]:
        """Return the misses of the last admitted requests."""
        return tuple(self._scheduler.misses)

    def _view(self, request: Request) -> ViewedRequest:
        scheduler = self._scheduler
        running = [each for each in request.sequences if each.state is SequenceState.RUNNING]
        if request.prompt_pass is not None:
            running = [request.prompt_pass]
        cursor = next((each.cursor for each in running if each.cursor is not None), None)
        num_cached = request.num_cached
        if num_cached is None:
            num_cached = max(0, len(request.prompt) - scheduler.count_uncached(request))
        return ViewedRequest(
            request_id=request.request_id,
            tenant=request.tenant,
            owner=owner_of(request.namespace)[0],
            is_running=bool(running),
            num_prompt=len(request.prompt),
            num_cached=num_cached,
            num_output=sum(len(each.output) for each in request.sequences),
            age_s=scheduler.age_s(request),
            node=cursor.node.number if cursor is not None and cursor.node is not None else 0,
        )
