"""Scheduling policies by name."""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from yaie.base.errors import ConfigError
from yaie.engine.queue.policy_protocol import AdmissionPolicy, CostFunction, FreeSlots
from yaie.engine.queue.prefix_aware import PrefixAware
from yaie.engine.queue.scored_policy import LongestPrefixMatch
from yaie.engine.request import Request

Key = TypeVar("Key", int, bytes)


class FirstComeFirstServed(AdmissionPolicy):
    """Arrival order: `fcfs`."""

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


class InKeyOrder(AdmissionPolicy, Generic[Key]):
    """Order by a constant key, lowest first, then by arrival."""

    def __init__(self) -> None:
        self._waiting: set[Request] = set()
        self._heap: list[tuple[Key, int, Request]] = []

    @abstractmethod
    def key(self, request: Request) -> Key:
        """Return a request's key."""

    def add(self, request: Request) -> None:
        """Queue a request."""
        self._waiting.add(request)
        heapq.heappush(self._heap, (self.key(request), request.arrival, request))

    def remove(self, request: Request) -> None:
        """Remove a request."""
        self._waiting.remove(request)
        if len(self._heap) > 64 + 2 * len(self._waiting):  # aborted requests must not pile up
            self._heap = [entry for entry in self._heap if entry[2] in self._waiting]
            heapq.heapify(self._heap)

    def next(self, clock: int) -> Request | None:
        """Return the request with the lowest key."""
        while self._heap and self._heap[0][2] not in self._waiting:
            heapq.heappop(self._heap)
        return self._heap[0][2] if self._heap else None

    def __len__(self) -> int:
        return len(self._waiting)


class ByPriority(InKeyOrder[int]):
    """Order by priority number, lowest first, then by arrival: `priority`.

    High numbers are also the first to be preempted and the last to resume. They may starve, unless
    a wait lowers them: by one for every `aging` tokens. All requests age alike, so their order and
    their keys never change: the number in tokens after the arrival.
    """

    def __init__(self, aging: int = 0) -> None:
        """`aging`: processed tokens that are worth a number; 0: numbers stay."""
        super().__init__()
        self._aging = aging

    def key(self, request: Request) -> int:
        """Return the priority number, or the clock at which an aged number would be 0."""
        if not self._aging:
            return request.priority
        return request.arrived_at + request.priority * self._aging

    def rank(self, request: Request) -> int:
        """Return the key."""
        return self.key(request)

    def outranks(self, suspended: Request) -> bool:
        """Return True if the lowest waiting key is lower; among equals suspended ones resume."""
        most_urgent = self.next(0)
        return most_urgent is not None and self.key(most_urgent) < self.key(suspended)


Weights = Mapping[str, float] | None  # by tenant; 1 by default


def _prefix_aware(
    cost: CostFunction, rows: int, free: FreeSlots, weights: Weights, aging: int
) -> PrefixAware:
    return PrefixAware(cost, rows, free, weights)


# Every policy by name: from a cost function, the rows of a full step, the free slots, weights, and
# the full steps that lower a priority number by one.
POLICIES: dict[str, Callable[[CostFunction, int, FreeSlots, Weights, int], AdmissionPolicy]] = {
    "prefix-aware": _prefix_aware,
    "fair": _prefix_aware,  # the name that asks for its shares of tenants
    "fcfs": lambda cost, rows, free, weights, aging: FirstComeFirstServed(),
    "lpm": lambda cost, rows, free, weights, aging: LongestPrefixMatch(cost),
    "priority": lambda cost, rows, free, weights, aging: ByPriority(aging * rows),
}


def make_policy(
    name: str,
    cost: CostFunction,
    max_step_rows: int,
    free_slots: FreeSlots = lambda: 0,
    weights: Weights = None,
    *,
    aging: int = 0,
) -> AdmissionPolicy:
    """Return the policy with that name; raise `ConfigError` if it is unknown.

    `aging`: full steps that lower a priority number by one; 0 disables aging.
    """
    if name not in POLICIES:
        raise ConfigError(
            f"unknown scheduling policy {name!r}; choose one of {', '.join(POLICIES)}",
            param="policy",
        )
    return POLICIES[name](cost, max_step_rows, free_slots, weights, aging)
