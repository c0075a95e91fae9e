"""The KV pool: the keys and values of every layer, one place per slot.

Owned by the model runner; written by the attention hook, read by the attention backends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch


class LayerShape(NamedTuple):
    """What one layer stores for one token."""

    num_kv_heads: int
    key_width: int
    value_width: int


class KVPool:
    """K and V tensors, `[num_slots, num_kv_heads, width]` for each layer (NHD).

    Slot i of every layer belongs to the same token. The tensors are zeroed, so that padding which
    reads a slot never written meets finite numbers. On a CPU the operating system gives zeroed
    memory out page by page as slots are first written.
    """

    def __init__(
        self,
        shapes: Sequence[LayerShape | None],
        num_slots: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """`shapes[i]` is None where layer i stores nothing of its own."""
        self.num_slots = num_slots
        self._keys: list[torch.Tensor | None] = []
        self._values: list[torch.Tensor | None] = []
        for shape in shapes:
            if shape is None:
                self._keys.append(None)
                self._values.append(None)
                continue
            heads, key_width, value_width = shape
            self._keys.append(_zeros((num_slots, heads, key_width), dtype, device))
            self._values.append(_zeros((num_slots, heads, value_width), dtype, device))

    def keys(self, layer: int) -> torch.Tensor:
        """[num_slots, num_kv_heads, key_width] of a layer that stores its own."""
        return _present(self._keys[layer], layer)

    def values(self, layer: int) -> torch.Tensor:
        """[num_slots, num_kv_heads, value_width] of a layer that stores its own."""
        return _present(self._values[layer], layer)

    @property
    def nbytes(self) -> int:
        """Size of the whole pool in bytes."""
        return sum(t.nbytes for t in (*self._keys, *self._values) if t is not None)


def _zeros(shape: tuple[int, int, int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Zeros; on a CPU without touching the memory, which torch.zeros would do."""
    if device.type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    size = dtype.itemsize * shape[0] * shape[1] * shape[2]
    return torch.from_numpy(np.zeros(size, dtype=np.uint8)).view(dtype).view(shape)


def _present(tensor: torch.Tensor | None, layer: int) -> torch.Tensor:
    if tensor is None:
        raise LookupError(f"layer {layer} stores no keys and values of its own")
    return tensor
