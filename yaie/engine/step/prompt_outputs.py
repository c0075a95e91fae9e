"""Prompt outputs: logits and hidden rows of prompt positions, in passes over the prompt.

A pass computes an output at each position that it needs, also of cached tokens. Memory is planned
for `max_running` + `MIN_PROMPT_LOGITS` logits rows a step. Passes for log-probabilities share the
rows of `max_running` that samples do not use, and at least `MIN_PROMPT_LOGITS`; hidden rows are as
narrow as any activation and need no limit. Used by the scheduler; pure.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from yaie.attention.plan import PlannedStep, RowSelection
from yaie.base.types import MIN_PROMPT_LOGITS
from yaie.engine.request import PooledPass, PromptPass, Sequence
from yaie.engine.scheduled_step import PromptLogits, PromptStates
from yaie.engine.step.sequence_states import SequenceStates
from yaie.kvcache.node import Node
from yaie.kvcache.radix_tree import RadixTree


def room_for_prompt_logits(num_sampling: int, max_running: int) -> int:
    """Return the number of logits rows that a step's prompt passes share."""
    return max(MIN_PROMPT_LOGITS, max_running - num_sampling)


class PromptRows:
    """A step's rows for prompt passes."""

    def __init__(
        self,
        running: SequenceOf[Sequence],
        max_running: int,
        states: SequenceStates | None = None,
    ) -> None:
        self._states = states
        num_sampling = sum(not isinstance(seq, PromptPass | PooledPass) for seq in running)
        self._room = room_for_prompt_logits(num_sampling, max_running)
        self._selected: list[tuple[PromptPass | PooledPass, int, int]] = []  # positions

    def add(
        self, selection: RowSelection, sequence: PromptPass | PooledPass, path: list[Node]
    ) -> bool:
        """Select a pass's next positions; False if the step's rows or logits are used up."""
        is_hidden = isinstance(sequence, PooledPass)
        if sequence.request.is_whole and not selection.make_room(sequence.count_pending_rows()):
            return False
        start = self._states.find_start(sequence) if self._states is not None else 0
        first, missing = sequence.next_output, sequence.num_missing_outputs
        end = first + (missing if is_hidden else min(missing, self._room))
        if self._states is not None:
            reached = selection.add_again(path, start, first)
            self._states.note_rows(sequence, start, reached)
            end = min(end, reached) if reached < first else end
        if end > first:
            end = selection.add_outputs(path, first, end, is_hidden=is_hidden)
        if end <= first:
            return False
        if self._states is not None:
            self._states.note_rows(sequence, start, end)
        if not is_hidden:
            self._room -= end - first
        selection.kv_tokens_unshared += end
        self._selected.append((sequence, first, end))
        return True

    def logits(self, tree: RadixTree, planned: PlannedStep) -> tuple[PromptLogits, ...]:
        """Return the logits rows for all selected positions."""
        return tuple(
            PromptLogits(sequence, first, _rows(tree, sequence, first, end, planned.logit_index))
            for sequence, first, end in self._selected
            if isinstance(sequence, PromptPass)
        )

    def states(self, tree: RadixTree, planned: PlannedStep) -> tuple[PromptStates, ...]:
        """Return the hidden rows for all selected positions."""
        return tuple(
            PromptStates(sequence, _rows(tree, sequence, first, end, planned.hidden_index))
            for sequence, first, end in self._selected
            if isinstance(sequence, PooledPass)
        )


def _rows(
    tree: RadixTree, sequence: Sequence, first: int, end: int, index: dict[tuple[Node, int], int]
) -> tuple[int, ...]:
    """Return the output rows at positions `first` to `end` on a sequence's path."""
    assert sequence.cursor is not None
    rows: list[int] = []
    for node in tree.path(sequence.cursor):
        start, stop = max(first, node.start), min(end, node.end)
        rows.extend(index[(node, position - node.start)] for position in range(start, stop))
    return tuple(rows)
