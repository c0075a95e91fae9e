"""The backlog: the waiting work, and the measured rate at which the engine serves. Pure.

Work is in rows. The rows that a waiting request will need are estimated from the requests before
it: the share of their prompts that was computed, and the length of their answers.
"""

from __future__ import annotations

import math

from yaie.engine.request import Request
from yaie.stats import EngineStats

RETRY_AFTER_S = (1.0, 600.0)  # least and most
MEMORY_S = 60.0  # of step time: the weight of a step falls by e in it
_COUNTED = ("rows_computed", "prompt_tokens", "cached_tokens", "num_started", "output_tokens")


class ServiceRate:
    """Moving totals of what the engine did, over the seconds that its steps took."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._totals = dict.fromkeys(_COUNTED, 0.0)
        self._seen = dict.fromkeys(_COUNTED, 0)

    def observe(self, stats: EngineStats, seconds: float) -> None:
        """Add a step of so many seconds; `stats` has the counters after it."""
        keep = math.exp(-seconds / MEMORY_S)
        self._seconds = keep * self._seconds + seconds
        for name in _COUNTED:
            count = getattr(stats, name)
            self._totals[name] = keep * self._totals[name] + count - self._seen[name]
            self._seen[name] = count

    @property
    def rows_per_s(self) -> float:
        """Rows a second, during steps only; 0 before the first step."""
        return self._totals["rows_computed"] / self._seconds if self._seconds > 0 else 0.0

    @property
    def uncached_share(self) -> float:
        """Share of prompt tokens that were computed; 1 before the first."""
        if not self._totals["prompt_tokens"]:
            return 1.0
        return 1.0 - self._totals["cached_tokens"] / self._totals["prompt_tokens"]

    @property
    def output_len(self) -> float:
        """Tokens of an answer; 0 before the first."""
        return self._totals["output_tokens"] / max(1.0, self._totals["num_started"])


class Backlog:
    """The requests that wait for admission, as one amount of work."""

    def __init__(self) -> None:
        self.rate = ServiceRate()
        self.num_sequences = 0
        self._prompt_tokens = 0
        self._most_output = 0  # tokens, if every answer gets as long as its request allows

    def add(self, request: Request) -> None:
        """Add a request that begins to wait."""
        self._count(request, 1)

    def remove(self, request: Request) -> None:
        """Remove a request that was admitted or has ended."""
        self._count(request, -1)

    def _count(self, request: Request, sign: int) -> None:
        sequences = len(request.sequences)
        self.num_sequences += sign * sequences
        self._prompt_tokens += sign * len(request.prompt)
        self._most_output += sign * sequences * request.max_new_tokens

    @property
    def num_rows(self) -> float:
        """Rows that the waiting requests will need: uncached prompt tokens and answers."""
        output = min(self.num_sequences * self.rate.output_len, self._most_output)
        return self._prompt_tokens * self.rate.uncached_share + output

    @property
    def retry_after_s(self) -> float:
        """Seconds until the last of the waiting is admitted, within `RETRY_AFTER_S`.

        Running sequences are left out: as many rows are still running at the end of that time.
        """
        least, most = RETRY_AFTER_S
        rate = self.rate.rows_per_s
        return min(max(self.num_rows / rate, least), most) if rate else least
