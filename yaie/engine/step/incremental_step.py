"""Incremental step: extends the last step into the next one. Used by the scheduler; pure.

A decode step changes little: the same sequences run, and each has grown by one token in a separate
leaf. The next step is then the last step, extended, without the sequences that ended. Anything else
requires a new step: an admission, a branch, a walk into cached tokens, forced tokens, prompt rows.
`IncrementalStep` detects these from sequences and nodes, so no other module reports them.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import replace

import numpy as np

from yaie.attention.incremental_plan import IncrementalPlan, can_keep
from yaie.engine.request import Sequence
from yaie.engine.scheduled_step import SampleTask, ScheduledStep
from yaie.kvcache.node import Node


class IncrementalStep:
    """A step in which every running sequence had one row, which sampled its next token."""

    def __init__(self, running: SequenceOf[Sequence], step: ScheduledStep) -> None:
        """Keep a step that `can_keep_step` accepts."""
        self._running = list(running)
        self._step = step
        self._plan = IncrementalPlan(step.plan)
        by_row = sorted(step.sample_tasks, key=lambda task: task.logit_row)
        self._sequences = [task.sequence for task in by_row]
        self._nodes = [_node_of(sequence) for sequence in self._sequences]

    def next(self, running: SequenceOf[Sequence]) -> ScheduledStep | None:
        """Return the next step and keep it; None if it needs a new plan."""
        if running != self._running and not self._keep_only(running):  # by identity
            return None
        token_ids, slots, computed = [], [], []
        for sequence, node in zip(self._sequences, self._nodes, strict=True):
            cursor, end = sequence.cursor, len(node.tokens)
            if (
                cursor is None
                or cursor.node is not node
                or cursor.offset != end
                or node.num_computed != end - 1
            ):
                return None
            token_ids.append(node.tokens[-1])
            slots.append(node.extents[-2] + node.extents[-1] - 1)
            computed.append((node, end))
        plan = self._plan.extend(np.array(token_ids), np.array(slots))
        self._step = replace(self._step, plan=plan, computed=computed, paid=(), is_extended=True)
        return self._step

    def _keep_only(self, running: SequenceOf[Sequence]) -> bool:
        """Keep the sequences that still run; return False if that takes a new plan."""
        left = set(running)
        if not running or running != [each for each in self._running if each in left]:
            return False
        rows = [row for row, each in enumerate(self._sequences) if each not in left]
        if not self._plan.drop(np.array(rows)):
            return False
        self._running = list(running)
        for row in reversed(rows):
            del self._sequences[row], self._nodes[row]
        row_of = {each: row for row, each in enumerate(self._sequences)}
        self._step = replace(
            self._step,
            sample_tasks=tuple(
                SampleTask(task.sequence, row_of[task.sequence])
                for task in self._step.sample_tasks
                if task.sequence in left
            ),
            members=tuple(each for each in self._step.members if each in left),
        )
        return True


def can_keep_step(running: SequenceOf[Sequence], step: ScheduledStep) -> bool:
    """Return True if each running sequence has one row in the step, in a separate node."""
    return len(running) == len(step.sample_tasks) == step.plan.num_rows and can_keep(step.plan)


def _node_of(sequence: Sequence) -> Node:
    node, _ = sequence.last_token
    return node
