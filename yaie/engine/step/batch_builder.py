"""Batch builder: selects a step's rows and plans them. Pure; used by the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import replace
from operator import methodcaller

from yaie.attention.plan import FoldingCost, RowSelection, plan_step
from yaie.engine.queue.policy_protocol import AdmissionPolicy
from yaie.engine.request import PooledPass, PromptPass, Request, Sequence
from yaie.engine.scheduled_step import Draft, SampleTask, ScheduledStep
from yaie.engine.step.fault_isolation import FaultIsolation
from yaie.engine.step.incremental_step import IncrementalStep, can_keep_step
from yaie.engine.step.preemption import first_by_standing
from yaie.engine.step.prompt_outputs import PromptRows
from yaie.engine.step.sequence_states import SequenceStates
from yaie.kvcache.node import Node
from yaie.kvcache.radix_tree import RadixTree

_GOOD_STEPS = 64  # before the limit doubles again


class BatchBuilder:
    """Builds steps for running sequences; it keeps the last step to extend it."""

    def __init__(
        self,
        tree: RadixTree,
        policy: AdmissionPolicy,
        *,
        max_step_rows: int,
        max_running: int,
        folding: FoldingCost | None = None,
        states: SequenceStates | None = None,
    ) -> None:
        self._tree = tree
        self._policy = policy
        self.rows = RowLimit(max_step_rows)
        self._max_running = max_running
        self._folding = folding
        self._states = states
        self._kept: IncrementalStep | None = None
        self._isolation = FaultIsolation()

    @property
    def is_isolating(self) -> bool:
        """True while smaller steps find the sequences that made a step fail."""
        return self._isolation.is_searching

    def next(self, running: SequenceOf[Sequence], drafts: SequenceOf[Draft] = ()) -> ScheduledStep:
        """Return the next step: the last one extended if that suffices, else a new one.

        The last step's results are in the tree. After a failed step it has some of that step's
        sequences only, until `isolate` has found the faulty ones.
        """
        suspects = self._isolation.select(running)
        if suspects is not running:
            return self.make(suspects)
        step = self._kept.next(running) if self._kept is not None and not drafts else None
        if step is None:
            step = self.make(running, drafts)
            may_keep = self._states is None and can_keep_step(running, step)
            self._kept = IncrementalStep(running, step) if may_keep else None
        return step

    def retry_smaller(self, step: ScheduledStep) -> bool:
        """Limit the next steps to half the rows of a failed step; False if it has one row."""
        self.forget()
        self.rows.shrink(step.plan.num_rows)
        return step.plan.num_rows > 1

    def isolate(self, step: ScheduledStep, error: Exception) -> Sequence | None:
        """Have smaller steps find the faulty sequences of a failed step; return a found one.

        Raises `InvariantViolated` if at least three failed and no step succeeded meanwhile.
        """
        self.forget()
        return self._isolation.note_failure(step.members, error)

    def note_success(self) -> None:
        """Count a step that succeeded."""
        self.rows.note_success()
        self._isolation.note_success()

    def forget(self) -> None:
        """Make the next step from scratch."""
        self._kept = None
        if self._states is not None:
            self._states.discard()

    def make(self, running: SequenceOf[Sequence], drafts: SequenceOf[Draft] = ()) -> ScheduledStep:
        """Return a step made from scratch; see `schedule_rows`."""
        return schedule_rows(
            running,
            drafts,
            tree=self._tree,
            policy=self._policy,
            max_step_rows=self.rows.limit,
            max_running=self._max_running,
            folding=self._folding,
            states=self._states,
        )


def schedule_rows(
    running: SequenceOf[Sequence],
    drafts: SequenceOf[Draft] = (),
    *,
    tree: RadixTree,
    policy: AdmissionPolicy,
    max_step_rows: int,
    max_running: int,
    folding: FoldingCost | None,
    states: SequenceStates | None = None,
) -> ScheduledStep:
    """Choose at most `max_step_rows` rows for the running sequences, and lay them out.

    Drafts get the rows that nothing else needs.
    """
    selection = RowSelection(max_step_rows)
    prompt_rows = PromptRows(running, max_running, states)
    sampling: list[Sequence] = []
    members: list[Sequence] = []
    paid: list[tuple[Request, int]] = []
    for sequence in in_row_order(running, policy, states):
        assert sequence.cursor is not None
        before = selection.num_rows
        if isinstance(sequence, PromptPass | PooledPass):
            is_member = prompt_rows.add(selection, sequence, tree.path(sequence.cursor))
        else:
            if states is None:
                _, is_member = selection.add(sequence.cursor)
            else:
                is_member = states.add_rows(selection, sequence)
            if is_member:
                sampling.append(sequence)
        rows = selection.num_rows - before
        if rows or is_member:
            members.append(sequence)
        if rows and not sequence.is_decoding:
            paid.append((sequence.request, rows))
    drafted = _select_drafts(selection, drafts, sampling)
    planned = plan_step(selection, folding)
    index, plan = planned.logit_index, planned.plan
    if states is not None:
        plan = replace(plan, chains=states.lay_out(selection, plan))
    sampling.sort(key=lambda seq: seq.order)
    return ScheduledStep(
        plan=plan,
        sample_tasks=tuple(
            task for seq in sampling for task in _tasks_of(seq, drafted.get(seq), index)
        ),
        prompt_logits=prompt_rows.logits(tree, planned),
        prompt_states=prompt_rows.states(tree, planned),
        computed=[(node, rows.computed_to) for node, rows in selection.entries.items()],
        members=tuple(members),
        paid=tuple(paid),
        drafts={seq: draft.token_ids for seq, draft in drafted.items()},
        apply_states=None if states is None else states.apply,
    )


def _select_drafts(
    selection: RowSelection, drafts: SequenceOf[Draft], sampling: SequenceOf[Sequence]
) -> dict[Sequence, Draft]:
    """Select rows for the drafts of sampling sequences; return drafts of the tokens with one."""
    drafted = {}
    for draft in drafts:
        if draft.sequence in sampling and selection.room:
            assert draft.sequence.cursor is not None
            count = selection.add_draft(draft.sequence.cursor, len(draft.token_ids))
            drafted[draft.sequence] = replace(
                draft, token_ids=draft.token_ids[:count], states=draft.states[:count]
            )
    return drafted


def _tasks_of(
    sequence: Sequence, draft: Draft | None, index: Mapping[tuple[Node, int], int]
) -> Iterator[SampleTask]:
    """Yield the tasks for a sequence's next token, and for the one after each drafted token."""
    node, offset = sequence.last_token
    yield SampleTask(sequence, index[node, offset])
    for num_ahead, state in enumerate(draft.states if draft else (), start=1):
        yield SampleTask(sequence, index[node, offset + num_ahead], num_ahead, state)


