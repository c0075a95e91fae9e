"""`EngineAliases`: the engine's gauges and counters under the names of vLLM and SGLang.

For routers and dashboards that know those engines. Both submit each of the `n` choices as a
request, so their running requests are YAIE's running sequences. In their cache usage a cached token
that can be evicted is free: a router would avoid a server whose warm cache looked full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from yaie.base.server_settings import MetricsNames
from yaie.server.metrics.prometheus import Metrics, Snapshot, Snapshots
from yaie.server.metrics.timings import WINDOW_S


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names and labels of one engine."""

    prefix: str
    labels: dict[str, str]  # of every metric, in addition to `model_name`
    cache_labels: tuple[str, str]  # of `cache_config_info`: block size, number of blocks
    aliases: tuple[_Alias, ...]

    @property
    def label_names(self) -> tuple[str, ...]:
        """The label names of every metric."""
        return ("model_name", *self.labels)

    def label_values(self, model: str) -> tuple[str, ...]:
        """Return the values for one model."""
        return (model, *self.labels.values())


@dataclass(frozen=True, slots=True)
class _Alias:
    """One number of a snapshot; None has no series."""

    name: str
    help: str
    value: Callable[[Snapshot], float | None]
    labels: tuple[tuple[str, str], ...] = ()
    kind: type[GaugeMetricFamily | CounterMetricFamily] = GaugeMetricFamily


def _usage(each: Snapshot) -> float | None:
    info = each.info
    return None if info is None else each.stats.num_live_slots / max(1, info.num_slots)


def _size(each: Snapshot) -> int | None:
    return None if each.info is None else each.info.num_slots


def _context(each: Snapshot) -> int | None:
    return None if each.info is None else each.info.max_model_len


_counter = partial(_Alias, kind=CounterMetricFamily)
_PROMPT, _CACHED = "Prompt tokens", "Prompt tokens served from the prefix cache"
_RUNNING, _WAITING = "Running requests; each choice counts", "Waiting requests"
_USAGE = "KV cache usage by running sequences; 1 is full"
_VLLM = (
    _Alias("num_requests_running", _RUNNING, lambda each: each.stats.num_running),
    _Alias("num_requests_waiting", _WAITING, lambda each: each.stats.num_waiting),
    _Alias("kv_cache_usage_perc", _USAGE, _usage),
    _counter("prefix_cache_queries", _PROMPT, lambda each: each.stats.prompt_tokens),
    _counter("prefix_cache_hits", _CACHED, lambda each: each.stats.cached_tokens),
    _counter("prompt_tokens", _PROMPT, lambda each: each.stats.prompt_tokens),
    _counter("prompt_tokens_cached", _CACHED, lambda each: each.stats.cached_tokens),
    _counter("generation_tokens", "Output tokens", lambda each: each.stats.output_tokens),
    _counter("num_preemptions", "Preemptions", lambda each: each.stats.num_preemptions),
)
_SGLANG = (
    _Alias("num_running_reqs", _RUNNING, lambda each: each.stats.num_running),
    _Alias("num_queue_reqs", _WAITING, lambda each: each.stats.num_waiting),
    _Alias("token_usage", _USAGE, _usage),
    _Alias("num_used_tokens", "KV cache slots in use", lambda each: each.stats.num_live_slots),
    _Alias("kv_used_tokens", "KV cache slots in use", lambda each: each.stats.num_live_slots),
    _Alias("kv_evictable_tokens", "Evictable slots", lambda each: each.stats.num_cached_slots),
    _Alias("kv_available_tokens", "Free KV cache slots", lambda each: each.stats.num_free_slots),
    _Alias("max_total_num_tokens", "KV cache size in slots", _size),
    _Alias("context_len", "Context length in tokens", _context),
    _counter("prompt_tokens", _PROMPT, lambda each: each.stats.prompt_tokens),
    _counter("generation_tokens", "Output tokens", lambda each: each.stats.output_tokens),
    _counter(
        "cached_tokens",
        _CACHED,
        lambda each: each.stats.cached_tokens,
        (("cache_source", "device"),),
    ),
    _counter("num_retracted_requests", "Preemptions", lambda each: each.stats.num_preemptions),
)
DIALECTS: dict[MetricsNames, Dialect] = {
    "vllm": Dialect("vllm", {"engine": "0"}, ("block_size", "num_gpu_blocks"), _VLLM),
    "sglang": Dialect("sglang", {"engine_type": "unified"}, ("page_size", "num_pages"), _SGLANG),
}


class EngineAliases(Collector):
    """Collector of one engine's names, from the snapshots of a scrape.

    The first series of a metric belongs to the first model; endpoint pickers read only that.
    """

    def __init__(
        self, dialect: Dialect, metrics: Metrics, snapshots: Callable[[], Snapshots]
    ) -> None:
        self._dialect = dialect
        self._metrics = metrics
        self._snapshots = snapshots
        metrics.registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, for a scrape."""
        found, dialect = self._snapshots(), self._dialect
        for alias in dialect.aliases:
            added = dict(alias.labels)
            metric = alias.kind(
                f"{dialect.prefix}:{alias.name}", alias.help, labels=(*dialect.label_names, *added)
            )
            for model, each in found.items():
                if (value := alias.value(each)) is not None:
                    metric.add_metric((*dialect.label_values(model), *added.values()), value)
            yield metric
        yield from self._cache_size(found)
        if len(found) == 1:  # these numbers are not counted by model
            yield from self._of_the_server(*found)

    def _cache_size(self, found: Snapshots) -> Iterator[Metric]:
        """Yield the block size and the number of blocks, as labels and for SGLang as gauges too."""
        dialect, block_size = self._dialect, self._metrics.block_size
        about = GaugeMetricFamily(
            f"{dialect.prefix}:cache_config_info",
            "KV cache size in blocks",
            labels=(*dialect.label_names, *dialect.cache_labels),
        )
        gauges = [
            GaugeMetricFamily(f"{dialect.prefix}:{name}", text, labels=dialect.label_names)
            for name, text in zip(
                dialect.cache_labels, ("Block size in tokens", "KV cache blocks"), strict=True
            )
        ]
        for model, each in found.items():
            if (size := _size(each)) is None:
                continue
            counts = (block_size, size // block_size)
            about.add_metric((*dialect.label_values(model), *map(str, counts)), 1.0)
            for gauge, count in zip(gauges, counts, strict=True):
                gauge.add_metric(dialect.label_values(model), count)
        yield about
        if dialect.prefix == "sglang":
            yield from gauges

    def _of_the_server(self, model: str) -> Iterator[Metric]:
        dialect = self._dialect
        prefix, values = dialect.prefix, dialect.label_values(model)
        intervals = HistogramMetricFamily(
            f"{prefix}:inter_token_latency_seconds",
            "Inter-token latency in seconds",
            labels=dialect.label_names,
        )
        intervals.add_metric(values, *self._metrics.inter_token_s.cumulative())
        yield intervals
        if prefix == "sglang":
            rate = GaugeMetricFamily(
                f"{prefix}:gen_throughput",
                f"Output tokens per second, over the last {WINDOW_S} s",
                labels=dialect.label_names,
            )
            rate.add_metric(values, self._metrics.rate.last_minute)
            yield rate
