"""Scheduling policies: the order in which waiting requests are admitted. Pure.

Time is the tree's clock, in tokens. The scheduler tries to admit the next request of a policy; the
request stays queued if it does not fit. Policies learn of arrivals and departures, so that a call
costs at most one vectorised pass over the queue.

`prefix-aware` orders by the response ratio `(waited + cost) / cost`, with the cost in uncached
tokens: cheap requests go first, and waiting makes any request cheap in the end. For a bound under
overload, requests go before all others after `patience`, oldest first.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import numpy as np

from yaie.engine.request import Request
from yaie.errors import ConfigError

CostFunction = Callable[[Request], int]  # uncached tokens of the prompt; a pure look-up

_TRIES = 8  # look-ups of a cost before an answer is accepted
_PATIENCE_STEPS = 64  # full steps


class AdmissionPolicy(Protocol):
    """The order of waiting requests, and the rank of admitted ones when slots are short."""

    def add(self, request: Request) -> None:
        """Queue a request."""

    def remove(self, request: Request) -> None:
        """Remove a request that was admitted or has ended."""

    def next(self, clock: int) -> Request | None:
        """Return the request to admit next, still queued; None if the queue is empty."""

    def __len__(self) -> int:
        """Return the length of the queue."""

    def rank(self, request: Request) -> int:
        """Return the rank for preemption, highest first. By default all are equal."""
        return 0

    def outranks(self, suspended: Request) -> bool:
        """Return True if a waiting request goes before a suspended one."""
        return False


class FirstComeFirstServed(AdmissionPolicy):
    """The order of arrival: `fcfs`."""

    def __init__(self) -> None:
        self._queue: OrderedDict[Request, None] = OrderedDict()  # in order of arrival

    def add(self, request: Request) -> None:
        """Queue a request."""
        self._queue[request] = None

    def remove(self, request: Request) -> None:
        """Remove a request."""
        del self._queue[request]

    def next(self, clock: int) -> Request | None:
        """Return the oldest request."""
        return next(iter(self._queue), None)

    def __len__(self) -> int:
        return len(self._queue)


class ByPriority(AdmissionPolicy):
    """The order of priority numbers, lowest first, then of arrival: `priority`.

    High numbers may starve. They are also the first to be preempted and the last to resume.
    """

    def __init__(self) -> None:
        self._waiting: set[Request] = set()
        self._heap: list[tuple[int, int, Request]] = []

    def add(self, request: Request) -> None:
        """Queue a request."""
        self._waiting.add(request)
        heapq.heappush(self._heap, (request.priority, request.arrival, request))

    def remove(self, request: Request) -> None:
        """Remove a request."""
        self._waiting.remove(request)
        if len(self._heap) > 64 + 2 * len(self._waiting):  # aborted requests must not pile up
            self._heap = [entry for entry in self._heap if entry[2] in self._waiting]
            heapq.heapify(self._heap)

    def next(self, clock: int) -> Request | None:
        """Return the most urgent request."""
        while self._heap and self._heap[0][2] not in self._waiting:
            heapq.heappop(self._heap)
        return self._heap[0][2] if self._heap else None

    def __len__(self) -> int:
        return len(self._waiting)

    def rank(self, request: Request) -> int:
        """Return the priority number."""
        return request.priority

    def outranks(self, suspended: Request) -> bool:
        """Return True if the lowest waiting number is lower; among equals suspended ones resume."""
        most_urgent = self.next(0)
        return most_urgent is not None and most_urgent.priority < suspended.priority


class _ByScore(AdmissionPolicy):
    """An order by a score over remembered costs.

    Costs change with the tree. Each call looks a few up again: the best one's until it stays the
    best, and one other in turn, so that requests rise when their prefix is cached meanwhile. The
    oldest is always looked up: otherwise a later equal prompt could seem cheaper only because its
    cost is newer. Among equal scores the first to arrive goes first.
    """

    def __init__(self, cost: CostFunction) -> None:
        self._cost_of = cost
        self._requests: list[Request] = []
        self._index: dict[Request, int] = {}
        self._arrived = np.zeros(16)  # tree clock
        self._arrival = np.zeros(16)  # running number
        self._cost = np.zeros(16)
        self._length = np.zeros(16)
        self._turn = 0

    def add(self, request: Request) -> None:
        """Queue a request."""
        cost = self._cost_of(request)  # first, in case it raises
        index = len(self._requests)
        if index == len(self._cost):
            for name in ("_arrived", "_arrival", "_cost", "_length"):
                setattr(self, name, np.concatenate([getattr(self, name), np.zeros(index)]))
        self._requests.append(request)
        self._index[request] = index
        self._arrived[index] = request.arrived_at
        self._arrival[index] = request.arrival
        self._length[index] = len(request.prompt)
        self._cost[index] = max(1, cost)

    def remove(self, request: Request) -> None:
        """Remove a request; the last one takes its index."""
        index = self._index.pop(request)
        last = self._requests.pop()
        end = len(self._requests)
        if last is not request:
            self._requests[index] = last
            self._index[last] = index
            for values in (self._arrived, self._arrival, self._cost, self._length):
                values[index] = values[end]

    def next(self, clock: int) -> Request | None:
        """Return the request with the best score."""
        count = len(self._requests)
        if not count:
            return None
        self._turn = (self._turn + 1) % count
        fresh = {self._turn, int(self._arrival[:count].argmin())}
        for index in fresh:
            self._refresh(index)
        best = 0
        for _ in range(_TRIES):
            best = self._best(clock, count)
            if best in fresh:  # a second look-up would give the same result
                break
            remembered = self._cost[best]
            self._refresh(best)
            fresh.add(best)
            if self._cost[best] <= remembered:
                break
        return self._requests[best]

    def __len__(self) -> int:
        return len(self._requests)

    def _refresh(self, index: int) -> None:
        self._cost[index] = max(1, self._cost_of(self._requests[index]))

    def _best(self, clock: int, count: int) -> int:
        raise NotImplementedError

    def _oldest_of(self, are_best: np.ndarray) -> int:
        """Return the first arrival among equal scores; indexes do not follow age."""
        ties = np.flatnonzero(are_best)
        return int(ties[self._arrival[ties].argmin()])


class LongestPrefixMatch(_ByScore):
    """The order of cached tokens, most first: `lpm`. Uncached requests may starve."""

    def _best(self, clock: int, count: int) -> int:
        cached = self._length[:count] - self._cost[:count]
        return self._oldest_of(cached == cached.max())


class PrefixAware(_ByScore):
    """The order of response ratios on uncached tokens, highest first: `prefix-aware`."""

    def __init__(self, cost: CostFunction, patience: int) -> None:
        super().__init__(cost)
        self.patience = patience  # tokens processed, after which only age counts

    def _best(self, clock: int, count: int) -> int:
        arrived = self._arrived[:count]
        earliest = arrived.min()
        if clock - earliest > self.patience:
            return self._oldest_of(arrived == earliest)
        cost = self._cost[:count]
        ratio = (clock - arrived + cost) / cost
        return self._oldest_of(ratio == ratio.max())


# Every policy by name, made from a cost function and the rows of a full step.
POLICIES: dict[str, Callable[[CostFunction, int], AdmissionPolicy]] = {
    "prefix-aware": lambda cost, rows: PrefixAware(cost, patience=_PATIENCE_STEPS * rows),
    "fcfs": lambda cost, rows: FirstComeFirstServed(),
    "lpm": lambda cost, rows: LongestPrefixMatch(cost),
    "priority": lambda cost, rows: ByPriority(),
}


def make_policy(name: str, cost: CostFunction, max_step_rows: int) -> AdmissionPolicy:
    """Return the policy of that name; raise `ConfigError` if it is unknown."""
    if name not in POLICIES:
        raise ConfigError(
            f"unknown scheduling policy {name!r}; choose one of {', '.join(POLICIES)}",
            param="policy",
        )
    return POLICIES[name](cost, max_step_rows)