def in_row_order(
    running: SequenceOf[Sequence], policy: AdmissionPolicy, states: SequenceStates | None = None
) -> list[Sequence]:
    """Return the sequences that need one row, then longer ones, each group in admission order.

    One row yields a token now, and a client waits for it. The first by priority precedes its group,
    so that it progresses in every step, however many rows other sequences need.
    """
    first = first_by_standing(running, policy)
    rank = policy.rank
    count_rows = methodcaller("count_pending_rows") if states is None else states.count_rows
    return sorted(  # stable: `running` is in order of admission
        running,
        key=lambda seq: (count_rows(seq) > 1, rank(seq.request), seq is not first),
    )


class RowLimit:
    """The limit on a step's rows.

    A step's memory grows with its rows. After a step that ran out of memory the limit is half its
    rows, and it doubles with every `_GOOD_STEPS` steps that succeed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._num_good = 0
        self.limit = most

    def shrink(self, num_rows: int) -> None:
        """Lower the limit below a step of `num_rows` rows, but not below 1."""
        self.limit = max(1, num_rows // 2)
        self._num_good = 0

    def note_success(self) -> None:
        """Count a step."""
        if self.limit == self._most:
            return
        self._num_good += 1
        if self._num_good == _GOOD_STEPS:
            self.limit = min(self._most, 2 * self.limit)
            self._num_good = 0
