"""State chains: the runs of rows that recurrent layers compute one after another. Pure.

A recurrent layer carries a state along a path. A chain starts from the state after the token before
its first row and leaves the state after its last row. Chains are in the order of their rows, so a
chain's parent precedes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from yaie.attention.plan import StepPlan
from yaie.kvcache.node_states import NO_STATE


class StateChain(NamedTuple):
    """Consecutive rows of one path, and where their states come from and go to."""

    first_row: int
    end_row: int
    parent: int = -1  # chain of this step that ends just before it; -1: none
    source: int = NO_STATE  # state slot to start from without a parent; -1: zeros
    target: int = NO_STATE  # state slot that takes the end state; -1: none

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.end_row - self.first_row


def whole_chains(plan: StepPlan) -> Sequence[StateChain]:
    """Return the chains of a plan that computes each path from its first token on.

    They keep no state. Such plans compare a model with itself at load.
    """
    row_of = {int(slot): row for row, slot in enumerate(plan.slots)}
    parents = [-1] * plan.num_rows
    for segment in plan.segments:
        for row in range(segment.first_row, segment.end_row):
            index = int(plan.positions[row]) - 1 - segment.first_position
            if 0 <= index < len(segment.slots):
                parents[row] = row_of[int(segment.slots[index])]
    starts = {0} | {row for row in range(1, plan.num_rows) if parents[row] != row - 1}
    starts |= {parents[row] + 1 for row in starts}
    bounds = sorted({*starts, plan.num_rows})
    chain_of = {end - 1: index for index, end in enumerate(bounds[1:])}
    return [
        StateChain(first, end, parent=chain_of[parents[first]] if parents[first] >= 0 else -1)
        for first, end in pairwise(bounds)
    ]


def place_states(
    chains: Sequence[StateChain], num_slots: int
) -> tuple[list[tuple[int, int, int, int]], int]:
    """Return chains whose sources and targets are all states, and the number of spare states.

    Each is its first and end row, its source and its target; -1 for zeros and for none. States from
    `num_slots` on are spare: they last for one layer, and a later chain may use them again.
    Computed in order, no chain overwrites a state that a later one starts from: such states are
    copied first, by chains without rows.
    """
    last_child = {chain.parent: index for index, chain in enumerate(chains)}
    copies: dict[int, int] = {}
    written: set[int] = set()
    for chain in chains:
        if chain.parent < 0 and chain.source in written and chain.source not in copies:
            copies[chain.source] = num_slots + len(copies)
        if chain.target != NO_STATE:
            written.add(chain.target)
    placed = [(0, 0, slot, spare) for slot, spare in copies.items()]
    num_spare = len(copies)
    free: list[int] = []  # spare states that no later chain starts from
    ends: list[int] = []
    written.clear()
    for index, chain in enumerate(chains):
        if chain.parent >= 0:
            source = ends[chain.parent]
        else:
            source = copies[chain.source] if chain.source in written else chain.source
        target = chain.target
        if target == NO_STATE and index in last_child:
            if not free:
                free.append(num_slots + num_spare)
                num_spare += 1
            target = free.pop()
        if last_child[chain.parent] == index and source >= num_slots:
            free.append(source)
        if chain.target != NO_STATE:
            written.add(chain.target)
        ends.append(target)
        placed.append((chain.first_row, chain.end_row, source, target))
    return placed, num_spare
