"""`Series`: five minutes of numbers, one value each four seconds, for charts. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from yaie.base.stats import EngineStats
from yaie.server.replies.ended_call import EndedCall

STEP_S = 4.0
LENGTH = 75  # five minutes
_WARM = 0.5  # share of cached prompt tokens from which a call counts as cached
_COUNTERS = (
    "prompt_tokens",
    "cached_tokens",
    "num_evicted_tokens",
    "num_wanted_again_tokens",
    "num_kept_by_25_tokens",
    "num_kept_by_50_tokens",
    "missed_new_tokens",
    "missed_changed_tokens",
    "missed_evicted_tokens",
)
Number = float | None


@dataclass(slots=True)
class _Calls:
    """Times of the calls that ended in one step, in seconds."""

    warm: list[float] = field(default_factory=list)  # to the first token
    cold: list[float] = field(default_factory=list)
    between: list[float] = field(default_factory=list)  # tokens
    computed: int = 0  # prompt tokens
    computing_s: float = 0.0


class Series:
    """Ring of the last five minutes."""

    def __init__(self) -> None:
        self.num_steps = 0  # since the start
        self._counts: deque[dict[str, float]] = deque(maxlen=LENGTH + 1)
        self._points: deque[dict[str, Number]] = deque(maxlen=LENGTH)
        self._calls: deque[_Calls] = deque([_Calls()], maxlen=LENGTH)

    def note_call(self, ended: EndedCall) -> None:
        """Add the times of a call that has ended."""
        usage, calls = ended.usage, self._calls[-1]
        if ended.first_token_s is None or not usage.prompt_tokens:
            return
        is_warm = usage.cached_tokens >= _WARM * usage.prompt_tokens
        (calls.warm if is_warm else calls.cold).append(ended.first_token_s)
        if usage.completion_tokens > len(ended.num_tokens):
            times = [each.total_s - each.first_token_s for each in ended.timings]
            lengths = [count - 1 for counts in ended.num_tokens for count in counts]
            if sum(lengths) > 0:
                calls.between.append(sum(times) / sum(lengths))
        computed = usage.prompt_tokens - usage.cached_tokens
        if computed >= 32 and ended.timings:  # shorter prompts show the overhead of a step
            first = ended.timings[0]
            calls.computed += computed
            calls.computing_s += first.first_token_s - first.queued_s

    def sample(self, stats: EngineStats, num_slots: int) -> None:
        """End a step with the engine's numbers."""
        counts = {name: getattr(stats, name) for name in _COUNTERS}
        if self._counts and counts["prompt_tokens"] < self._counts[-1]["prompt_tokens"]:
            self._counts.clear()  # another engine counts from 0
        before = self._counts[-1] if self._counts else counts
        self._counts.append(counts)
        calls, prompt = self._calls[-1], counts["prompt_tokens"] - before["prompt_tokens"]
        held = stats.num_live_slots + stats.num_cached_slots
        self._points.append(
            {
                "hit": (counts["cached_tokens"] - before["cached_tokens"]) / prompt
                if prompt
                else None,
                "ttft": _median(calls.warm),
                "cold": _median(calls.cold),
                "itl": _median(calls.between),
                "queue": stats.num_waiting,
                "pool": held / num_slots if num_slots else None,
                "evicted": counts["num_evicted_tokens"] - before["num_evicted_tokens"],
            }
        )
        self._calls.append(_Calls())
        self.num_steps += 1

    def columns(self) -> dict[str, list[Number]]:
        """Return the values of each chart, oldest first; None where nothing happened."""
        points = list(self._points)
        return {name: [each[name] for each in points] for name in points[0]} if points else {}

    def last(self) -> dict[str, Number]:
        """Return the newest values."""
        return self._points[-1] if self._points else {}

    def window(self, stats: EngineStats) -> dict[str, Number]:
        """Return the numbers of the last five minutes, up to `stats`."""
        oldest = self._counts[0] if self._counts else dict.fromkeys(_COUNTERS, 0.0)
        grown = {name: max(0.0, getattr(stats, name) - oldest[name]) for name in _COUNTERS}
        prompt, cached = grown["prompt_tokens"], grown["cached_tokens"]
        computed = sum(each.computed for each in self._calls)
        seconds = sum(each.computing_s for each in self._calls)

        def share(more: float) -> Number:
            return min(1.0, (cached + more) / prompt) if prompt else None

        return {
            "prompt": prompt,
            "cached": cached,
            "hit": share(0),
            "hit_25": share(grown["num_kept_by_25_tokens"]),
            "hit_50": share(grown["num_kept_by_50_tokens"]),
            "hit_100": share(grown["num_wanted_again_tokens"]),
            "evicted": grown["num_evicted_tokens"],
            "missed_new": grown["missed_new_tokens"],
            "missed_changed": grown["missed_changed_tokens"],
            "missed_evicted": grown["missed_evicted_tokens"],
            "ttft": self._median_of("warm"),
            "cold": self._median_of("cold"),
            "itl": self._median_of("between"),
            "s_per_token": seconds / computed if computed else None,  # of a prompt
        }

    def _median_of(self, name: str) -> Number:
        return _median([value for each in self._calls for value in getattr(each, name)])


def _median(values: Sequence[float]) -> Number:
    return median(values) if values else None
