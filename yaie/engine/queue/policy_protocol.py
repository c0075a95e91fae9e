"""The scheduling policy protocol: the order in which waiting requests are admitted. Pure.

Time is the tree's clock, in tokens. The scheduler tries to admit a policy's next request; the
request stays queued if it does not fit. Policies learn of arrivals and departures, so that a call
costs at most one vectorised pass over the queue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from yaie.engine.request import Request

CostFunction = Callable[[Request], int]  # uncached tokens of the prompt; a pure look-up
Reason = Literal["order", "age", "credit"]
FreeSlots = Callable[[], int]  # slots that no node owns


class AdmissionPolicy(Protocol):
    """Orders waiting requests, and ranks admitted requests when slots are short."""

    def add(self, request: Request) -> None:
        """Queue a request."""

    def remove(self, request: Request) -> None:
        """Remove a request that is admitted."""

    def withdraw(self, request: Request) -> None:
        """Remove a request that has ended before its admission."""
        self.remove(request)

    def next(self, clock: int) -> Request | None:
        """Return the request to admit next, still queued; None if the queue is empty."""

    def __len__(self) -> int:
        """Return the queue length."""

    def charge(self, tenant: str, tokens: float) -> None:
        """Note what the engine spends on a tenant, in computed tokens; for tenant shares."""
        return

    def reason(self, request: Request) -> Reason:
        """Return the reason for the last answer of `next`, still queued; for statistics."""
        return "order"

    def rank(self, request: Request) -> int:
        """Return the rank for preemption, highest first. By default all are equal."""
        return 0

    def outranks(self, suspended: Request) -> bool:
        """Return True if a waiting request is admitted before a suspended one."""
        return False

    def displaces(self, waiting: Request, running: Request) -> bool:
        """Return True if a waiting request may preempt a running one."""
        return False
