"""Prompts whose log-probabilities are asked for: who waits for them, and how many rows they get.

Used by the scheduler. Logits of a prompt take the place of draws that nobody makes, so that a step
needs no more memory than was planned for its draws.
"""

from __future__ import annotations

from collections.abc import Sequence as List

from yaie.attention.plan import RowSelection
from yaie.engine.lookups import pending_rows, pending_scores, wants_prompt_logits
from yaie.engine.request import Sequence, SequenceState
from yaie.kvcache.node import Node

LEAST_SCORES = 32  # rows of a step, however many others draw


class ScoreSelection:
    """Chooses the rows of one step that score prompts, for as long as there is room for logits."""

    def __init__(self, running: List[Sequence], max_running: int) -> None:
        self.wanted: list[tuple[Sequence, int, int]] = []  # positions from the first to before last
        # For these rows, and for the draws of those whose prompt is scored in this step.
        self._room = room_for_scores(sum(map(draws_next, running)), max_running)

    def add(self, selection: RowSelection, sequence: Sequence, path: list[Node]) -> bool:
        """Add rows of a sequence; whether all of its prompt is scored after this step.

        The first in order always gets on: all that runs has room to draw.
        """
        assert sequence.request.prompt_logprobs is not None
        first, last = len(sequence.request.prompt_logprobs), len(sequence.request.prompt) - 1
        num_draws = num_waiting_for_scores(sequence)
        can_finish = last - first + num_draws <= self._room + LEAST_SCORES
        stop = min(last if can_finish else last - 1, first + self._room)
        end = selection.add_prompt_logits(path, first, stop) if stop > first else first
        if end > first:
            self.wanted.append((sequence, first, end))
        self._room -= end - first
        if end < last:
            if end > first:  # a chunk by itself; the last one is counted with its draw
                selection.kv_tokens_unshared += end
            return False
        self._room -= num_draws
        return True


def leader(sequence: Sequence) -> Sequence:
    """Whose rows this sequence waits for: sequence 0's while it scores their prompt, or its own.

    One that was preempted leads nobody: the others might hold the slots it needs to go on. They
    may then be ahead of it when it comes back.
    """
    first = sequence.request.sequences[0]
    if sequence.is_decoding or first.state is not SequenceState.RUNNING:
        return sequence
    return first if wants_prompt_logits(first) else sequence


def draws_next(sequence: Sequence) -> bool:
    """Whether a running sequence may draw in the next step: no prompt has to be scored before."""
    return pending_scores(leader(sequence)) == 0


def num_waiting_for_scores(sequence: Sequence) -> int:
    """Sequences, this one among them, that draw once their prompt is scored."""
    return sum(
        other.state is SequenceState.RUNNING and not other.is_decoding
        for other in sequence.request.sequences
    )


def room_for_scores(num_drawing: int, max_running: int) -> int:
    """Rows of one step that may give log-probabilities of prompts, for all of them together.

    Their logits take the place of draws that `max_running` allows and nobody makes.
    """
    return max(LEAST_SCORES, max_running - num_drawing)


class Demand:
    """Rows that the running sequences need for their next tokens, as if nobody shared them."""

    def __init__(self, running: List[Sequence]) -> None:
        self._scores = 0
        self._others = 0
        self._num_drawing = 0
        for sequence in running:
            self.add(sequence)

    def add(self, sequence: Sequence) -> None:
        """A sequence that runs."""
        self._num_drawing += draws_next(sequence)
        if leader(sequence) is not sequence:
            return
        scores = pending_scores(sequence)
        self._scores += scores
        self._others += pending_rows(sequence) - scores

    def add_rows(self, rows: int, num_drawing: int) -> None:
        """Rows that several sequences need together, to draw thereafter."""
        self._others += rows
        self._num_drawing += num_drawing

    def fills(self, max_rows: int, max_running: int) -> bool:
        """Whether a step of `max_rows` has no room for anybody else's."""
        room = room_for_scores(self._num_drawing, max_running)
        return self._others + min(self._scores, room) >= max_rows
