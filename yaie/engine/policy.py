"""In which order waiting requests are admitted. Pure: time is the tree's clock, in tokens.

Used by the scheduler, which asks for the next request, tries to admit it, and puts up with a
request that does not fit yet. A policy is told of arrivals and departures, so that no call costs
more than one vectorised pass over the queue, however long that is.

`prefix-aware` orders by the response ratio `(waited + cost) / cost`, with the cost in tokens that
are not held yet: cheap requests go first, and waiting makes any request cheap in the end. So that
"in the end" has a bound under overload too, requests that waited longer than `patience` go before
all others, oldest first.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import numpy as np

from yaie.engine.request import Request
from yaie.errors import ConfigError

CostFunction = Callable[[Request], int]  # tokens of the prompt that are not held; a pure look-up

_TRIES = 8  # look-ups of a cost before one answer is good enough


class AdmissionPolicy(Protocol):
    """Orders the waiting requests, and ranks those that were admitted where slots are short."""

    def add(self, request: Request) -> None:
        """A request has arrived."""

    def remove(self, request: Request) -> None:
        """A request no longer waits: admitted or ended."""

    def next(self, clock: int) -> Request | None:
        """The request to admit next; None if none waits. Does not take it out."""

    def __len__(self) -> int:
        """How many wait."""

    def rank(self, request: Request) -> int:
        """Who has to give way: the highest first. All are equal where the policy says nothing."""
        return 0

    def outranks(self, preempted: Request) -> bool:
        """Whether a waiting request goes before one that was preempted."""
        return False


class FirstComeFirstServed(AdmissionPolicy):
    """`fcfs`: by arrival."""

    def __init__(self) -> None:
        self._queue: OrderedDict[Request, None] = OrderedDict()  # in order of arrival

    def add(self, request: Request) -> None:
        """A request has arrived."""
        self._queue[request] = None

    def remove(self, request: Request) -> None:
        """A request no longer waits."""
        del self._queue[request]

    def next(self, clock: int) -> Request | None:
        """The oldest."""
        return next(iter(self._queue), None)

    def __len__(self) -> int:
        return len(self._queue)


class ByPriority(AdmissionPolicy):
    """`priority`: lowest number first, then by arrival. May let high numbers wait for ever.

    High numbers are also the first to be preempted and the last to go on.
    """

    def __init__(self) -> None:
        self._waiting: set[Request] = set()
        self._heap: list[tuple[int, int, Request]] = []

    def add(self, request: Request) -> None:
        """A request has arrived."""
        self._waiting.add(request)
        heapq.heappush(self._heap, (request.priority, request.arrival, request))

    def remove(self, request: Request) -> None:
        """A request no longer waits."""
        self._waiting.remove(request)
        if len(self._heap) > 64 + 2 * len(self._waiting):  # else the aborted stay to their turn
            self._heap = [entry for entry in self._heap if entry[2] in self._waiting]
            heapq.heapify(self._heap)

    def next(self, clock: int) -> Request | None:
        """The most urgent."""
        while self._heap and self._heap[0][2] not in self._waiting:
            heapq.heappop(self._heap)
        return self._heap[0][2] if self._heap else None

    def __len__(self) -> int:
        return len(self._waiting)

    def rank(self, request: Request) -> int:
        """The number of its priority."""
        return request.priority

    def outranks(self, preempted: Request) -> bool:
        """Only where its number is lower: among equals the preempted one goes on first."""
        most_urgent = self.next(0)
        return most_urgent is not None and most_urgent.priority < preempted.priority


class _Scored(AdmissionPolicy):
    """Picks by a score over remembered costs, and looks the cost of the best one up again.

    Costs change as the tree changes. A remembered one is looked up again when its request comes
    to the top, and a few others in turn, so that requests whose prefix got held meanwhile rise.
    The oldest is looked up each time: equal prompts that came later are never cheaper than it
    only because their costs are newer. Of equal scores the one that arrived first goes first.
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
        """A request has arrived."""
        cost = self._cost_of(request)  # before anything is changed, in case it raises
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
        """A request no longer waits; the last one takes its place."""
        index = self._index.pop(request)
        last = self._requests.pop()
        end = len(self._requests)
        if last is not request:
            self._requests[index] = last
            self._index[last] = index
            for values in (self._arrived, self._arrival, self._cost, self._length):
                values[index] = values[end]

    def next(self, clock: int) -> Request | None:
        """The request with the best score."""
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
            if best in fresh:  # to look again would give the same: nothing changes meanwhile
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
        """Of those that are equally good the first by number: places say nothing about age."""
        ties = np.flatnonzero(are_best)
        return int(ties[self._arrival[ties].argmin()])


class LongestPrefixMatch(_Scored):
    """`lpm`: most held tokens first. May let requests with nothing held wait for ever."""

    def _best(self, clock: int, count: int) -> int:
        held = self._length[:count] - self._cost[:count]
        return self._oldest_of(held == held.max())


class PrefixAware(_Scored):
    """`prefix-aware`: the highest response ratio on the tokens that are not held."""

    def __init__(self, cost: CostFunction, patience: int) -> None:
        super().__init__(cost)
        self.patience = patience  # tokens processed after which age alone counts

    def _best(self, clock: int, count: int) -> int:
        arrived = self._arrived[:count]
        earliest = arrived.min()
        if clock - earliest > self.patience:
            return self._oldest_of(arrived == earliest)
        cost = self._cost[:count]
        ratio = (clock - arrived + cost) / cost
        return self._oldest_of(ratio == ratio.max())


def make_policy(name: str, cost: CostFunction, max_step_rows: int) -> AdmissionPolicy:
    """The policy of that name; its patience is a matter of full steps."""
    policies: dict[str, Callable[[], AdmissionPolicy]] = {
        "prefix-aware": lambda: PrefixAware(cost, patience=64 * max_step_rows),
        "fcfs": FirstComeFirstServed,
        "lpm": lambda: LongestPrefixMatch(cost),
        "priority": ByPriority,
    }
    if name not in policies:
        raise ConfigError(f"no policy {name!r}; there are {', '.join(policies)}", param="policy")
    return policies[name]()
