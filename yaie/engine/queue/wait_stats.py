"""Wait statistics: the distribution of admission waits, and each tenant's waits and work. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from heapq import nlargest

from yaie.base.stats import WAIT_BOUNDS_S, TenantStats, WaitStats
from yaie.engine.request import Request

_MAX_IDLE = 1024  # tenants without waiting requests that are remembered
_SHOWN = 10  # tenants in a report
_FEW = 64  # tenants that are cheap to rank after every step
_REPORT_S = 1.0  # between two rankings of more


@dataclass(slots=True)
class _Record:
    num_waiting: int = 0
    num_admitted: int = 0
    waited_s: float = 0.0
    longest_s: float = 0.0
    tokens: int = 0


class WaitTracker:
    """Waiting-time records; the number of tenants is bounded."""

    def __init__(self) -> None:
        self.num_waiting_tenants = 0
        self._counts = [0] * (len(WAIT_BOUNDS_S) + 1)
        self._total_s = 0.0
        self._records: OrderedDict[str, _Record] = OrderedDict()  # the latest arrival last
        self._top: tuple[TenantStats, ...] = ()
        self._ranked_s = 0.0

    def arrive(self, request: Request) -> None:
        """Count a request that begins to wait."""
        record = self._record(request.tenant)
        self._records.move_to_end(request.tenant)
        self.num_waiting_tenants += not record.num_waiting
        record.num_waiting += 1

    def leave(self, request: Request) -> None:
        """Count a request that has left the queue."""
        record = self._record(request.tenant)
        record.num_waiting -= 1
        self.num_waiting_tenants -= not record.num_waiting

    def admit(self, request: Request, now: float, tokens: int) -> None:
        """Count an admission that computes `tokens` prompt tokens; after `leave`."""
        waited_s = now - request.arrived_s
        self._counts[bisect_left(WAIT_BOUNDS_S, waited_s)] += 1
        self._total_s += waited_s
        record = self._record(request.tenant)
        record.num_admitted += 1
        record.waited_s += waited_s
        record.longest_s = max(record.longest_s, waited_s)
        record.tokens += tokens

    def serve(self, tenant: str, tokens: int) -> None:
        """Count sampled tokens."""
        self._record(tenant).tokens += tokens

    def report(self, now: float) -> WaitStats:
        """Return the distribution, and the tenants with the most waiting requests and tokens.

        With many tenants the ranking is up to a second old while requests wait.
        """
        is_cheap = len(self._records) <= _FEW or not self.num_waiting_tenants
        if is_cheap or now - self._ranked_s >= _REPORT_S:
            self._ranked_s = now
            ranked = nlargest(
                _SHOWN,
                self._records.items(),
                key=lambda item: (item[1].num_waiting, item[1].tokens),
            )
            self._top = tuple(_make_stats(tenant, record) for tenant, record in ranked)
        return WaitStats(counts=tuple(self._counts), total_s=self._total_s, tenants=self._top)

    def _record(self, tenant: str) -> _Record:
        record = self._records.get(tenant)
        if record is None:
            record = self._records[tenant] = _Record()
            while len(self._records) > _MAX_IDLE + self.num_waiting_tenants + 1:
                self._forget_oldest()
        return record

    def _forget_oldest(self) -> None:
        """Forget the tenant with the oldest arrival, or move it to the end if it waits."""
        tenant, record = self._records.popitem(last=False)
        if record.num_waiting:
            self._records[tenant] = record


def _make_stats(tenant: str, record: _Record) -> TenantStats:
    return TenantStats(
        tenant=tenant,
        num_waiting=record.num_waiting,
        num_admitted=record.num_admitted,
        mean_wait_s=record.waited_s / max(1, record.num_admitted),
        longest_wait_s=record.longest_s,
        tokens=record.tokens,
    )
