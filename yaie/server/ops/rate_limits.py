"""`RateLimits`: limits and counters of each client, and its most urgent priority.

A client is an API key, or an address on a server without keys. Requests and tokens flow back into a
client's buckets evenly over a minute, or over a day. Tokens are charged at the end, so a
bucket may fall below 0.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from prometheus_client import Counter
from starlette.requests import HTTPConnection, Request

from yaie.base.server_settings import ServerConfig
from yaie.base.tenants import OTHERS
from yaie.base.types import Usage
from yaie.server.http.http_errors import RateLimited
from yaie.server.metrics.prometheus import Metrics
from yaie.server.models.request_hook import AtEnd, RequestHook
from yaie.server.replies.ended_call import EndedCall
from yaie.server.requests.call import Caller

MAX_REMEMBERED = 10_000  # clients; idle ones leave first
_MINUTE_S = 60.0
_DAY_S = 24 * 3600.0


@dataclass(slots=True)
class _Bucket:
    """A number that refills up to `most` within a time, by default a minute."""

    most: float
    left: float
    at: float
    within_s: float = _MINUTE_S

    def refill(self, now: float) -> None:
        self.left = min(self.most, self.left + (now - self.at) * self.most / self.within_s)
        self.at = now

    def seconds_until(self, wanted: float) -> float:
        return max(0.0, (wanted - self.left) * self.within_s / self.most)


@dataclass(slots=True)
class _Client:
    requests: _Bucket
    tokens: _Bucket
    day: _Bucket  # tokens
    num_running: int = 0  # live requests: `batch_concurrency` limits the lines of batches


class Lease:
    """One admitted request of a client. `leave` ends it, once."""

    def __init__(self, limits: RateLimits, name: str, key: str, *, is_live: bool) -> None:
        self._limits = limits
        self._name = name
        self._key = key
        self._is_live = is_live
        self._is_over = False

    def leave(self, usage: Usage | None = None) -> None:
        """End the request and charge its tokens. A second call has no effect."""
        if not self._is_over:
            self._is_over = True
            self._limits.charge(self._name, self._key, usage, is_live=self._is_live)


class RateLimits(RequestHook):
    """The clients of one server. `name_of`: a tenant's public name; `clock`: monotonic seconds."""

    def __init__(
        self,
        settings: ServerConfig,
        metrics: Metrics,
        name_of: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_requests = settings.requests_per_minute
        self._most_tokens = settings.tokens_per_minute
        self._most_running = settings.max_concurrent
        self._most_in_day = settings.tokens_per_day
        self._has_limits = any(
            (self._most_requests, self._most_tokens, self._most_in_day, self._most_running)
        )
        self._least_priorities = settings.least_priorities
        self._name_of, self._clock = name_of, clock
        self._clients: OrderedDict[str, _Client] = OrderedDict()
        self._refused = Counter(
            "yaie_rate_limited", "Requests rejected by a rate limit", registry=metrics.registry
        )
        self._requests = self._tokens = None
        if settings.has_keys:
            self._requests = Counter(
                "yaie_key_requests",
                "Completion requests by API key: its name, or a digest",
                ("key",),
                registry=metrics.key_registry,
            )
            self._tokens = Counter(
                "yaie_key_tokens",
                "Prompt and output tokens by API key: its name, or a digest",
                ("key", "kind"),
                registry=metrics.key_registry,
            )

    def enter(self, request: HTTPConnection) -> Lease:
        """Admit a completion request. Raises `RateLimited`."""
        key: str = getattr(request.state, "tenant", "")
        address = request.client.host if request.client is not None else ""
        name = key or address
        is_live = not getattr(request.state, "is_in_batch", False)
        if self._has_limits:
            self._check(name, "API key" if key else "address", is_live=is_live)
        if self._requests is not None and key:
            self._requests.labels(self._name_of(key)).inc()
        return Lease(self, name, key, is_live=is_live)

    def admit(self, request: Request) -> AtEnd:
        """See `RequestHook.admit`. Raises `RateLimited`."""
        lease = self.enter(request)

        def leave(ended: EndedCall | None) -> None:
            lease.leave(None if ended is None else ended.usage)

        return leave

    def identify(self, request: Request, caller: Caller) -> Caller:
        """See `RequestHook.identify`: sets the priority limit."""
        return replace(caller, least_priority=self.least_priority(request))

    def least_priority(self, request: HTTPConnection) -> int | None:
        """Return the lowest priority number that a client may use, if there is a limit."""
        key: str = getattr(request.state, "tenant", "")
        return self._least_priorities.get(key, self._least_priorities.get(OTHERS))

    def charge(self, name: str, key: str, usage: Usage | None, *, is_live: bool) -> None:
        """Charge the tokens of a request that has ended, if there are any."""
        if usage is not None and self._tokens is not None and key:
            label = self._name_of(key)
            self._tokens.labels(label, "prompt").inc(usage.prompt_tokens)
            self._tokens.labels(label, "cached").inc(usage.cached_tokens)
            self._tokens.labels(label, "completion").inc(usage.completion_tokens)
        client = self._clients.get(name)
        if client is not None:
            client.num_running -= is_live
        if client is not None and usage is not None:
            for bucket in (client.tokens, client.day):
                bucket.left -= usage.prompt_tokens + usage.completion_tokens

    def _check(self, name: str, kind: str, *, is_live: bool) -> None:
        now = self._clock()
        client = self._clients.get(name) or self._newcomer(name, now)
        self._clients.move_to_end(name)
        for bucket in (client.requests, client.tokens, client.day):
            bucket.refill(now)
        if is_live and self._most_running and client.num_running >= self._most_running:
            fact = f"{client.num_running} requests of this {kind} are running"
            self._refuse(fact, f"at most {self._most_running} at a time", 1.0)
        if self._most_requests and client.requests.left < 1:
            limit = f"at most {self._most_requests} a minute"
            self._refuse(
                f"this {kind} sends too many requests", limit, client.requests.seconds_until(1)
            )
        if self._most_tokens and client.tokens.left <= 0:
            limit = f"at most {self._most_tokens} a minute"
            self._refuse(f"this {kind} uses too many tokens", limit, client.tokens.seconds_until(1))
        if self._most_in_day and client.day.left <= 0:
            limit = f"at most {self._most_in_day} a day"
            self._refuse(f"this {kind} has used its tokens", limit, client.day.seconds_until(1))
        client.requests.left -= 1
        client.num_running += is_live

    def _newcomer(self, name: str, now: float) -> _Client:
        requests, tokens = float(self._most_requests or 1), float(self._most_tokens or 1)
        day = float(self._most_in_day or 1)
        client = _Client(
            _Bucket(requests, requests, now),
            _Bucket(tokens, tokens, now),
            _Bucket(day, day, now, _DAY_S),
        )
        self._clients[name] = client
        for other in list(self._clients)[:2]:
            if len(self._clients) > MAX_REMEMBERED and not self._clients[other].num_running:
                del self._clients[other]
        return client

    def _refuse(self, fact: str, limit: str, wait_s: float) -> None:
        self._refused.inc()
        error = RateLimited(f"{fact}; {limit} are allowed, so send it again later")
        error.retry_after_s = max(1.0, wait_s)
        raise error
