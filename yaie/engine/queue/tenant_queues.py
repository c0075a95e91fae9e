"""Tenant queues: the waiting requests of each tenant, and those that yield to a tenant with fewer.

Pure. A full queue still takes a request whose tenant has less waiting, over its weight, than
another: the newest requests of the tenant with the most are displaced. So one tenant may fill an
idle queue, and cannot keep others out of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from yaie.engine.request import Request


@dataclass(slots=True)
class _Queue:
    requests: dict[Request, None] = field(default_factory=dict)  # in order of arrival
    num_tokens: int = 0  # in their prompts


@dataclass(slots=True)
class _Claim:
    """Waiting requests of a tenant, without those that were chosen to yield."""

    weight: float
    num_requests: int
    num_tokens: int
    newest: Iterator[Request]

    def level(self, *, in_tokens: bool) -> float:
        if not self.num_requests:
            return -math.inf
        return (self.num_tokens if in_tokens else self.num_requests) / self.weight


class TenantQueues:
    """Waiting requests by tenant."""

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self._weights = dict(weights or {})
        self._queues: dict[str, _Queue] = {}

    def add(self, request: Request) -> None:
        """Add a request that begins to wait."""
        queue = self._queues.setdefault(request.tenant, _Queue())
        queue.requests[request] = None
        queue.num_tokens += len(request.prompt)

    def remove(self, request: Request) -> None:
        """Remove a request that was added."""
        queue = self._queues[request.tenant]
        del queue.requests[request]
        queue.num_tokens -= len(request.prompt)
        if not queue.requests:
            del self._queues[request.tenant]

    def choose_displaced(
        self, tenant: str, num_tokens: int, excess_requests: int, excess_tokens: int
    ) -> list[Request] | None:
        """Return requests to displace for a new one of `num_tokens`.

        They are at least `excess_requests`, with at least `excess_tokens`. None if that would
        leave `tenant` with more, over its weight, than those that yield.
        """
        mine = self._queues.get(tenant, _Queue())
        weight = self._weight(tenant)
        others = [
            _Claim(self._weight(name), len(each.requests), each.num_tokens, reversed(each.requests))
            for name, each in self._queues.items()
            if name != tenant
        ]
        displaced: list[Request] = []
        for in_tokens in (False, True):
            wanted = mine.num_tokens + num_tokens if in_tokens else len(mine.requests) + 1
            while (excess_tokens if in_tokens else excess_requests) > 0:
                most = max(others, key=lambda each: each.level(in_tokens=in_tokens), default=None)
                if most is None or most.level(in_tokens=in_tokens) <= wanted / weight:
                    return None
                request = next(most.newest)
                displaced.append(request)
                most.num_requests -= 1
                most.num_tokens -= len(request.prompt)
                excess_requests -= 1
                excess_tokens -= len(request.prompt)
        return displaced

    def _weight(self, tenant: str) -> float:
        return self._weights.get(tenant, 1.0)
