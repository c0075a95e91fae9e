"""State batch: one step's chains for the mixers of recurrent layers.

Kernels take all chains at once. Mixers of transformers are called for chains of one length and one
depth, so a decode step is one call a layer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import torch

from yaie.attention.plan import StepPlan
from yaie.attention.state_chains import StateChain, place_states, whole_chains
from yaie.kvcache.node_states import NO_STATE
from yaie.kvcache.state_pool import StatePool, States
from yaie.models.architecture.mixer_hook import ChainedStates, MixerCache, Run
from yaie.process.heartbeat import beat


class StateBatch:
    """The chains of a step, grouped. Implements `MixerExecutor`."""

    def __init__(self, plan: StepPlan, pool: StatePool, device: torch.device) -> None:
        self._chains = whole_chains(plan) if plan.chains is None else plan.chains
        self._pool = pool
        self._device = device

    @cached_property
    def _groups(self) -> list[_Group]:
        chains = self._chains
        return [_Group(chains, each, self._device) for each in _in_groups(chains)]

    @cached_property
    def _placed(self) -> tuple[torch.Tensor, int]:
        placed, num_spare = place_states(self._chains, self._pool.num_slots)
        return torch.tensor(placed, dtype=torch.int64), num_spare

    def chained(self, mixer: int) -> ChainedStates:
        """See `MixerExecutor.chained_states`."""
        beat()
        chains, num_spare = self._placed
        return ChainedStates(chains, self._pool.tensors(mixer), num_spare)

    def mix(self, mixer: int, hidden: torch.Tensor, run: Run) -> torch.Tensor:
        """See `MixerExecutor.mix`."""
        beat()
        parents = {chain.parent for chain in self._chains}  # their end states are read here
        output: torch.Tensor | None = None
        ends: dict[int, tuple[States, int]] = {}  # by chain: a batch's states, and its index there
        writes: list[tuple[int, States, int]] = []
        for group in self._groups:
            cache = MixerCache(group.start(self._pool, mixer, ends))
            found = run(hidden[0, group.rows], cache)
            if output is None:
                output = found.new_empty((1, hidden.shape[1], found.shape[-1]))
            output[0, group.rows] = found
            for index, (number, chain) in enumerate(group.chains):
                if number in parents:
                    ends[number] = (cache.states, index)
                if chain.target != NO_STATE:
                    writes.append((chain.target, cache.states, index))
        # After all are read: a slot may be read and written in one step.
        for slot, states, index in writes:
            self._pool.write(mixer, slot, states, index)
        assert output is not None, "a step has rows"
        return output


class _Group:
    """Chains of one length, whose parents are computed before them."""

    def __init__(
        self, chains: Sequence[StateChain], numbers: Sequence[int], device: torch.device
    ) -> None:
        self.chains = [(number, chains[number]) for number in numbers]
        firsts = torch.tensor([chain.first_row for _, chain in self.chains], device=device)
        first = self.chains[0][1]
        self.rows = firsts[:, None] + torch.arange(first.num_rows, device=device)[None]
        self._has_parents = first.parent >= 0
        self._sources: torch.Tensor | None = None
        if not self._has_parents and first.source != NO_STATE:
            self._sources = torch.tensor([each.source for _, each in self.chains], device=device)

    def start(
        self, pool: StatePool, mixer: int, ends: dict[int, tuple[States, int]]
    ) -> States | None:
        """Return the chains' states before their first rows, as copies; None for zeros."""
        if self._sources is not None:
            return pool.read(mixer, self._sources)
        if not self._has_parents:
            return None
        found = [ends[chain.parent] for _, chain in self.chains]
        return {
            key: torch.stack([states[key][index] for states, index in found]) for key in found[0][0]
        }


def _in_groups(chains: Sequence[StateChain]) -> list[list[int]]:
    """Return the numbers of chains to compute together, parents first."""
    depths: list[int] = []
    groups: defaultdict[tuple[int, bool, int], list[int]] = defaultdict(list)
    for number, chain in enumerate(chains):
        depths.append(depths[chain.parent] + 1 if chain.parent >= 0 else 0)
        groups[depths[-1], chain.source != NO_STATE, chain.num_rows].append(number)
    return [groups[key] for key in sorted(groups)]
