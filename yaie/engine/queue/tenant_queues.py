"""Tenant queues: the waiting requests of each tenant, and those that yield to a tenant with fewer.

Pure. A full queue still takes a request whose tenant has less waiting, over its weight, than
another: the newest calls of the tenant with the most are displaced. A call yields with all its
requests, since one error fails it; a call that has begun never yields.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from yaie.engine.request import Request


@dataclass(slots=True)
class _Queue:
    weight: float
    # Waiting requests of each call, in order of arrival.
    calls: dict[str, dict[Request, None]] = field(default_factory=dict)
    unbegun: dict[str, None] = field(default_factory=dict)  # calls that no request has left
    num_requests: int = 0
    num_tokens: int = 0  # in their prompts

    def levels(self) -> tuple[float, float]:
        """Return its requests and its tokens, over its weight."""
        return self.num_requests / self.weight, self.num_tokens / self.weight

    def newest(self) -> Iterator[list[Request]]:
        """Yield the requests of each call that has not begun; all newest first."""
        for call in reversed(self.unbegun):
            yield list(reversed(self.calls[call]))


class _Claim:
    """A tenant's queue without the calls that were chosen to yield."""

    def __init__(self, queue: _Queue) -> None:
        self._weight = queue.weight
        self._newest = queue.newest()
        self.levels = list(queue.levels())

    def give_up(self, at: int, wanted: float) -> list[Request]:
        """Return its newest call, if every request leaves from a level above `wanted`.

        `at`: 0 for levels in requests, 1 in tokens. Else the list is empty.
        """
        call = next(self._newest, [])
        sizes = (len(call), sum(len(each.prompt) for each in call))
        last = (1, len(call[-1].prompt)) if call else (0, 0)
        if self.levels[at] - (sizes[at] - last[at]) / self._weight <= wanted:
            return []
        self.levels = [
            level - size / self._weight for level, size in zip(self.levels, sizes, strict=True)
        ]
        return call


class TenantQueues:
    """Waiting requests by tenant."""

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self._weights = dict(weights or {})
        self._queues: dict[str, _Queue] = {}
        # No tenant yields to a level as high as this, in requests and in tokens: a refusal looks at
        # every tenant only once after a change.
        self._bounds = [0.0, 0.0]

    def add(self, request: Request) -> None:
        """Add a request that begins to wait."""
        queue = self._queues.get(request.tenant)
        if queue is None:
            queue = self._queues[request.tenant] = _Queue(self._weight(request.tenant))
        if request.call not in queue.calls:
            queue.calls[request.call] = {}
            queue.unbegun[request.call] = None
        queue.calls[request.call][request] = None
        queue.num_requests += 1
        queue.num_tokens += len(request.prompt)
        self._note_change(queue)

    def remove(self, request: Request) -> None:
        """Remove a request that was added: its call has begun, or has failed."""
        queue = self._queues[request.tenant]
        queue.unbegun.pop(request.call, None)
        del queue.calls[request.call][request]
        if not queue.calls[request.call]:
            del queue.calls[request.call]
        queue.num_requests -= 1
        queue.num_tokens -= len(request.prompt)
        self._note_change(queue)  # an older call may yield now
        if not queue.calls:
            del self._queues[request.tenant]

    def choose_displaced(
        self, tenant: str, num_tokens: int, excess_requests: int, excess_tokens: int
    ) -> list[Request] | None:
        """Return requests to displace for a new one of `num_tokens`.

        They are at least `excess_requests`, with at least `excess_tokens`. Each leaves from a
        tenant that until then has more than `tenant` with the new request, over their weights: in
        requests for `excess_requests`, then in tokens. None if too few do.
        """
        weight = self._weight(tenant)
        mine = self._queues.get(tenant) or _Queue(weight)
        wanted = ((mine.num_requests + 1) / weight, (mine.num_tokens + num_tokens) / weight)
        excess = [excess_requests, excess_tokens]
        exceeded = [at for at in (0, 1) if excess[at] > 0]
        if any(self._bounds[at] <= wanted[at] for at in exceeded):
            return None
        levels = [(queue.levels(), queue) for queue in self._queues.values()]
        self._bounds = [max(each[at] for each, _ in levels) for at in (0, 1)] if levels else [0, 0]
        claims = [
            _Claim(queue) for each, queue in levels if any(each[at] > wanted[at] for at in exceeded)
        ]
        displaced: list[Request] = []
        for at in exceeded:
            rivals = [(-claim.levels[at], number) for number, claim in enumerate(claims)]
            heapq.heapify(rivals)
            while excess[at] > 0:
                if not rivals:
                    if at == 0 and excess_requests == 1:
                        self._bounds[0] = wanted[0]
                    return None
                number = rivals[0][1]
                call = claims[number].give_up(at, wanted[at])
                if not call:
                    heapq.heappop(rivals)
                    continue
                heapq.heapreplace(rivals, (-claims[number].levels[at], number))
                displaced += call
                excess[0] -= len(call)
                excess[1] -= sum(len(each.prompt) for each in call)
        return displaced

    def _note_change(self, queue: _Queue) -> None:
        self._bounds = [max(pair) for pair in zip(self._bounds, queue.levels(), strict=True)]

    def _weight(self, tenant: str) -> float:
        return self._weights.get(tenant, 1.0)
