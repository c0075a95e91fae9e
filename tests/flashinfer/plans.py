"""Step plans of a few segments."""

from __future__ import annotations

import numpy as np

from yaie.attention.plan import Segment, StepPlan


def decode_plan(lengths: list[int], seed: int = 1) -> StepPlan:
    """Return a plan of one row at the end of each path; paths share nothing."""
    slots = np.random.default_rng(seed).permutation(sum(lengths))
    paths = np.split(slots, np.cumsum(lengths)[:-1])
    segments = [Segment(path, 0, row, row + 1, 0) for row, path in enumerate(paths)]
    return plan_of(segments, [length - 1 for length in lengths])


def shared_plan(num_shared: int, num_rows: int, num_own: int = 1) -> StepPlan:
    """Return a plan of rows with a few keys of their own below a shared node."""
    slots = np.random.default_rng(1).permutation(num_shared + num_rows * num_own)
    segments = [Segment(slots[:num_shared], 0, 0, num_rows, 0)]
    for row, own in enumerate(np.split(slots[num_shared:], num_rows)):
        segments.append(Segment(own, num_shared, row, row + 1, 1))
    return plan_of(segments, [num_shared + num_own - 1] * num_rows)


def plan_of(segments: list[Segment], positions: list[int]) -> StepPlan:
    rows = np.arange(len(positions))
    num_keys = sum(len(segment.slots) for segment in segments)
    last = [max((s for s in segments if s.first_row <= r < s.end_row), key=_level) for r in rows]
    return StepPlan(
        token_ids=np.zeros_like(rows),
        positions=np.array(positions),
        slots=np.array([segment.slots[-1] for segment in last]),
        written_rows=rows,
        logit_rows=rows,
        segments=tuple(segments),
        kv_tokens_read=num_keys,
        kv_tokens_unshared=sum(positions) + len(positions),
    )


def _level(segment: Segment) -> int:
    return segment.level
