"""Prompt logprobs: a pass over the prompt that precedes a request's sequences.

A prompt pass computes logits at every position, also of cached tokens. Memory is planned for
`max_running` + `MIN_PROMPT_LOGITS` logits rows a step. Passes share the rows of `max_running` that
samples do not use, and at least `MIN_PROMPT_LOGITS`. Used by the scheduler; pure.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from yaie.attention.plan import RowSelection
from yaie.base.types import MIN_PROMPT_LOGITS
from yaie.engine.request import PromptPass, Sequence
from yaie.engine.scheduled_step import PromptLogits
from yaie.kvcache.node import Node
from yaie.kvcache.radix_tree import RadixTree


def room_for_prompt_logits(num_sampling: int, max_running: int) -> int:
    """Return the number of logits rows that a step's prompt passes share."""
    return max(MIN_PROMPT_LOGITS, max_running - num_sampling)


class PromptRows:
    """A step's rows for prompt passes."""

    def __init__(self, running: SequenceOf[Sequence], max_running: int) -> None:
        num_sampling = sum(not isinstance(seq, PromptPass) for seq in running)
        self._room = room_for_prompt_logits(num_sampling, max_running)
        self._selected: list[tuple[PromptPass, int, int]] = []  # positions first to end

    def add(self, selection: RowSelection, prompt_pass: PromptPass, path: list[Node]) -> bool:
        """Select a pass's next positions; False if the step's rows or logits are used up."""
        request = prompt_pass.request
        assert request.prompt_logprobs is not None
        first = len(request.prompt_logprobs)
        end = first + min(request.num_missing_prompt_logprobs, self._room)
        if end > first:
            end = selection.add_prompt_logits(path, first, end)
        if end == first:
            return False
        self._room -= end - first
        selection.kv_tokens_unshared += end
        self._selected.append((prompt_pass, first, end))
        return True

    def logits(
        self, tree: RadixTree, index: dict[tuple[Node, int], int]
    ) -> tuple[PromptLogits, ...]:
        """Return the logits rows for all selected positions; `index` is the plan's."""
        found = []
        for prompt_pass, first, end in self._selected:
            assert prompt_pass.cursor is not None
            rows: list[int] = []
            for node in tree.path(prompt_pass.cursor):
                start, stop = max(first, node.start), min(end, node.end)
                rows.extend(index[(node, position - node.start)] for position in range(start, stop))
            found.append(PromptLogits(prompt_pass, first, tuple(rows)))
        return tuple(found)
