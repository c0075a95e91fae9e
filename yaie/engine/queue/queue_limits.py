"""Queue limits: the backlog of waiting work, the measured service rate, and limits on waiting.

Pure.

Work is in rows. A waiting request's rows are estimated from earlier requests: the computed share of
their prompts, and the length of their answers.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping

from yaie.base.errors import Overloaded, QueueTimedOut
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.engine.queue.tenant_queues import TenantQueues
from yaie.engine.queue.wait_stats import WaitTracker
from yaie.engine.request import Request

RETRY_AFTER_S = (1.0, 600.0)  # least and most
MEMORY_S = 60.0  # step time in which a step's weight falls by e
_COUNTED = ("prompt_tokens", "cached_tokens", "num_started", "output_tokens")


class ServiceRate:
    """Moving totals of what the engine did, over the seconds that its steps took."""

    def __init__(self, has_backlog: Callable[[], bool] = lambda: False) -> None:
        """`has_backlog`: true after a step that left requests waiting."""
        self._has_backlog = has_backlog
        self._was_busy = False  # in any step so far
        self._seconds = 0.0  # duration of the counted steps
        self._rows = 0.0
        self._seen_rows = 0
        self._totals = dict.fromkeys(_COUNTED, 0.0)
        self._seen = dict.fromkeys(_COUNTED, 0)

    def observe(self, stats: EngineStats, seconds: float) -> None:
        """Add a step that took `seconds`; `stats` has the counters after it.

        Steps without a backlog are partly empty: their rows count only before the first with one.
        """
        keep = math.exp(-seconds / MEMORY_S)
        rows, self._seen_rows = stats.rows_computed - self._seen_rows, stats.rows_computed
        is_busy = self._has_backlog()
        if is_busy and not self._was_busy:
            self._was_busy, self._seconds, self._rows = True, 0.0, 0.0
        if is_busy or not self._was_busy:
            self._seconds = keep * self._seconds + seconds
            self._rows = keep * self._rows + rows
        for name in _COUNTED:
            count = getattr(stats, name)
            self._totals[name] = keep * self._totals[name] + count - self._seen[name]
            self._seen[name] = count

    @property
    def rows_per_s(self) -> float:
        """Rows a second, during steps only; 0 before the first step."""
        return self._rows / self._seconds if self._seconds > 0 else 0.0

    @property
    def uncached_share(self) -> float:
        """Computed share of prompt tokens; 1 before the first."""
        if not self._totals["prompt_tokens"]:
            return 1.0
        return 1.0 - self._totals["cached_tokens"] / self._totals["prompt_tokens"]

    @property
    def output_len(self) -> float:
        """Tokens per answer; 0 before the first."""
        return self._totals["output_tokens"] / max(1.0, self._totals["num_started"])


class Backlog:
    """The requests that wait for admission: their work together, and the end of their patience."""

    def __init__(self, timeout_s: float = 0.0, weights: Mapping[str, float] | None = None) -> None:
        """`timeout_s`: longest wait for any request; 0 sets no limit. `weights`: of tenants."""
        self.rate = ServiceRate(lambda: bool(self._waiting) or self._had_overdue)
        self._timeout_s = timeout_s or math.inf
        self.waits = WaitTracker()
        self._waiting: dict[Request, None] = {}  # in order of arrival
        self._by_tenant = TenantQueues(weights)
        self._deadlines: list[tuple[float, int, Request]] = []  # heap; may have gone requests
        self._had_overdue = False  # after the last admission
        self.num_sequences = 0
        self.num_prompt_tokens = 0
        self._most_output = 0  # tokens, if every answer is as long as its request allows

    def add(self, request: Request) -> None:
        """Add a request that begins to wait."""
        self._count(request, 1)
        self._waiting[request] = None
        self._by_tenant.add(request)
        self.waits.arrive(request)
        if (limit_s := self.limit_s(request)) < math.inf:
            deadline = (request.arrived_s + limit_s, request.arrival, request)
            heapq.heappush(self._deadlines, deadline)

    def remove(self, request: Request) -> None:
        """Remove a request that was admitted or has ended; ignore one that was overdue."""
        if request not in self._waiting:
            return
        self._count(request, -1)
        del self._waiting[request]
        self._by_tenant.remove(request)
        self.waits.leave(request)
        if len(self._deadlines) > 64 + 2 * len(self._waiting):
            self._deadlines = [entry for entry in self._deadlines if entry[2] in self._waiting]
            heapq.heapify(self._deadlines)

    def make_room(
        self, tenant: str, num_tokens: int, config: EngineConfig, num_free_places: int
    ) -> list[Request]:
        """Return the waiting requests that a new one of `num_tokens` displaces.

        Between two steps all new requests wait, so requests that the next step can admit do not
        count against `max_waiting`, nor one step's rows against `max_waiting_tokens`. A request
        finds room in an empty queue, however long its prompt is. Raises `Overloaded` if the queue
        is full and no other tenant yields.
        """
        counts, excess_requests, excess_tokens = [], 0, 0
        waiting, limit = len(self._waiting), config.max_waiting
        if waiting >= limit and self.num_sequences >= limit + num_free_places:
            excess_requests = 1
            counts.append(f"{waiting} waiting, max_waiting={limit}")
        tokens, limit = self.num_prompt_tokens, config.max_waiting_tokens
        excess = tokens + num_tokens - limit - config.max_step_rows
        if limit and waiting and excess > 0:
            excess_tokens = excess
            counts.append(f"{tokens} prompt tokens waiting, max_waiting_tokens={limit}")
        if not counts:
            return []
        displaced = self._by_tenant.choose_displaced(
            tenant, num_tokens, excess_requests, excess_tokens
        )
        if displaced is None:
            raise self._full(counts[0])
        return displaced

    def make_displacement(self) -> Overloaded:
        """Return the error of a waiting request that was displaced."""
        return self._full("other tenants have fewer requests in it")

    def _full(self, reason: str) -> Overloaded:
        after_s = self.retry_after_s
        return Overloaded(
            f"the waiting queue is full ({reason}); retry in {after_s:.0f} s",
            retry_after_s=after_s,
        )

    def oldest_wait_s(self, now: float) -> float:
        """Return the oldest request's wait until now; 0 if none waits."""
        oldest = next(iter(self._waiting), None)
        return 0.0 if oldest is None else now - oldest.arrived_s

    def limit_s(self, request: Request) -> float:
        """Return a request's longest allowed wait; infinity without a limit."""
        own_s = request.queue_timeout_s
        return self._timeout_s if own_s is None else min(own_s, self._timeout_s)

    def take_overdue(self, now: float) -> list[Request]:
        """Remove and return the requests that have waited longer than their limit."""
        overdue = []
        while self._deadlines and self._deadlines[0][0] < now:
            request = heapq.heappop(self._deadlines)[2]
            if request in self._waiting:
                self.remove(request)
                overdue.append(request)
        self._had_overdue = bool(overdue)
        return overdue

    def make_timeout(self, request: Request) -> QueueTimedOut:
        """Return an overdue request's error; it advises by the limit that ended it."""
        limit_s, after_s = self.limit_s(request), self.retry_after_s
        is_own = limit_s < self._timeout_s
        whose = "its own limit" if is_own else "the engine's queue timeout"
        advice = "allow more with queue_timeout_s" if is_own else "send fewer concurrent requests"
        return QueueTimedOut(
            f"the request waited {limit_s:g} s in the queue, {whose}; "
            f"retry in {after_s:.0f} s, or {advice}",
            param="queue_timeout_s" if is_own else None,
            retry_after_s=after_s,
        )

    def _count(self, request: Request, sign: int) -> None:
        sequences = len(request.sequences)
        self.num_sequences += sign * sequences
        self.num_prompt_tokens += sign * len(request.prompt)
        self._most_output += sign * sequences * request.max_new_tokens

    @property
    def num_rows(self) -> float:
        """Rows that the waiting requests will need: uncached prompt tokens and answers."""
        output = min(self.num_sequences * self.rate.output_len, self._most_output)
        return self.num_prompt_tokens * self.rate.uncached_share + output

    @property
    def retry_after_s(self) -> float:
        """Whole seconds until the last waiting request is admitted, within `RETRY_AFTER_S`.

        Running sequences are ignored: the same number of rows still runs at the end of that time.
        """
        least, most = RETRY_AFTER_S
        rate = self.rate.rows_per_s
        return min(max(math.ceil(self.num_rows / rate), least), most) if rate else least
