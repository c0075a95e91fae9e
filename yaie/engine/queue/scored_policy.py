"""Scored policies: rank waiting requests by a score over cached costs. Pure."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from yaie.engine.queue.policy_protocol import AdmissionPolicy, CostFunction
from yaie.engine.request import Request

_TRIES = 8  # look-ups of a cost before an answer is accepted
_COLUMNS = ("_arrived", "_arrival", "_cost", "_length", "_tenant")


class ScoredPolicy(AdmissionPolicy):
    """An order by a score over remembered costs.

    Costs change with the tree. Each call looks a few up again: the best one's until it stays the
    best, and one other in turn, so that requests rise when their prefix is cached meanwhile. The
    oldest is always looked up: otherwise a later equal prompt could seem cheaper only because its
    cost is newer. Equal scores are admitted in arrival order.
    """

    def __init__(self, cost: CostFunction) -> None:
        self._cost_of = cost
        self._requests: list[Request] = []
        self._index: dict[Request, int] = {}
        self._arrived = np.zeros(16)  # tree clock
        self._arrival = np.zeros(16)  # running number
        self._cost = np.zeros(16)
        self._length = np.zeros(16)
        self._tenant = np.zeros(16, dtype=np.int64)  # its number; of `PrefixAware`
        self._turn = 0

    def add(self, request: Request) -> None:
        """Queue a request."""
        cost = self._cost_of(request)  # first, in case it raises
        index = len(self._requests)
        if index == len(self._cost):
            for name in _COLUMNS:
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.zeros_like(column)]))
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
            for name in _COLUMNS:
                column = getattr(self, name)
                column[index] = column[end]

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
            if best in fresh:  # a second look-up would return the same result
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

    @abstractmethod
    def _best(self, clock: int, count: int) -> int:
        """Return the best score's index among the first `count`."""

    def _oldest_of(self, are_best: np.ndarray) -> int:
        """Return the first arrival among equal scores; indexes do not follow age."""
        ties = np.flatnonzero(are_best)
        return int(ties[self._arrival[ties].argmin()])


class LongestPrefixMatch(ScoredPolicy):
    """Order by cached tokens, most first: `lpm`. Uncached requests may starve."""

    def _best(self, clock: int, count: int) -> int:
        cached = self._length[:count] - self._cost[:count]
        return self._oldest_of(cached == cached.max())
