"""The default scheduling policy: least total wait, bounded waits, tenant shares. Pure.

Admitting a request delays every other request by its cost: the uncached prompt tokens. Admitting it
later may also cost its cached tokens, if they are evicted meanwhile, and their recomputation delays
every other request. `PrefixAware` weighs the two.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from yaie.engine.queue.policy_protocol import CostFunction, FreeSlots, Reason
from yaie.engine.queue.scored_policy import ScoredPolicy
from yaie.engine.queue.tenant_shares import TenantShares
from yaie.engine.request import Request

PATIENCE_STEPS = 64  # full steps
# Share of admitted tokens for requests past patience, while others wait too. With a half the
# longest waits exceed `fcfs`'s; three quarters cost cache hits. See docs/benchmarks/scheduling.md.
AGED_SHARE = 0.6


class PrefixAware(ScoredPolicy):
    """Order by saved wait per uncached token, highest first: `prefix-aware`.

    A request admitted first saves recomputing its cached tokens, as far as they risk eviction, and
    its own wait. In tokens,

        score = (mean cost + number waiting x risk x cached tokens) / cost

    The risk is the cost of all waiting requests over the free slots, at most 1: while slots suffice
    nothing is evicted. Requests that have waited longer than `patience` receive a share of the
    admitted tokens, oldest first. Only tenants whose turn it is compete.
    """

    def __init__(
        self,
        cost: CostFunction,
        max_step_rows: int,
        free_slots: FreeSlots,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(cost)
        self.patience = PATIENCE_STEPS * max_step_rows  # tokens processed, after which age counts
        self._free_slots = free_slots
        self._tenants = TenantShares(max_step_rows, weights)
        self._aged: Request | None = None  # the last choice, if made by age
        self._considered = np.zeros(0)  # costs of the requests that the last answer was chosen from
        self._debt = 0.0  # tokens to admit by score before age counts again

    def add(self, request: Request) -> None:
        """Queue a request."""
        super().add(request)
        self._tenant[self._index[request]] = self._tenants.enter(request.tenant)

    def remove(self, request: Request) -> None:
        """Remove an admitted request, and charge its cost to age or to the score."""
        cost = float(self._cost[self._index[request]])
        if request is self._aged:
            self._debt += cost * (1 / AGED_SHARE - 1)
        else:
            self._debt = max(0.0, self._debt - cost)
        self.withdraw(request)

    def withdraw(self, request: Request) -> None:
        """Remove a request."""
        self._tenants.leave(int(self._tenant[self._index[request]]))
        super().remove(request)

    def charge(self, tenant: str, tokens: float) -> None:
        """Add to a tenant's service."""
        self._tenants.charge(tenant, tokens)

    def reason(self, request: Request) -> Reason:
        """Return `credit` if the risk to cached tokens put a request before a cheaper one."""
        if request is self._aged:
            return "age"
        cost = self._cost[self._index[request]]
        return "credit" if cost > self._considered.min(initial=cost) else "order"

    def displaces(self, waiting: Request, running: Request) -> bool:
        """Return True if the waiting request's tenant has got less service."""
        return self._tenants.is_ahead(waiting.tenant, running.tenant)

    def outranks(self, suspended: Request) -> bool:
        """Return True if the tenants whose turn it is have got less than the suspended one's."""
        return self._tenants.num_waiting > 0 and self._tenants.outranks(suspended.tenant)

    def _best(self, clock: int, count: int) -> int:
        have_turn = self._tenants.have_turn(self._tenant[:count])
        if have_turn is None:
            every = slice(0, count)
            return self._choose(clock, self._arrived[every], self._cost[every], self._length[every])
        turn = np.flatnonzero(have_turn)
        arrived, cost = self._arrived[turn], self._cost[turn]
        return int(turn[self._choose(clock, arrived, cost, self._length[turn], turn)])

    def _choose(
        self,
        clock: int,
        arrived: np.ndarray,
        cost: np.ndarray,
        length: np.ndarray,
        indexes: np.ndarray | None = None,
    ) -> int:
        """Return the index of the best request among the candidates."""
        self._aged, self._considered = None, cost
        arrival = self._arrival[: len(cost)] if indexes is None else self._arrival[indexes]
        if self._debt <= 0:
            earliest = arrived.min()
            if clock - earliest > self.patience:
                best = first_of(arrived == earliest, arrival)
                self._aged = self._requests[best if indexes is None else int(indexes[best])]
                return best
        total, count = cost.sum(), len(cost)
        risk = min(1.0, total / max(1, self._free_slots()))
        score = (total / count + count * risk * (length - cost)) / cost
        return first_of(score == score.max(), arrival)


def first_of(are_best: np.ndarray, arrival: np.ndarray) -> int:
    """Return the index of the first arrival among equals."""
    ties = np.flatnonzero(are_best)
    return int(ties[arrival[ties].argmin()])
