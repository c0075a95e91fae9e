"""Prometheus metrics: `Metrics` exports engine statistics and HTTP measurements.

One registry per application, filled by `Generation` and the middleware and read by `GET /metrics`.
Label values come from closed sets, never from a client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from yaie.base.stats import WAIT_BOUNDS_S, EngineStats, metrics
from yaie.base.types import EngineInfo, EngineState, Usage
from yaie.server.metrics.timings import TokenIntervals, TokenRate

_INFO_LABELS = (
    "model",
    "architecture",
    "dtype",
    "kv_dtype",
    "device",
    "attention_backend",
    "truncation_kernel",
    "policy",
    "eviction",
)
FIRST_TOKEN_BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
)  # fmt: skip
INTER_TOKEN_BUCKETS = (
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 5.0,
)  # fmt: skip
TOTAL_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One model's engine at the time of a scrape."""

    state: EngineState
    info: EngineInfo | None
    stats: EngineStats
    num_restarts: int = 0
    num_loads: int = 0  # at requests
    num_unloads: int = 0


Snapshots = Mapping[str, Snapshot]  # by the name of the model


class _Registry(CollectorRegistry):
    """A registry without the `_created` gauges of counters and histograms."""

    def collect(self) -> Iterator[Metric]:
        for family in super().collect():
            family.samples = [each for each in family.samples if not each.name.endswith("_created")]
            yield family


class Metrics:
    """Metrics of one application, for `GET /metrics`.

    Series of single API keys are in `key_registry`, for requests with a key: `whole_registry`.
    `block_size`: tokens per block; routers count the cache in blocks, YAIE in single tokens.
    """

    def __init__(self, snapshots: Callable[[], Snapshots], block_size: int = 16) -> None:
        self.block_size = block_size
        self.registry, self.key_registry = _Registry(), _Registry()
        self.whole_registry = _Registry()
        self.whole_registry.register(self.registry)
        self.whole_registry.register(self.key_registry)
        self.registry.register(_EngineCollector(snapshots, block_size))
        self.rate = TokenRate()
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
        self.http_s = Histogram(
            "yaie_http_request_seconds",
            "HTTP request latency in seconds, from the request head to the last response byte",
            ("route", "model"),
            buckets=TOTAL_BUCKETS,
            registry=self.registry,
        )
        self.refused_keys = Counter(
            "yaie_auth_failures",
            "Requests rejected for a missing or wrong API key",
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
            "Time to first token in seconds",
            buckets=FIRST_TOKEN_BUCKETS,
            registry=self.registry,
        )
        self.inter_token_s = TokenIntervals(
            "yaie_inter_token_seconds",
            "Inter-token latency in seconds",
            buckets=INTER_TOKEN_BUCKETS,
            registry=self.registry,
        )
        self.total_s = Histogram(
            "yaie_request_seconds",
            "End-to-end request latency in seconds; requests that fail before their first token "
            "count only if they exceed the request timeout",
            buckets=TOTAL_BUCKETS,
            registry=self.registry,
        )
        self.prompt_tokens = self._token_counter("prompt", "Prompt tokens of finished requests")
        self.cached_tokens = self._token_counter(
            "cached", "Prompt tokens of finished requests served from the prefix cache"
        )
        self.completion_tokens = self._token_counter(
            "completion", "Completion tokens of finished requests"
        )

    def count_outcome(
        self, outcome: str, usage: Usage, total_s: float, *, is_lost: bool = False
    ) -> None:
        """Count a finished request; `is_lost` if it failed before its first token.

        Lost requests stay out of the latency histograms: rejections would make latency look good.
        """
        self.outcomes.labels(outcome).inc()
        if is_lost:
            return
        self.total_s.observe(total_s)
        self.prompt_tokens.inc(usage.prompt_tokens)
        self.cached_tokens.inc(usage.cached_tokens)
        self.completion_tokens.inc(usage.completion_tokens)

    def text(self, *, with_keys: bool = False) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self.whole_registry if with_keys else self.registry)

    def values(self, *, with_keys: bool = False) -> dict[str, float]:
        """Return each series' value by name and labels, written as in the text format."""
        found = {}
        for family in (self.whole_registry if with_keys else self.registry).collect():
            for each in family.samples:
                labels = ",".join(f'{name}="{value}"' for name, value in each.labels.items())
                found[f"{each.name}{{{labels}}}" if labels else each.name] = float(each.value)
        return found

    def _token_counter(self, name: str, documentation: str) -> Counter:
        return Counter(f"yaie_request_{name}_tokens", documentation, registry=self.registry)


