"""`Latencies`: measures the token times of one call, as its reader sees them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from yaie.server.metrics.prometheus import Metrics


class Latencies:
    """Times to the first token and between tokens, for the metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._started_at = time.monotonic()
        self.first_at: float | None = None  # arrival time for the first token that was read
        self._last_at: dict[int, float] = {}  # time of the last measured token, by choice
        self._fresh: set[int] = set()  # choices whose first token is not measured yet

    def note_arrival(self, choice: int) -> None:
        """Note that tokens of a choice arrived."""
        if choice not in self._last_at:
            self._last_at[choice] = time.monotonic()
            self._fresh.add(choice)

    def read(self, unread: Mapping[int, int]) -> None:
        """Observe the latency of each token that is read now; `unread`: their number by choice.

        Tokens that are read together share the time since the tokens before them.
        """
        if self.first_at is None and self._last_at:
            self.first_at = min(self._last_at.values())
            self._metrics.first_token_s.observe(self.first_at - self._started_at)
        now = time.monotonic()
        for choice, num_unread in unread.items():
            num_tokens = num_unread
            if num_unread and choice in self._fresh:
                self._fresh.remove(choice)
                num_tokens -= 1
            if num_tokens > 0:
                self._observe(choice, num_tokens, now)

    def observe_now(self, choice: int, num_tokens: int) -> None:
        """Observe tokens that are read as they arrive, after the first ones of their choice."""
        self._observe(choice, num_tokens, time.monotonic())

    def _observe(self, choice: int, num_tokens: int, now: float) -> None:
        interval_s = (now - self._last_at[choice]) / num_tokens
        self._metrics.inter_token_s.observe(interval_s, num_tokens)
        self._last_at[choice] = now

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started_at

    @property
    def first_s(self) -> float | None:
        """Seconds from the start to the first token that was read."""
        return None if self.first_at is None else self.first_at - self._started_at
