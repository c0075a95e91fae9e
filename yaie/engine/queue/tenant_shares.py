"""Tenant shares: the service that each tenant has received, and whose turn is next. Pure.

Service is in computed tokens over the tenant's weight. Among waiting tenants the least served are
admitted first (virtual token counters, arXiv 2401.00588). A new tenant starts at a level between
the least and the most served waiting tenant. The level rises with completed work, so idle time
earns no credit, and newcomers, however many, delay no waiting tenant.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_MAX_IDLE = 1024  # tenants without waiting requests that are remembered


class TenantShares:
    """Tenants' service, by tenant index."""

    def __init__(self, slack: float, weights: Mapping[str, float] | None = None) -> None:
        """`slack`: tenants within this many tokens above the least served have their turn too."""
        self._slack = slack
        self._weights = dict(weights or {})
        self._numbers: dict[str, int] = {}
        self._free: list[int] = []  # numbers without a tenant
        self._service = np.zeros(16)
        self._waiting = np.zeros(16, dtype=np.int64)
        self._level = 0.0  # service at which tenants enter
        self._progress = 0.0  # service for each waiting tenant since the level was set
        self.num_waiting = 0  # tenants with waiting requests

    @property
    def num_known(self) -> int:
        """Number of remembered tenants."""
        return len(self._numbers)

    def enter(self, tenant: str) -> int:
        """Note a waiting request; return the tenant's number."""
        number = self._number_of(tenant)
        if not self._waiting[number]:
            self._service[number] = max(self._service[number], self._level)
            self.num_waiting += 1
        self._waiting[number] += 1
        return number

    def leave(self, number: int) -> None:
        """Note that a request no longer waits."""
        self._waiting[number] -= 1
        if not self._waiting[number]:
            self.num_waiting -= 1

    def charge(self, tenant: str, tokens: float) -> None:
        """Add service."""
        service = tokens / self._weights.get(tenant, 1.0)
        number = self._numbers.get(tenant)
        self._service[self._number_of(tenant) if number is None else number] += service
        self._progress += service / max(1, self.num_waiting)

    def is_ahead(self, tenant: str, other: str) -> bool:
        """Return True if `tenant` has got less service than `other`, beyond the slack."""
        if tenant == other:
            return False
        mine, theirs = self._number_of(tenant), self._number_of(other)
        return bool(self._service[mine] + self._slack < self._service[theirs])

    def outranks(self, tenant: str) -> bool:
        """Return True if the least served waiting tenant has got less service, beyond the slack."""
        service = self._service[self._waiting > 0]
        number = self._number_of(tenant)
        return bool(service.min() + self._slack < self._service[number])

    def have_turn(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return a mask of waiting requests by the index of each request's tenant.

        None if all tenants have their turn, as a lone tenant does.
        """
        least = self._raise_level()
        have_turn = self._service <= least + self._slack
        if (have_turn | (self._waiting == 0)).all():
            return None
        return have_turn[numbers]

    def _raise_level(self) -> float:
        """Bring the level up to date; return the least served waiting tenant's service."""
        service = self._service[self._waiting > 0]
        progress, self._progress = self._progress, 0.0
        if not len(service):
            return self._level
        least = float(service.min())
        self._level = max(self._level, least, min(self._level + progress, float(service.max())))
        return least

    def _number_of(self, tenant: str) -> int:
        number = self._numbers.get(tenant)
        if number is None:
            if len(self._numbers) > _MAX_IDLE + 2 * self.num_waiting:
                self._forget_idle()
            number = self._free.pop() if self._free else len(self._numbers)
            if number == len(self._service):
                self._service = np.concatenate([self._service, np.zeros(number)])
                self._waiting = np.concatenate([self._waiting, np.zeros(number, dtype=np.int64)])
            self._numbers[tenant] = number
            self._service[number] = self._level
        return number

    def _forget_idle(self) -> None:
        """Forget idle tenants near the level or below: they would return at the level anyway.

        The level rises to the idle tenants' median, so that memory is bounded: half of them are
        dropped.
        """
        numbers = np.array(list(self._numbers.values()))
        idle = self._service[numbers[self._waiting[numbers] == 0]]
        self._level = max(self._level, float(np.median(idle)))
        for tenant, number in list(self._numbers.items()):
            if not self._waiting[number] and self._service[number] <= self._level + self._slack:
                del self._numbers[tenant]
                self._free.append(number)
