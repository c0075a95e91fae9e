"""Selection of the rows of one step, and their plan. Pure; used by the scheduler."""

from __future__ import annotations

from collections.abc import Sequence as List

from yaie.attention.plan import FoldingCost, RowSelection, plan_step
from yaie.engine.admission import AdmissionPolicy
from yaie.engine.capacity import first_by_standing
from yaie.engine.prompt_logprobs import PromptRows
from yaie.engine.request import PromptPass, Sequence
from yaie.engine.step import SampleTask, ScheduledStep
from yaie.kvcache.radix_tree import RadixTree


def schedule_rows(
    running: List[Sequence],
    *,
    tree: RadixTree,
    policy: AdmissionPolicy,
    max_step_rows: int,
    max_running: int,
    folding: FoldingCost | None,
) -> ScheduledStep:
    """Choose at most `max_step_rows` rows for the running sequences, and lay them out.

    Adds the rows of sequences without output to their request's `num_paid_rows`.
    """
    selection = RowSelection(max_step_rows)
    prompt_rows = PromptRows(running, max_running)
    sampling: list[Sequence] = []
    members: list[Sequence] = []
    num_prompt_rows = 0
    for sequence in in_row_order(running, policy):
        assert sequence.cursor is not None
        before = selection.num_rows
        if isinstance(sequence, PromptPass):
            is_member = prompt_rows.add(selection, sequence, tree.path(sequence.cursor))
        else:
            _, is_member = selection.add(sequence.cursor)
            if is_member:
                sampling.append(sequence)
        rows = selection.num_rows - before
        if rows or is_member:
            members.append(sequence)
        if not sequence.is_decoding:
            num_prompt_rows += rows
            sequence.request.num_paid_rows += rows
    planned = plan_step(selection, folding)
    index = planned.logit_index
    sampling.sort(key=lambda seq: seq.order)
    return ScheduledStep(
        plan=planned.plan,
        sample_tasks=tuple(SampleTask(seq, index[seq.last_token]) for seq in sampling),
        prompt_logits=prompt_rows.logits(tree, index),
        selection=selection,
        members=tuple(members),
        num_prompt_rows=num_prompt_rows,
    )


def in_row_order(running: List[Sequence], policy: AdmissionPolicy) -> list[Sequence]:
    """Return the sequences that need one row, then the others, each in order of admission.

    One row yields a token now, and a client waits for it. The first by standing goes before its
    equals, so that it progresses in every step, however many rows the others need.
    """
    first = first_by_standing(running, policy)
    return sorted(  # stable: `running` is in order of admission
        running,
        key=lambda seq: (
            seq.count_pending_rows() > 1,
            policy.rank(seq.request),
            seq is not first,
        ),
    )
