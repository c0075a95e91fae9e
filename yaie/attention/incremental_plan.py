"""Incremental plan: extends the last step plan while each row's path grows by one token.

A decode step mostly repeats the last step: the same sequences, each with one row, one token
further. Its plan is then the last plan with new tokens, slots and positions, and one more key in
each row's segment. Rows of ended sequences are dropped. This takes a few array operations, whatever
the path lengths. `plan_step` is the oracle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yaie.attention.plan import IntArray, StepPlan
from yaie.attention.segment_table import COLUMNS, SegmentTable, as_table, with_room

_END = COLUMNS.index("end_slot")
_ROWS = [COLUMNS.index("first_row"), COLUMNS.index("end_row")]


class IncrementalPlan:
    """The last plan, and the slot after each row's last key."""

    def __init__(self, plan: StepPlan) -> None:
        """Keep a plan that `can_keep` accepts."""
        self._plan = plan
        self._set_segments(as_table(plan.segments))

    def _set_segments(self, segments: SegmentTable) -> None:
        self._segments = segments
        self._ends = _segment_of_each_row(self._plan, segments)
        lengths = len(segments.slots)
        starts = np.append(np.sort(segments.table[:, 0]), lengths)
        behind = np.searchsorted(starts, segments.table[self._ends, _END], side="left")
        self._limits = starts[behind]  # starts of the following segments

    def extend(self, token_ids: IntArray, slots: IntArray) -> StepPlan:
        """Return the plan extended by one token for each row, and keep it.

        `token_ids` and `slots` are [rows]: the new tokens and their slots.
        """
        last, num_rows = self._plan, len(token_ids)
        ends = self._segments.table[self._ends, _END]
        if (ends == self._limits).any():
            self._set_segments(with_room(self._segments))
            ends = self._segments.table[self._ends, _END]
        table = self._segments.table.copy()
        table[self._ends, _END] = ends + 1
        self._segments.slots[ends] = slots
        self._segments = SegmentTable(self._segments.slots, table)
        self._plan = StepPlan(
            token_ids=token_ids,
            positions=last.positions + 1,
            slots=slots,
            written_rows=last.written_rows,
            logit_rows=last.logit_rows,
            segments=self._segments,
            kv_tokens_read=last.kv_tokens_read + num_rows,
            kv_tokens_unshared=last.kv_tokens_unshared + num_rows,
            adapters=last.adapters,
        )
        return self._plan

    def drop(self, rows: IntArray) -> bool:
        """Drop rows from the plan; return False if the rest takes a new plan.

        It does if two segments have the same rows now, which a new plan merges. A new plan may also
        fold other segments than this one; that changes no more than `FoldingCost` weighs.
        """
        last, table = self._plan, self._segments.table
        stays = np.ones(last.num_rows, dtype=np.bool_)
        stays[rows] = False
        num_before = np.append(0, np.cumsum(stays))  # remaining rows before each row
        left = table.copy()
        left[:, _ROWS] = num_before[table[:, _ROWS]]
        has_rows = np.diff(left[:, _ROWS]).ravel() > 0
        left, dropped = left[has_rows], table[~has_rows]
        if len(np.unique(left[:, _ROWS], axis=0)) < len(left):
            return False
        self._ends = (np.cumsum(has_rows) - 1)[self._ends[stays]]
        self._limits = self._limits[stays]
        self._segments = SegmentTable(self._segments.slots, left)
        self._plan = self._without(stays, int((dropped[:, _END] - dropped[:, 0]).sum()))
        return True

    def _without(self, stays: NDArray[np.bool_], num_keys: int) -> StepPlan:
        """Return the plan for the remaining rows; the remaining segments had `num_keys`."""
        last = self._plan
        indices = np.arange(np.count_nonzero(stays))
        return StepPlan(
            token_ids=last.token_ids[stays],
            positions=last.positions[stays],
            slots=last.slots[stays],
            written_rows=indices,
            logit_rows=indices,
            segments=self._segments,
            kv_tokens_read=last.kv_tokens_read - num_keys,
            kv_tokens_unshared=last.kv_tokens_unshared - int((last.positions[~stays] + 1).sum()),
            adapters=last.adapters[stays] if len(last.adapters) else last.adapters,
        )


def can_keep(plan: StepPlan) -> bool:
    """Return True if all rows are new, have logits, and end separate segments."""
    num_rows = plan.num_rows
    return (
        0 < num_rows == len(plan.written_rows) == len(plan.logit_rows)
        and not len(plan.hidden_rows)
        and len(_own_segments(plan, as_table(plan.segments))) == num_rows
    )


def _own_segments(plan: StepPlan, segments: SegmentTable) -> IntArray:
    """Return the indices of segments that one row alone reads and that end with its key."""
    first_slot, end_slot, first_position, first_row, end_row, _ = segments.table.T
    end_position = first_position + end_slot - first_slot
    is_own = (end_row - first_row == 1) & (end_position == plan.positions[first_row] + 1)
    return np.flatnonzero(is_own)


def _segment_of_each_row(plan: StepPlan, segments: SegmentTable) -> IntArray:
    own = _own_segments(plan, segments)
    found = np.empty(plan.num_rows, dtype=np.int64)
    found[segments.table[own, COLUMNS.index("first_row")]] = own
    return found
