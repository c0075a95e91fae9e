"""Capacity of steps and pool: demand of running sequences, room for others, the victim.

Pure functions of the running sequences; used by the scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence as List

from yaie.engine.admission import AdmissionPolicy
from yaie.engine.prompt_logprobs import room_for_prompt_logits
from yaie.engine.request import PromptPass, Request, Sequence
from yaie.kvcache.match import Match
from yaie.kvcache.radix_tree import RadixTree

# Admission leaves room for each live sequence to grow by this many tokens, so that a request is
# not admitted only to preempt the others a few steps later.
_GROWTH_RESERVE = 32


class StepDemand:
    """The rows and places that running sequences need next, shared rows counted for each."""

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
            self._prompt_logits += sequence.request.num_missing_prompt_logprobs
            self._other_rows += rows - sequence.request.num_missing_prompt_logprobs
        else:
            self._other_rows += rows
            self._num_sampling += 1

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
    running: List[Sequence],
    sequences: List[Sequence],
) -> bool:
    """Return True if the pool has slots for a matched path and for some growth of all sequences.

    `num_tokens` is the length of the path that `sequences` will open.
    """
    needed = num_tokens - match.num_known
    missing = needed - (tree.num_available - match.count_evictable())
    if running:
        growing = [*running, *sequences]
        missing += sum(seq.num_places * min(_GROWTH_RESERVE, seq.num_remaining) for seq in growing)
    return missing <= 0 or missing <= tree.count_trimmable() - match.count_trimmable()


def standing(sequence: Sequence, policy: AdmissionPolicy) -> tuple[int, int, int]:
    """Return the priority order of admitted sequences: by the policy's rank, then by age."""
    return (policy.rank(sequence.request), *sequence.order)


def first_by_standing(sequences: List[Sequence], policy: AdmissionPolicy) -> Sequence | None:
    """Return the sequence of the highest priority; None if there is none."""
    return min(sequences, key=lambda seq: standing(seq, policy), default=None)


def choose_victim(growing: Sequence, running: List[Sequence], policy: AdmissionPolicy) -> Sequence:
    """Return the sequence to preempt for a slot: of the lowest priority, the cheapest.

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
    waiting: Request, running: List[Sequence], policy: AdmissionPolicy
) -> Sequence | None:
    """Return the sequence to preempt for a waiting request of a tenant with less service, if any.

    Only a tenant with more running sequences loses one, its newest.
    """
    places = Counter(seq.request.tenant for seq in running)
    own = places[waiting.tenant]
    able = [
        seq
        for seq in running
        if places[seq.request.tenant] > own + 1 and policy.displaces(waiting, seq.request)
    ]
    return max(able, key=lambda seq: (places[seq.request.tenant], seq.order), default=None)
