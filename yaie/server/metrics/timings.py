"""`TokenRate`: output tokens a second, of the last minute and since the start."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

WINDOW_S = 60


class TokenRate:
    """Token counts by second; 0 before the first token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began_at = clock()
        self._num_tokens = 0
        self._seconds = [0] * WINDOW_S  # whole second of each place
        self._counts = [0] * WINDOW_S

    def add(self, num_tokens: int) -> None:
        """Count tokens of this moment."""
        second = int(self._clock())
        place = second % WINDOW_S
        if self._seconds[place] != second:
            self._seconds[place], self._counts[place] = second, 0
        self._counts[place] += num_tokens
        self._num_tokens += num_tokens

    @property
    def uptime_s(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._began_at

    @property
    def last_minute(self) -> float:
        """Tokens a second over the last minute, or since the start if that is shorter."""
        oldest = int(self._clock()) - WINDOW_S
        counted = zip(self._seconds, self._counts, strict=True)
        recent = sum(count for second, count in counted if second > oldest)
        return recent / max(1.0, min(WINDOW_S, self.uptime_s))

    @property
    def lifetime(self) -> float:
        """Tokens a second since the start."""
        return self._num_tokens / max(1.0, self.uptime_s)


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
        """Add a sample of `seconds` for each token."""
        self._counts[bisect_left(self._bounds, seconds)] += num_tokens
        self._sum_s += seconds * num_tokens

    def cumulative(self) -> tuple[list[tuple[str, float]], float]:
        """Return the buckets (upper bound, samples up to it) and the sum in seconds."""
        bounds = map(_text, self._bounds)
        return list(zip(bounds, map(float, accumulate(self._counts)), strict=True)), self._sum_s

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Yield the histogram in Prometheus' form."""
        yield HistogramMetricFamily(self._name, self._documentation, *self.cumulative())


def _text(bound: float) -> str:
    return "+Inf" if bound == float("inf") else repr(float(bound))
