"""Probe plan: a small tree with every type of work item, and a one-row path.

Pure and torch-free. Slots are at random, so that a wrong layout shows.

    shared: 192 keys x all rows       cut in two, wide
    branch:  40 keys x rows 0-1       narrow, unless the group is too large for narrow items
    own:      1 key  x 1 row each     narrow
    prompt:   3 keys x the last 3 rows, each of which sees the keys up to its own
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import IntArray, Segment
from yaie.attention.tree_decode.work_items import Tiling

_SHARED = 192  # more than the least item, so that they are cut
_BRANCH = 40
_ROWS_OF_BRANCH = 2
_ROWS_OF_PROMPT = 3
_LEAST_ROWS = 8


@dataclass(frozen=True, slots=True)
class ProbePlans:
    """Steps over one pool, in order."""

    num_slots: int
    stored: StepPlan  # writes the keys that the other plans share
    tree: StepPlan
    path: StepPlan  # one row without new keys: only narrow items, if any


def plan_probe(tiling: Tiling) -> ProbePlans:
    """Return the steps for a layer; a window hides some keys from each row.

    Windows shorter than the branch hide all shared keys.
    """
    num_rows = max(_LEAST_ROWS, tiling.narrow_rows + 1)
    num_slots = _SHARED + _BRANCH + num_rows
    slots = np.random.default_rng(0).permutation(num_slots).astype(np.int64)
    shared, branch, own = np.split(slots, [_SHARED, _SHARED + _BRANCH])
    # Positions after a gap, so that the window ends among the shared keys.
    behind = max(_SHARED, (tiling.window or 0) + _SHARED // 2 - _BRANCH)
    first_prompt = num_rows - _ROWS_OF_PROMPT

    positions = np.full(num_rows, behind, dtype=np.int64)
    positions[:_ROWS_OF_BRANCH] += _BRANCH
    positions[first_prompt:] += np.arange(_ROWS_OF_PROMPT)
    segments = [
        Segment(shared, 0, 0, num_rows, level=0),
        Segment(branch, behind, 0, _ROWS_OF_BRANCH, level=1),
    ]
    for row in range(first_prompt):
        level = 2 if row < _ROWS_OF_BRANCH else 1
        segments.append(Segment(own[row : row + 1], int(positions[row]), row, row + 1, level=level))
    segments.append(Segment(own[first_prompt:], behind, first_prompt, num_rows, level=1))

    stored = np.concatenate([shared, branch])
    path = [
        Segment(shared, 0, 0, 1, level=0),
        Segment(branch, behind, 0, 1, level=1),
        Segment(own[:1], behind + _BRANCH, 0, 1, level=2),
    ]
    return ProbePlans(
        num_slots=num_slots,
        stored=_plan(np.arange(len(stored)), stored, [Segment(stored, 0, 0, len(stored), level=0)]),
        tree=_plan(positions, own, segments),
        path=_plan(positions[:1], own[:1], path, writes=False),
    )


def _plan(
    positions: IntArray, slots: IntArray, segments: list[Segment], *, writes: bool = True
) -> StepPlan:
    rows = np.arange(len(positions), dtype=np.int64)
    return StepPlan(
        token_ids=np.zeros_like(rows),
        positions=positions,
        slots=slots,
        written_rows=rows if writes else rows[:0],
        logit_rows=rows,
        segments=tuple(segments),
        kv_tokens_read=sum(len(each.slots) for each in segments),
        kv_tokens_unshared=sum(
            len(each.slots) * (each.end_row - each.first_row) for each in segments
        ),
    )