class _EngineCollector(Collector):
    """Collector of the engines' latest statistics; counters restart with an engine.

    Several models carry a `model` label; a single model has no label.
    """

    def __init__(self, snapshots: Callable[[], Snapshots], block_size: int) -> None:
        self._snapshots = snapshots
        self._block_size = block_size

    def collect(self) -> Iterator[Metric]:
        found = self._snapshots()
        names = ["model"] if len(found) > 1 else []
        rows = [([model] if names else [], each) for model, each in found.items()]

        def family(
            kind: type[GaugeMetricFamily | CounterMetricFamily],
            name: str,
            meaning: str,
            value: Callable[[Snapshot], float | None],
        ) -> Metric:
            metric = kind(name, meaning, labels=names)
            for labels, each in rows:
                if (number := value(each)) is not None:
                    metric.add_metric(labels, number)
            return metric

        states = GaugeMetricFamily(
            "yaie_engine_state", "Engine state: 1 for the current state", labels=[*names, "state"]
        )
        for labels, each in rows:
            for one in EngineState:
                states.add_metric([*labels, one.value], float(one is each.state))
        yield states
        yield family(
            CounterMetricFamily,
            "yaie_engine_restarts",
            "Engine restarts after a crash or a stall",
            lambda each: each.num_restarts,
        )
        yield family(
            CounterMetricFamily,
            "yaie_model_loads",
            "Model loads triggered by a request",
            lambda each: each.num_loads,
        )
        yield family(
            CounterMetricFamily,
            "yaie_model_unloads",
            "Model unloads, to free memory or after idle time",
            lambda each: each.num_unloads,
        )
        for name, group in groupby(metrics(), key=lambda each: each.name):
            series = [(each.field, each.description) for each in group]
            first = series[0][1]
            kind = GaugeMetricFamily if first.kind == "gauge" else CounterMetricFamily
            added = [] if first.label is None else [first.label[0]]
            statistic = kind(name, first.help, labels=[*names, *added])
            for field, description in series:
                values = [] if description.label is None else [description.label[1]]
                for labels, each in rows:
                    number: float | None = getattr(each.stats, field)
                    if number is not None:
                        statistic.add_metric([*labels, *values], number)
            if statistic.samples:  # a number that no engine knows has no series
                yield statistic
        waits = HistogramMetricFamily(
            "yaie_queue_seconds",
            "Queue time of requests in seconds",
            labels=names,
        )
        for labels, each in rows:
            waits.add_metric(labels, _cumulative(each.stats.waits.counts), each.stats.waits.total_s)
        yield waits
        yield from self._descriptions([(labels, each.info, each) for labels, each in rows], names)

    def _descriptions(
        self, rows: Sequence[tuple[list[str], EngineInfo | None, Snapshot]], names: list[str]
    ) -> Iterator[Metric]:
        described = [(labels, info, each) for labels, info, each in rows if info is not None]
        if not described:
            return
        about = GaugeMetricFamily(
            "yaie_engine_info", "Engine model and settings", labels=list(_INFO_LABELS)
        )
        blocks = GaugeMetricFamily(
            "yaie_cache_config_info",
            "KV cache size in blocks, for routers",
            labels=[*names, "block_size", "num_blocks"],
        )
        slots = GaugeMetricFamily("yaie_num_slots", "KV cache size in slots (tokens)", labels=names)
        share = GaugeMetricFamily(
            "yaie_kv_utilization", "KV cache usage by running sequences; 1 is full", labels=names
        )
        warm_up = GaugeMetricFamily(
            "yaie_warm_up_seconds",
            "Warm-up time in seconds; 0 without a warm-up",
            labels=names,
        )
        for labels, info, each in described:
            warm_up.add_metric(labels, info.warm_up_s)
            about.add_metric([str(getattr(info, name) or "") for name in _INFO_LABELS], 1.0)
            slots.add_metric(labels, info.num_slots)
            size = self._block_size
            blocks.add_metric([*labels, str(size), str(info.num_slots // size)], 1.0)
            share.add_metric(labels, each.stats.num_live_slots / max(1, info.num_slots))
        yield from (about, blocks, slots, share, warm_up)


def _cumulative(counts: Sequence[int]) -> list[tuple[str, float]]:
    """Return cumulative queue-time buckets for Prometheus: (upper bound, count)."""
    bounds = [*map(str, WAIT_BOUNDS_S), "+Inf"]
    return list(zip(bounds, map(float, accumulate(counts)), strict=True))
