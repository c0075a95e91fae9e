"""Metrics of the router: where requests went, and why; predicted and real cached tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from yaie.base.types import EngineState
from yaie.ray.engine_replica import ReplicaStatus
from yaie.ray.route import Route


class RouterLog(Collector):
    """Counts of one client, and their collector."""

    def __init__(self) -> None:
        self.replicas: Callable[[], Iterable[ReplicaStatus]] = tuple  # in the last poll
        self._requests: Counter[tuple[str, str]] = Counter()  # by replica and reason
        self._predicted: Counter[str] = Counter()  # tokens by replica
        self._cached: Counter[str] = Counter()
        self._num_retried = self._num_resumed = 0

    def count_answer(self, route: Route, num_cached: int) -> None:
        """Count an attempt with a first token; `num_cached`: its real cached tokens."""
        placement = route.placement
        assert placement is not None
        self._requests[placement.replica, placement.reason] += 1
        self._predicted[placement.replica] += placement.cached_tokens
        self._cached[placement.replica] += num_cached

    def count_retry(self, *, is_resumed: bool) -> None:
        """Count a further attempt."""
        self._num_resumed += is_resumed
        self._num_retried += not is_resumed

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, for a scrape."""
        requests = CounterMetricFamily(
            "yaie_router_requests",
            "Requests by replica and reason: hit for the longest cached prefix, cold for a prompt "
            "that no replica knows, load for a shorter prefix on a replica with less load",
            labels=["replica", "reason"],
        )
        for (replica, reason), number in sorted(self._requests.items()):
            requests.add_metric([replica, reason], number)
        yield requests
        for name, text, tokens in (
            ("predicted_cached", "Cached prompt tokens as the router predicted", self._predicted),
            ("cached", "Cached prompt tokens of routed requests", self._cached),
        ):
            family = CounterMetricFamily(f"yaie_router_{name}_tokens", text, labels=["replica"])
            for replica, number in sorted(tokens.items()):
                family.add_metric([replica], number)
            yield family
        yield CounterMetricFamily(
            "yaie_router_retries",
            "Requests sent to another replica before the first token",
            value=self._num_retried,
        )
        yield CounterMetricFamily(
            "yaie_router_resumed",
            "Answers continued by another replica after the first token",
            value=self._num_resumed,
        )
        states = Counter(each.state for each in self.replicas())
        shown = GaugeMetricFamily("yaie_replicas", "Replicas by state", labels=["state"])
        for state in (EngineState.READY, EngineState.STARTING, EngineState.DEAD):
            shown.add_metric([state.value], states[state])
        yield shown
