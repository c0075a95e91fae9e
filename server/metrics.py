"""Prometheus metrics: the engine's statistics as they are, and what only the server can see.

One registry per application, filled by `Generation` and the middleware and read by `GET /metrics`.
Labels come from closed sets only, never from what a client sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from yaie.stats import EngineStats, metrics
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
    """The metrics of one application."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_EngineCollector(snapshot))
        self.active = Gauge(
            "yaie_http_active_requests",
            "HTTP requests whose last byte is not sent, but for those of probes and of metrics",
            registry=self._registry,
        )
        self.responses = Counter(
            "yaie_http_responses",
            "HTTP responses",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self.outcomes = Counter(
            "yaie_requests",
            "Completion requests by how they ended",
            ("outcome",),
            registry=self._registry,
        )
        self.first_token_s = Histogram(
            "yaie_time_to_first_token_seconds",
            "From sending a request to the engine to its first token",
            buckets=_FIRST_TOKEN_BUCKETS,
            registry=self._registry,
        )
        self.inter_token_s = Histogram(
            "yaie_inter_token_seconds",
            "Time for one more token of a request",
            buckets=_INTER_TOKEN_BUCKETS,
            registry=self._registry,
        )
        self.total_s = Histogram(
            "yaie_request_seconds",
            "From sending a request to the engine to its end, unless it failed before a token",
            buckets=_TOTAL_BUCKETS,
            registry=self._registry,
        )
        self.prompt_tokens = self._token_counter("prompt", "Tokens of prompts, ended requests")
        self.cached_tokens = self._token_counter(
            "cached", "Tokens of prompts that were not computed, ended requests"
        )
        self.completion_tokens = self._token_counter(
            "completion", "Tokens that clients were given, ended requests"
        )

    def count_outcome(
        self, outcome: str, usage: Usage, total_s: float, *, is_lost: bool = False
    ) -> None:
        """Count a request that ended. `is_lost`: an error came before its first token.

        Such a request has an outcome and no more, or the more are refused, the shorter requests
        would seem to take.
        """
        self.outcomes.labels(outcome).inc()
        if is_lost:
            return
        self.total_s.observe(total_s)
        self.prompt_tokens.inc(usage.prompt_tokens)
        self.cached_tokens.inc(usage.cached_tokens)
        self.completion_tokens.inc(usage.completion_tokens)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def _token_counter(self, name: str, documentation: str) -> Counter:
        return Counter(f"yaie_request_{name}_tokens", documentation, registry=self._registry)


class _EngineCollector(Collector):
    """Reads the engine's latest statistics when it is asked; they start again with an engine."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        state, info, stats, num_restarts = self._snapshot()
        states = GaugeMetricFamily("yaie_engine_state", "1 for the present state", labels=["state"])
        for one in EngineState:
            states.add_metric([one.value], float(one is state))
        yield states
        yield CounterMetricFamily(
            "yaie_engine_restarts", "Times that the engine died and was restarted", num_restarts
        )
        for each in metrics():
            family = GaugeMetricFamily if each.about.kind == "gauge" else CounterMetricFamily
            yield family(each.name, each.about.help, getattr(stats, each.field))
        if info is not None:
            labels = {name: str(getattr(info, name)) for name in _INFO_LABELS}
            about = GaugeMetricFamily("yaie_engine_info", "What is served", labels=list(labels))
            about.add_metric(list(labels.values()), 1.0)
            yield about
            yield GaugeMetricFamily("yaie_num_slots", "Size of the KV pool", info.num_slots)
            yield GaugeMetricFamily(
                "yaie_kv_utilization",
                "Share of the slots that live sequences need",
                stats.num_live_slots / max(1, info.num_slots),
            )
