"""Figures from raw answers, and a check that the peer did the requested work.

Pure. The client and the in-process peers fill `Answer`; the runner reads `Figures`.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.peers.workloads import Workload


@dataclass(slots=True)
class Answer:
    """The answer to one request as it arrived. Times are of one monotonic clock, in seconds."""

    prompt_len: int
    start_s: float
    end_s: float = 0.0
    # For each sample: times of arrival and numbers of tokens.
    arrivals: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    token_ids: dict[int, list[int]] = field(default_factory=dict)
    # The peer's own counts, or None.
    counted_prompt: int | None = None
    counted_output: int | None = None
    cached: int | None = None

    def add(self, sample: int, token_ids: Sequence[int], num_tokens: int, now_s: float) -> None:
        """Record the arrival of some tokens of a sample."""
        self.arrivals.setdefault(sample, []).append((now_s, num_tokens))
        self.token_ids.setdefault(sample, []).extend(token_ids)

    @property
    def num_arrived(self) -> int:
        """Number of tokens received, over all samples."""
        return sum(count for arrived in self.arrivals.values() for _, count in arrived)

    @property
    def first_token_s(self) -> float | None:
        """Time from the request to its first token."""
        times = [arrived[0][0] for arrived in self.arrivals.values() if arrived]
        return min(times) - self.start_s if times else None

    def gaps_s(self) -> list[float]:
        """Return the times between tokens of each sample; tokens of one event share their time."""
        gaps = []
        for arrived in self.arrivals.values():
            for (before, _), (now, count) in itertools.pairwise(arrived):
                gaps.extend([(now - before) / count] * count)
        return gaps


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of one run. Times in seconds; None if a peer does not report a figure."""

    wall_s: float
    first_token_p50_s: float | None
    first_token_max_s: float | None
    between_tokens_p50_s: float | None
    output_tokens_per_s: float
    num_requests: int
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int | None
    faults: tuple[str, ...]  # differences from the requested work


def summarize(workload: Workload, answers: Sequence[Answer]) -> Figures:
    """Return the figures of one run; wall time ends with the last answer."""
    wall_s = max(a.end_s for a in answers) - min(a.start_s for a in answers)
    first = [a.first_token_s for a in answers]
    known_first = [value for value in first if value is not None]
    gaps = [gap for answer in answers for gap in answer.gaps_s()]
    cached = [a.cached for a in answers if a.cached is not None]
    arrived = sum(a.num_arrived for a in answers)
    return Figures(
        wall_s=wall_s,
        first_token_p50_s=statistics.median(known_first) if known_first else None,
        first_token_max_s=max(known_first, default=None),
        between_tokens_p50_s=statistics.median(gaps) if gaps else None,
        output_tokens_per_s=arrived / wall_s,
        num_requests=len(answers),
        prompt_tokens=sum(a.prompt_len for a in answers),
        output_tokens=arrived,
        cached_tokens=sum(cached) if len(cached) == len(answers) else None,
        faults=tuple(_faults(workload, answers, arrived)),
    )


def _faults(workload: Workload, answers: Sequence[Answer], arrived: int) -> list[str]:
    """Return every difference between the peer's work and the workload."""
    faults = []
    sent = sum(a.prompt_len for a in answers)
    if sent != workload.num_prompt_tokens:
        faults.append(f"{sent} prompt tokens sent of {workload.num_prompt_tokens}")
    if arrived != workload.num_output_tokens:
        faults.append(f"{arrived} output tokens came of {workload.num_output_tokens}")
    counted = [a.counted_prompt for a in answers if a.counted_prompt is not None]
    if counted and sum(counted) != workload.num_prompt_tokens:
        faults.append(f"it counted {sum(counted)} prompt tokens of {workload.num_prompt_tokens}")
    written = [a.counted_output for a in answers if a.counted_output is not None]
    if written and sum(written) != workload.num_output_tokens:
        faults.append(f"it counted {sum(written)} output tokens of {workload.num_output_tokens}")
    short = [
        answer
        for answer in answers
        if any(len(ids) != workload.shape.output_len for ids in answer.token_ids.values() if ids)
    ]
    if short:
        faults.append(f"{len(short)} answers with samples of another length")
    return faults
