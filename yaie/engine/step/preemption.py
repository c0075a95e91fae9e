"""Preemption: the demand of running sequences, room for admissions, and the choice of a victim.

Pure functions, used by the scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence as SequenceOf

from yaie.engine.queue.policy_protocol import AdmissionPolicy
from yaie.engine.request import PooledPass, PromptPass, Request, Sequence
from yaie.engine.step.prompt_outputs import room_for_prompt_logits
from yaie.kvcache.match import Match
from yaie.kvcache.radix_tree import RadixTree

# Admission leaves room for each live sequence to grow by this many tokens, so that an admitted
# request does not preempt running ones a few steps later.
_GROWTH_RESERVE = 32


class StepDemand:
    """The rows and running places that sequences need next; shared rows count for each."""

    def __init__(self, running: Iterable[Sequence]) -> None:
        self.num_places = 0  # of `max_running`
        self._prompt_logits = 0
        self._other_rows = 0
        self._num_sampling = 0
        for sequence in running:
            self.add(sequence)

    def add(self, sequence: Sequence) -> None:
        """Add a running sequence."""
        self.num_places += sequence.num_places
        rows = sequence.count_pending_rows()
        if isinstance(sequence, PromptPass):
            self._prompt_logits += sequence.num_missing_outputs
            self._other_rows += rows - sequence.num_missing_outputs
        else:
            self._other_rows += rows
            self._num_sampling += not isinstance(sequence, PooledPass)

    def add_siblings(self, num_sequences: int, rows: int) -> None:
        """Add sequences that need `rows` together before each samples its first token."""
        self.num_places += num_sequences
        self._num_sampling += num_sequences
        self._other_rows += rows

    def fills(self, max_rows: int, max_running: int) -> bool:
        """Return True if these sequences fill a step of `max_rows`."""
        room = room_for_prompt_logits(self._num_sampling, max_running)
        return self._other_rows + min(self._prompt_logits, room) >= max_rows


def has_room(
    tree: RadixTree,
    match: Match,
    num_tokens: int,
    running: SequenceOf[Sequence],
    sequences: SequenceOf[Sequence],
) -> bool:
    """Return True if the pool has slots for a matched path and some growth.

    `num_tokens` is the path length that `sequences` will open.
    """
    missing = count_missing(tree, match, num_tokens, running, sequences)
    return missing <= 0 or missing <= tree.count_trimmable() - match.count_trimmable()


def count_missing(
    tree: RadixTree,
    match: Match,
    num_tokens: int,
    running: SequenceOf[Sequence],
    sequences: SequenceOf[Sequence],
) -> int:
    """Count the slots that `has_room` lacks; at most 0 if there are enough."""
    missing = num_tokens - match.num_known - (tree.num_available - match.count_evictable())
    if running:
        growing = [*running, *sequences]
        missing += sum(seq.num_places * min(_GROWTH_RESERVE, seq.num_remaining) for seq in growing)
    return missing


def standing(sequence: Sequence, policy: AdmissionPolicy) -> tuple[int, int, int]:
    """Return the priority rank of an admitted sequence: by the policy's rank, then by age."""
    return (policy.rank(sequence.request), *sequence.order)


def first_by_standing(sequences: SequenceOf[Sequence], policy: AdmissionPolicy) -> Sequence | None:
    """Return the highest-priority sequence, if any."""
    return min(sequences, key=lambda seq: standing(seq, policy), default=None)


def first_to_resume(suspended: SequenceOf[Sequence], policy: AdmissionPolicy) -> Sequence | None:
    """Return the highest-priority suspended sequence that no waiting request outranks."""
    first = first_by_standing(suspended, policy)
    if first is None or not policy.outranks(first.request):
        return first
    outranked = {first.request.tenant: True}  # by tenant: a look at all of them each
    able = []
    for seq in suspended:
        tenant = seq.request.tenant
        if tenant not in outranked:
            outranked[tenant] = policy.outranks(seq.request)
        if not outranked[tenant]:
            able.append(seq)
    return first_by_standing(able, policy)


def choose_victim(
    growing: Sequence, running: SequenceOf[Sequence], policy: AdmissionPolicy
) -> Sequence:
    """Return the sequence to preempt for a slot: lowest priority first, then cheapest.

    The first by standing is never chosen, so that one sequence always progresses. It can use the
    whole pool alone, because validation limits requests to its length.
    """
    first = first_by_standing(running, policy)
    able = [seq for seq in running if seq is not first]
    rank = max(policy.rank(seq.request) for seq in [growing, *able])
    able = [seq for seq in able if policy.rank(seq.request) == rank]
    costs = [(cost, seq) for seq in able if (cost := seq.count_own_tokens())]
    if costs:
        return min(costs, key=lambda pair: pair[0])[1]
    others = [seq for seq in able if seq is not growing]
    # All tokens are shared: they become evictable once the last of their owners is preempted.
    if others and (growing is first or policy.rank(growing.request) < rank):
        return max(others, key=lambda seq: standing(seq, policy))
    return growing


def choose_displaced(
    waiting: Request,
    running: SequenceOf[Sequence],
    policy: AdmissionPolicy,
    missing_places: int,
    missing_slots: int,
) -> Sequence | None:
    """Return the sequence to preempt for a waiting request whose tenant is less served, if any.

    Only a tenant with more running sequences loses some, its newest first. None if displacing every
    allowed sequence frees too few places or slots: to preempt them would be in vain.
    """
    places = Counter(seq.request.tenant for seq in running)
    least = places[waiting.tenant] + 1  # sequences that each tenant keeps
    able = []
    for seq in sorted(running, key=lambda each: each.order, reverse=True):
        if places[seq.request.tenant] > least and policy.displaces(waiting, seq.request):
            places[seq.request.tenant] -= 1
            able.append(seq)
    freed_slots = sum(len(seq.request.prompt) + len(seq.output) for seq in able)
    if sum(seq.num_places for seq in able) < missing_places or freed_slots < missing_slots:
        return None
    places = Counter(seq.request.tenant for seq in running)
    return max(able, key=lambda seq: (places[seq.request.tenant], seq.order), default=None)
