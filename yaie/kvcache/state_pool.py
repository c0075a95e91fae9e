"""The state pool: recurrent layers' states, by slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch

StateKey = tuple[str, int]  # "conv" or "recurrent", and the state's index in its layer
States = dict[StateKey, torch.Tensor]


@dataclass(frozen=True, slots=True)
class StateShape:
    """One state of a recurrent layer, without the batch dimension."""

    kind: str  # "conv" or "recurrent"
    index: int
    shape: tuple[int, ...]
    dtype: str  # torch's name

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return prod(self.shape) * getattr(torch, self.dtype).itemsize  # type: ignore[no-any-return]


LayerStates = tuple[StateShape, ...]


def bytes_per_state(layers: Sequence[LayerStates]) -> int:
    """Return the size of one slot over all layers."""
    return sum(each.nbytes for layer in layers for each in layer)


class StatePool:
    """Tensors [slots, ...] for every state of each recurrent layer."""

    def __init__(self, layers: Sequence[LayerStates], num_slots: int, device: torch.device) -> None:
        self.num_slots = num_slots
        self._layers: list[States] = [
            {
                (each.kind, each.index): torch.zeros(
                    (num_slots, *each.shape), dtype=getattr(torch, each.dtype), device=device
                )
                for each in layer
            }
            for layer in layers
        ]

    def tensors(self, layer: int) -> States:
        """Return a layer's states [slots, ...] themselves."""
        return self._layers[layer]

    def read(self, layer: int, slots: torch.Tensor) -> States:
        """Return copies of a layer's states [len(slots), ...]."""
        return {key: pool.index_select(0, slots) for key, pool in self._layers[layer].items()}

    def write(self, layer: int, slot: int, states: States, index: int) -> None:
        """Store one element of a batch's states in a slot."""
        for key, pool in self._layers[layer].items():
            pool[slot].copy_(states[key][index])
