"""Placed chains: each starts from the state that it should, in few spare states."""

from __future__ import annotations

import random

from tests.sizes import large, size
from yaie.attention.state_chains import StateChain, place_states
from yaie.kvcache.node_states import NO_STATE

SLOTS = 5


def random_chains(rng: random.Random) -> list[StateChain]:
    chains: list[StateChain] = []
    targets = rng.sample(range(SLOTS), SLOTS)
    for number in range(rng.randint(1, 14)):
        parent = rng.randrange(-1, number)
        source = rng.randrange(NO_STATE, SLOTS) if parent < 0 else NO_STATE
        target = targets.pop() if targets and rng.random() < 0.4 else NO_STATE
        chains.append(StateChain(number, number + 1, parent, source, target))
    return chains


@large
def test_each_chain_starts_from_its_state() -> None:
    """A state is the rows that led to it, after the name of the slot they started from."""
    for seed in range(size(3000)):
        chains = random_chains(random.Random(seed))
        placed, num_spare = place_states(chains, SLOTS)
        states: list[tuple[object, ...]] = [(f"slot {slot}",) for slot in range(SLOTS)]
        states += [("unwritten",)] * num_spare
        ends: list[tuple[object, ...]] = []
        expected = states[:SLOTS]
        for first, end, source, target in placed:
            state = (*(states[source] if source >= 0 else ()), *range(first, end))
            if target >= 0:
                states[target] = state
            if first == end:
                continue
            chain = chains[len(ends)]
            start = ends[chain.parent] if chain.parent >= 0 else ()
            if chain.parent < 0 and chain.source != NO_STATE:
                start = (f"slot {chain.source}",)
            ends.append((*start, first))
            assert state == ends[-1]
            if chain.target != NO_STATE:
                expected[chain.target] = state
        assert len(ends) == len(chains)
        assert states[:SLOTS] == expected


def test_a_long_path_takes_two_spare_states() -> None:
    """One to start from, and one to leave; each chain's sibling ends there."""
    chains = [StateChain(0, 1)]
    for number in range(1, 20, 2):
        chains.append(StateChain(number, number + 1, parent=max(0, number - 1)))
        chains.append(StateChain(number + 1, number + 2, parent=max(0, number - 1)))
    assert place_states(chains, SLOTS)[1] == 2
