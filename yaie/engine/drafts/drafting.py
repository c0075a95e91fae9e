"""Drafting: puts guessed tokens into a step, and takes what the step confirms of them. Pure.

A draft lives from a step's planning to its results. Its tokens follow their sequence in the tree,
in free slots only, and each gets a row with logits. The sampler draws a token from each row, with
the random number of its position; the draft is right as long as these tokens equal it. So a
sequence gets the tokens that it would have got one by one.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass

from yaie.base.errors import YaieError
from yaie.base.stats import EngineStats
from yaie.engine.drafts.drafter import Drafter
from yaie.engine.drafts.text_drafters import OwnText, Prediction
from yaie.engine.request import PooledPass, PromptPass, Sequence
from yaie.engine.scheduled_step import Draft, SampledToken, ScheduledStep
from yaie.kvcache.radix_tree import RadixTree


@dataclass(slots=True)
class Outcome:
    """Result of a step for one sequence: sampled tokens, or the error of the first one."""

    sequence: Sequence
    sampled: list[SampledToken]
    error: YaieError | None = None
    num_held: int = 0  # of the sampled tokens: drafted, so the cursor has passed them
    num_drafted: int = 0


class Drafting:
    """The drafts of one engine."""

    def __init__(self, tree: RadixTree, stats: EngineStats, *, limit: int, max_rows: int) -> None:
        """`limit`: drafted tokens of one sequence in a step. `max_rows`: logits rows of a step."""
        self._tree = tree
        self._stats = stats
        self._limit = limit
        self._max_rows = max_rows
        self.drafters: tuple[Drafter, ...] = (Prediction(), OwnText())
        self.live: list[Draft] = []  # of the planned step

    def begin(self, running: SequenceOf[Sequence]) -> list[Draft]:
        """Draft for the running sequences, and put the drafts into the tree."""
        self.retract()
        if not self._limit or any(isinstance(each, PromptPass | PooledPass) for each in running):
            return self.live
        for drafter in self.drafters:
            drafter.keep_only(running)
        room = self._max_rows - len(running)
        for sequence in running:
            limit = min(self._limit, room, sequence.num_remaining - 1)
            if limit <= 0 or not can_draft(sequence):
                continue
            tokens = self._propose(sequence, limit)
            assert sequence.cursor is not None
            if tokens and (taken := self._tree.draft(sequence.cursor, tokens)):
                self.live.append(Draft(sequence, tokens[:taken]))
                room -= taken
        return self.live

    def _propose(self, sequence: Sequence, limit: int) -> tuple[int, ...]:
        """Return the first guess, up to a token that would end the sequence."""
        for drafter in self.drafters:
            tokens = drafter.propose(sequence, limit)
            for place, token_id in enumerate(tokens):
                if sequence.sampling.may_end(token_id):
                    tokens = tokens[:place]
                    break
            if tokens:
                return tuple(tokens)
        return ()

    def retract(self) -> None:
        """Take the drafts out of the tree: their step failed."""
        for draft in self.live:
            if draft.sequence.cursor is not None:
                self._tree.retract(draft.sequence.cursor)
        self.live = []

    def settle(
        self, step: ScheduledStep, sampled: SequenceOf[SampledToken | YaieError]
    ) -> list[Outcome]:
        """Move cursors past confirmed drafts, take the rest out of the tree, and sort the results.

        Call it before the step's rows count as computed: nothing is reported of wrong guesses.
        """
        outcomes: list[Outcome] = []
        for task, result in zip(step.sample_tasks, sampled, strict=True):
            if task.num_ahead:
                _add(outcomes[-1], result, step.drafts[task.sequence], task.num_ahead)
            elif isinstance(result, YaieError):
                outcomes.append(Outcome(task.sequence, [], result))
            else:
                outcomes.append(Outcome(task.sequence, [result]))
        for outcome in outcomes:
            if outcome.num_drafted:
                assert outcome.sequence.cursor is not None
                for token_id in step.drafts[outcome.sequence][: outcome.num_held]:
                    self._tree.append(outcome.sequence.cursor, token_id)
                self._stats.num_drafts += 1
                self._stats.draft_tokens += outcome.num_drafted
                self._stats.accepted_tokens += outcome.num_held
        self.retract()
        return outcomes


def _add(
    outcome: Outcome, result: SampledToken | YaieError, draft: tuple[int, ...], at: int
) -> None:
    """Add the token sampled after `at` drafted ones, if these were right.

    An error ends the outcome before it: the sequence's next step samples there again.
    """
    outcome.num_drafted = at
    if len(outcome.sampled) != at or outcome.sampled[-1].token_id != draft[at - 1]:
        return
    outcome.num_held = at
    if isinstance(result, SampledToken):
        outcome.sampled.append(result)


def can_draft(sequence: Sequence) -> bool:
    """Return True if the sequence only decodes, and no grammar follows its tokens."""
    return (
        sequence.request.speculate
        and sequence.is_decoding
        and sequence.sampling.grammar is None
        and sequence.count_pending_rows() == 1
    )
