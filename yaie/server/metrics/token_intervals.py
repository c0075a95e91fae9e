"""Histogram of the times between tokens, with many tokens of a delivery as one call."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector


class TokenIntervals(Collector):
    """Histogram whose samples come in equal groups. One thread writes it."""

    def __init__(
        self,
        name: str,
        documentation: str,
        *,
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._name = name
        self._documentation = documentation
        self._bounds = (*buckets, float("inf"))
        self._counts = [0] * len(self._bounds)
        self._sum_s = 0.0
        registry.register(self)

    def observe(self, seconds: float, num_tokens: int) -> None:
        """Add a sample of `seconds` for each of the tokens."""
        self._counts[bisect_left(self._bounds, seconds)] += num_tokens
        self._sum_s += seconds * num_tokens

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Return the histogram in Prometheus' form, with cumulative counts."""
        total, buckets = 0, []
        for bound, count in zip(self._bounds, self._counts, strict=True):
            total += count
            buckets.append((_text(bound), total))
        yield HistogramMetricFamily(self._name, self._documentation, buckets, self._sum_s)


def _text(bound: float) -> str:
    return "+Inf" if bound == float("inf") else repr(float(bound))
