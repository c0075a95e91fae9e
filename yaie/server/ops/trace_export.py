"""Export of spans to a collector that may be gone: an outage is logged once, lost spans counted."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

logger = logging.getLogger(__name__)


class WatchedExporter(logging.Handler, Collector):
    """Exporter around OpenTelemetry's exporter; also the handler of OpenTelemetry's log.

    The first record of an outage is logged, with its reason.
    """

    def __init__(self, exporter: Any) -> None:
        super().__init__()
        self._exporter = exporter
        self._num_lost = 0
        self._lost_before: int | None = None  # the outage; None without one
        self._library = logging.getLogger("opentelemetry")
        self._library.addHandler(self)
        self._library.propagate = False

    def export(self, spans: Sequence[Any]) -> Any:
        """Send spans; see OpenTelemetry's `SpanExporter`."""
        is_sent = False
        try:
            result = self._exporter.export(spans)
            is_sent = result.name == "SUCCESS"
            return result
        finally:
            if not is_sent:
                self._begin_outage("the collector takes no spans")
                self._num_lost += len(spans)
            elif self._lost_before is not None:
                lost, self._lost_before = self._num_lost - self._lost_before, None
                logger.info("traces are sent again; %d spans were lost", lost)

    @property
    def is_failing(self) -> bool:
        """True from the first failed try to the next success."""
        return self._lost_before is not None

    def emit(self, record: logging.LogRecord) -> None:
        """Log the first record of an outage."""
        self._begin_outage(record.getMessage())

    def _begin_outage(self, reason: str) -> None:
        if self._lost_before is None:
            self._lost_before = self._num_lost
            logger.warning(
                "traces cannot be sent: %s; requests continue, and lost spans are counted",
                reason,
            )

    def shutdown(self) -> None:
        """Close the exporter."""
        self._exporter.shutdown()
        self._library.removeHandler(self)
        self._library.propagate = True

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Return True: nothing waits here."""
        return True

    def collect(self) -> list[CounterMetricFamily]:
        """Return the metric, for a scrape."""
        name, about = "yaie_trace_spans_lost", "Spans that the collector of traces did not take"
        return [CounterMetricFamily(name, about, self._num_lost)]

    def count_in(self, registry: CollectorRegistry) -> None:
        """Add the metric."""
        registry.register(self)
