"""Metrics of the service as a whole: status, rates, times, and memory of its processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from yaie.process.log_writer import num_dropped_lines
from yaie.server.metrics.status import ServerStatus
from yaie.server.metrics.timings import WINDOW_S, TokenRate

_RESIDENT = 1  # place in /proc/PID/statm


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """The service at the time of a scrape."""

    status: ServerStatus
    started_at: float  # unix time, seconds
    pids: Mapping[str, int | None]  # engine processes by model name


class ServiceCollector(Collector):
    """Collector of facts about the service."""

    def __init__(self, facts: Callable[[], ServiceFacts], rate: TokenRate) -> None:
        self._facts = facts
        self._rate = rate

    def register(self, registry: CollectorRegistry) -> None:
        """Add this collector, and the statistics of the server's process."""
        registry.register(self)
        ProcessCollector(registry=registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, for a scrape."""
        facts = self._facts()
        statuses = GaugeMetricFamily(
            "yaie_server_status", "Server status: 1 for the current status", labels=["status"]
        )
        for each in ServerStatus:
            statuses.add_metric([each.value], float(each is facts.status))
        yield statuses
        rates = GaugeMetricFamily(
            "yaie_output_tokens_per_second",
            f"Output tokens per second, over the last {WINDOW_S} s and since the server start",
            labels=["window"],
        )
        rates.add_metric([f"{WINDOW_S}s"], self._rate.last_minute)
        rates.add_metric(["lifetime"], self._rate.lifetime)
        yield rates
        yield GaugeMetricFamily(
            "yaie_uptime_seconds", "Seconds since the server started", self._rate.uptime_s
        )
        yield GaugeMetricFamily(
            "yaie_start_time_seconds",
            "Start time of the server since unix epoch in seconds",
            facts.started_at,
        )
        yield CounterMetricFamily(
            "yaie_log_lines_dropped",
            "Log lines dropped because standard error was not read in time",
            num_dropped_lines(),
        )
        memory = GaugeMetricFamily(
            "yaie_engine_process_resident_memory_bytes",
            "Resident memory size of the engine process in bytes",
            labels=["model"],
        )
        for model, pid in facts.pids.items():
            if (resident := _resident_bytes(pid)) is not None:
                memory.add_metric([model], resident)
        yield memory


def _resident_bytes(pid: int | None) -> int | None:
    """Return the resident memory of a process; None if the system tells none."""
    if pid is None:
        return None
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[_RESIDENT]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):  # it has ended, or the system is a different one
        return None
