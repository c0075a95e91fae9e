"""Drafting: puts guessed tokens into a step, and takes what the step confirms of them. Pure.

A draft lives from a step's planning to its results. Its tokens follow their sequence in the tree,
held already or in free slots, and each gets a row with logits. The sampler draws a token from each
row, with the random number of its position; the draft is right as long as these tokens equal it. So
a sequence gets the tokens that it would have got one by one.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, replace

from yaie.base.errors import YaieError
from yaie.base.stats import EngineStats
from yaie.engine.drafts.acceptance import Acceptance
from yaie.engine.drafts.draft_lengths import choose_lengths
from yaie.engine.drafts.drafter import Drafter, Guess
from yaie.engine.drafts.learned_costs import LearnedCosts
from yaie.engine.drafts.past_outputs import PastOutputs
from yaie.engine.drafts.text_drafters import HeldEdge, OwnText, Prediction
from yaie.engine.request import PooledPass, PromptPass, Sequence
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import Draft, SampledToken, ScheduledStep
from yaie.kvcache.radix_tree import RadixTree

_MOST_PENDING = 16  # rows of a sequence in the step of its draft: forced tokens and the last one


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
        self._held: Drafter = HeldEdge()
        self._past = PastOutputs()
        self.drafters: tuple[Drafter, ...] = (Prediction(), OwnText(), self._past)
        self.learned: LearnedCosts | None = None  # with them drafts are as long as they pay
        self.acceptance = Acceptance()
        self.live: list[Draft] = []  # of the planned step
        self._guesses: dict[Sequence, list[Guess]] = {}  # for it, the best first, drafted or not
        self._known: list[Sequence] = []  # that drafters may remember

    def begin(self, running: SequenceOf[Sequence]) -> list[Draft]:
        """Draft for the running sequences, and put the drafts into the tree."""
        self.retract()
        if not self._limit or any(isinstance(each, PromptPass | PooledPass) for each in running):
            return self.live
        self._forget_others(running)
        room = self._max_rows - len(running)
        if room > 0:
            self._guess(running, room)
        lengths = self._choose_lengths(running)
        for (sequence, guesses), length in zip(self._guesses.items(), lengths, strict=True):
            draft = self._put(sequence, guesses[0].token_ids[: min(length, room)])
            if draft.token_ids:
                self.live.append(draft)
                room -= len(draft.token_ids)
        return self.live

    def forget_past(self) -> None:
        """Forget the answers that have ended, as a flush of the cache does."""
        self._past.forget_all()

    def _forget_others(self, running: SequenceOf[Sequence]) -> None:
        if running != self._known:  # by identity
            self._known = list(running)
            self.acceptance.keep_only(set(running))
            for drafter in self.drafters:
                drafter.keep_only(set(running))

    def _guess(self, running: SequenceOf[Sequence], room: int) -> None:
        for sequence in running:
            limit = min(self._limit, room, sequence.num_remaining - 1)
            if limit > 0 and can_draft(sequence):
                guesses = self._propose(sequence, limit)
                if guesses:
                    self._guesses[sequence] = guesses

    def _propose(self, sequence: Sequence, limit: int) -> list[Guess]:
        """Return the guesses, the one that is most often right first.

        Each ends before a token that would end the sequence. Where the tree continues, only its own
        tokens need no branch.
        """
        guesses = []
        for drafter in (self._held,) if is_inside(sequence) else self.drafters:
            guess = drafter.propose(sequence, limit)
            if guess is None:
                continue
            for place, token_id in enumerate(guess.token_ids):
                if sequence.sampling.may_end(token_id):
                    guess = replace(guess, token_ids=guess.token_ids[:place])
                    break
            if guess.token_ids:
                guesses.append(guess)
        if len(guesses) > 1:
            guesses.sort(key=lambda each: -self.acceptance.share(sequence, each))
        return guesses

    def _choose_lengths(self, running: SequenceOf[Sequence]) -> list[int]:
        guesses = [
            (len(best.token_ids), self.acceptance.share(sequence, best))
            for sequence, (best, *_) in self._guesses.items()
        ]
        if self.learned is None or not guesses:
            return [length for length, _ in guesses]
        num_rows = sum(each.count_pending_rows() for each in running)
        return choose_lengths(self.learned.costs, num_rows, len(running), guesses)

    def _put(self, sequence: Sequence, tokens: tuple[int, ...]) -> Draft:
        """Have the tree hold the tokens after a sequence; return the draft of those it holds."""
        assert sequence.cursor is not None
        states = look_ahead(sequence.sampling, tokens)
        tokens, is_held = tokens[: len(states)], is_inside(sequence)
        if tokens and not is_held:
            tokens = tokens[: self._tree.draft(sequence.cursor, tokens)]
        return Draft(sequence, tokens, states[: len(tokens)], is_held)

    def retract(self) -> None:
        """Take the drafts out of the tree: their step has its results, or failed."""
        for draft in self.live:
            if draft.sequence.cursor is not None and not draft.is_held:
                self._tree.retract(draft.sequence.cursor)
        self.live = []
        self._guesses = {}

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
        for outcome in outcomes if self._guesses else ():
            self._learn(outcome)
            if outcome.num_drafted:
                assert outcome.sequence.cursor is not None
                for token_id in step.drafts[outcome.sequence][: outcome.num_held]:
                    self._tree.append(outcome.sequence.cursor, token_id)
                self._stats.num_drafts += 1
                self._stats.draft_tokens += outcome.num_drafted
                self._stats.accepted_tokens += outcome.num_held
        self.retract()
        return outcomes

    def _learn(self, outcome: Outcome) -> None:
        """Count what was right of each guess, whether it was drafted or not."""
        for guess in self._guesses.get(outcome.sequence, ()):
            num_right = num_tried = 0
            for token_id, drawn in zip(guess.token_ids, outcome.sampled, strict=False):
                num_tried += 1
                if drawn.token_id != token_id:
                    break
                num_right += 1
            self.acceptance.note(outcome.sequence, guess, num_right, num_tried)

    def note_time(self, step: ScheduledStep, seconds: float) -> None:
        """Learn what a step cost, from its planning to its results."""
        if self.learned is not None and not (step.paid or step.prompt_logits):
            num_drafted = sum(map(len, step.drafts.values()))
            self.learned.observe(step.plan.num_rows, num_drafted, seconds)


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


def look_ahead(state: SamplingState, tokens: tuple[int, ...]) -> tuple[SamplingState, ...]:
    """Return the state after each token, as far as a grammar allows and the next is sampled.

    Tokens that a grammar forces are taken without a sample, so a draft ends before them.
    """
    states = []
    for token_id in tokens:
        try:
            if not state.grammar_allows(token_id):
                break
            state = state.ahead(token_id)
            if not state.samples_next:
                break
        except YaieError:  # the grammar is too complex here: its sequence will find out
            break
        states.append(state)
    return tuple(states)


def can_draft(sequence: Sequence) -> bool:
    """Return True if the sequence's next step samples, and its grammar can be followed ahead."""
    grammar = sequence.sampling.grammar
    return (
        sequence.request.speculate
        and (grammar is None or grammar.can_look_ahead)
        and sequence.count_pending_rows() <= (1 if not sequence.is_decoding else _MOST_PENDING)
    )


def is_inside(sequence: Sequence) -> bool:
    """Return True if the tree holds a token after the sequence on the same edge."""
    cursor = sequence.cursor
    assert cursor is not None
    assert cursor.node is not None
    return cursor.offset < len(cursor.node.tokens)
