"""Prometheus metrics of the engine's statistics and of the server's own measurements.

One registry per application, filled by `Generation` and the middleware and read by `GET /metrics`.
Label values come from closed sets, never from a client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from server.token_intervals import TokenIntervals
from yaie.stats import WAIT_BOUNDS_S, EngineStats, metrics
from yaie.types import EngineInfo, EngineState, Usage

_INFO_LABELS = (
    "model",
    "architecture",
    "dtype",
    "kv_dtype",
    "device",
    "attention_backend",
    "policy",
    "eviction",
)
_FIRST_TOKEN_BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
)  # fmt: skip
_INTER_TOKEN_BUCKETS = (
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 5.0,
)  # fmt: skip
_TOTAL_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0)

Snapshot = tuple[EngineState, EngineInfo | None, EngineStats, int]


class Metrics:
    """Metrics of one application."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_EngineCollector(snapshot))
        self.active = Gauge(
            "yaie_http_active_requests",
            "HTTP requests in progress, excluding health probes and /metrics",
            registry=self.registry,
        )
        self.responses = Counter(
            "yaie_http_responses",
            "HTTP responses by route, method and status",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.refused_keys = Counter(
            "yaie_auth_failures",
            "Requests refused because their API key was missing or wrong",
            registry=self.registry,
        )
        self.outcomes = Counter(
            "yaie_requests",
            "Completion requests by outcome",
            ("outcome",),
            registry=self.registry,
        )
        self.first_token_s = Histogram(
            "yaie_time_to_first_token_seconds",
            "Seconds from submission to the engine until the first token",
            buckets=_FIRST_TOKEN_BUCKETS,
            registry=self.registry,
        )
        self.inter_token_s = TokenIntervals(
            "yaie_inter_token_seconds",
            "Seconds before each token of a choice after its first",
            buckets=_INTER_TOKEN_BUCKETS,
            registry=self.registry,
        )
        self.total_s = Histogram(
            "yaie_request_seconds",
            "Seconds from submission to the end; excludes requests that fail before a token, "
            "except by YAIE_REQUEST_TIMEOUT_S",
            buckets=_TOTAL_BUCKETS,
            registry=self.registry,
        )
        self.prompt_tokens = self._token_counter("prompt", "Prompt tokens of finished requests")
        self.cached_tokens = self._token_counter(
            "cached", "Prompt tokens of finished requests that came from the cache"
        )
        self.completion_tokens = self._token_counter(
            "completion", "Completion tokens of finished requests"
        )

    def count_outcome(
        self, outcome: str, usage: Usage, total_s: float, *, is_lost: bool = False
    ) -> None:
        """Count a finished request. `is_lost`: it failed before its first token.

        Lost requests are left out of the latency histograms; otherwise rejections would make
        latency look good.
        """
        self.outcomes.labels(outcome).inc()
        if is_lost:
            return
        self.total_s.observe(total_s)
        self.prompt_tokens.inc(usage.prompt_tokens)
        self.cached_tokens.inc(usage.cached_tokens)
        self.completion_tokens.inc(usage.completion_tokens)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def values(self) -> dict[str, float]:
        """Return the value of each series by its name and labels, as the text format writes it."""
        found = {}
        for family in self.registry.collect():
            for each in family.samples:
                labels = ",".join(f'{name}="{value}"' for name, value in each.labels.items())
                found[f"{each.name}{{{labels}}}" if labels else each.name] = float(each.value)
        return found

    def _token_counter(self, name: str, documentation: str) -> Counter:
        return Counter(f"yaie_request_{name}_tokens", documentation, registry=self.registry)


class _EngineCollector(Collector):
    """Collector of the engine's latest statistics; counters restart with the engine."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        state, info, stats, num_restarts = self._snapshot()
        states = GaugeMetricFamily("yaie_engine_state", "1 for the current state", labels=["state"])
        for one in EngineState:
            states.add_metric([one.value], float(one is state))
        yield states
        yield CounterMetricFamily(
            "yaie_engine_restarts", "Engine restarts after a crash or a stall", num_restarts
        )
        for each in metrics():
            family = GaugeMetricFamily if each.description.kind == "gauge" else CounterMetricFamily
            yield family(each.name, each.description.help, getattr(stats, each.field))
        yield HistogramMetricFamily(
            "yaie_queue_seconds",
            "Seconds from the arrival of a request until its admission",
            buckets=_cumulative(stats.waits.counts),
            sum_value=stats.waits.total_s,
        )
        if info is not None:
            labels = {name: str(getattr(info, name)) for name in _INFO_LABELS}
            about = GaugeMetricFamily(
                "yaie_engine_info", "Model and settings of the engine", labels=list(labels)
            )
            about.add_metric(list(labels.values()), 1.0)
            yield about
            yield GaugeMetricFamily("yaie_num_slots", "Slots of the KV pool", info.num_slots)
            yield GaugeMetricFamily(
                "yaie_kv_utilization",
                "Share of the slots used by live sequences",
                stats.num_live_slots / max(1, info.num_slots),
            )


def _cumulative(counts: Sequence[int]) -> list[tuple[str, float]]:
    """Return the buckets of waits as Prometheus wants them: bound, number up to it."""
    bounds = [*map(str, WAIT_BOUNDS_S), "+Inf"]
    return list(zip(bounds, map(float, accumulate(counts)), strict=True))
