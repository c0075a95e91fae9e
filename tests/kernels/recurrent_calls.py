"""Recurrent layers by single calls of the library, over a step's chains and a pool of states."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import torch

from yaie.attention.state_chains import StateChain, place_states
from yaie.kernels.library import Library
from yaie.kernels.recurrent_structures import States
from yaie.models.native.recurrent_layers import (
    ConvolutionParts,
    HeldFloats,
    RecurrenceParts,
    rows_of,
    states_of,
)


class PooledChains(NamedTuple):
    """Chains and their states."""

    chains: torch.Tensor  # int64 [chains, 4]
    pool: torch.Tensor  # [slots, ...]
    spare: torch.Tensor

    @classmethod
    def of(cls, chains: list[StateChain], pool: torch.Tensor) -> PooledChains:
        placed, num_spare = place_states(chains, len(pool))
        spare = torch.full((num_spare, *pool.shape[1:]), torch.nan)
        return cls(torch.tensor(placed), pool, spare)

    @property
    def states(self) -> States:
        states = states_of(self.pool)
        states.spare = self.spare.data_ptr()
        return states


def convolve(
    library: Library, parts: ConvolutionParts, x: torch.Tensor, chained: PooledChains
) -> torch.Tensor:
    """Return the outputs [rows, channels] for inputs of that shape."""
    memory = HeldFloats()
    call, y = parts.structure(memory), torch.empty(x.shape)
    call.x, call.x_stride = rows_of(x)
    call.y, call.y_stride = rows_of(y)
    call.chains, call.num_chains = chained.chains.data_ptr(), len(chained.chains)
    call.states = chained.states
    library.convolution(ctypes.byref(call))
    return y


def recur(
    library: Library,
    parts: RecurrenceParts,
    heads: tuple[torch.Tensor, ...],
    *,
    steps: torch.Tensor,
    gates: torch.Tensor | None,
    chained: PooledChains,
) -> torch.Tensor:
    """Return the results [rows, heads * value width] for queries, keys and values of the same rows.

    The delta rule normalizes queries and keys in place. Steps and gates are [rows, heads].
    """
    queries, keys, values = heads
    memory = HeldFloats()
    call = parts.structure(memory)
    y = torch.empty(len(values), parts.sizes.num_heads * parts.sizes.value_width)
    (call.queries, _), (call.keys, _) = rows_of(queries), rows_of(keys)
    call.values, call.row_stride = rows_of(values)
    call.steps, call.step_stride = rows_of(steps)
    if gates is not None:
        call.gates, call.gate_stride = rows_of(gates)
    call.y, call.num_rows = y.data_ptr(), len(y)
    call.chains, call.num_chains = chained.chains.data_ptr(), len(chained.chains)
    call.states = chained.states
    library.recurrence(ctypes.byref(call))
    return y
