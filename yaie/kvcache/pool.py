"""The KV pool: the keys and values of every layer, one row per slot.

Owned by the executor; written and read by the attention backends.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import torch

from yaie.kvcache.int8_rows import SCALE_BYTES, QuantizedRows, StoredRows

_HUGE_PAGE = 2 * 1024**2
# Order of the memory: all heads of a slot, then the next slot; or all slots of a head.
PoolLayout = Literal["NHD", "HND"]


class LayerShape(NamedTuple):
    """Shape of a token's keys and values in one layer."""

    num_kv_heads: int
    key_width: int
    value_width: int

    def bytes_per_token(self, dtype: torch.dtype) -> int:
        """Return the bytes for a token's keys, values and scales in a pool with this dtype."""
        elements = self.num_kv_heads * (self.key_width + self.value_width)
        scales = 2 * self.num_kv_heads * SCALE_BYTES if dtype is torch.int8 else 0
        return elements * dtype.itemsize + scales


def bytes_per_token(shapes: Sequence[LayerShape | None], dtype: torch.dtype) -> int:
    """Return a token's bytes in a pool with these layers."""
    return sum(shape.bytes_per_token(dtype) for shape in shapes if shape is not None)


class KVPool:
    """K and V tensors, `[num_slots, num_kv_heads, width]` for each layer.

    Slot i is the same token in every layer. The attention backend chooses the memory layout; with
    "HND" the tensors are transposed views. In an int8 pool each head of a slot has a float32 scale
    (`QuantizedRows`). The tensors are zeroed: padding that reads an unwritten slot finds finite
    values. On a CPU the operating system provides zeroed pages when slots are first written, or
    shortly before (`prefault.py`).
    """

    def __init__(
        self,
        shapes: Sequence[LayerShape | None],
        num_slots: int,
        dtype: torch.dtype,
        device: torch.device,
        layout: PoolLayout = "HND",
    ) -> None:
        """`shapes[i]` is None for a layer that stores no keys and values."""
        self.num_slots = num_slots
        self.dtype = dtype
        self._keys: list[StoredRows | None] = []
        self._values: list[StoredRows | None] = []
        for shape in shapes:
            if shape is None:
                self._keys.append(None)
                self._values.append(None)
                continue
            heads, key_width, value_width = shape
            self._keys.append(_rows((num_slots, heads, key_width), dtype, device, layout))
            self._values.append(_rows((num_slots, heads, value_width), dtype, device, layout))

    def keys(self, layer: int) -> StoredRows:
        """Return a layer's keys [num_slots, num_kv_heads, key_width]."""
        return _present(self._keys[layer], layer)

    def values(self, layer: int) -> StoredRows:
        """Return a layer's values [num_slots, num_kv_heads, value_width]."""
        return _present(self._values[layer], layer)

    def tensors(self) -> Iterator[torch.Tensor]:
        """Yield the pool's tensors."""
        for rows in (*self._keys, *self._values):
            if isinstance(rows, QuantizedRows):
                yield from rows
            elif rows is not None:
                yield rows

    def planes(self) -> Iterator[torch.Tensor]:
        """Yield the pool's memory as contiguous `[num_slots, ...]` tensors."""
        for tensor in self.tensors():
            if tensor.is_contiguous():
                yield tensor
            else:
                yield from tensor.unbind(1)

    @property
    def nbytes(self) -> int:
        """The pool's size in bytes."""
        return sum(t.nbytes for t in (*self._keys, *self._values) if t is not None)


def _rows(
    shape: tuple[int, int, int], dtype: torch.dtype, device: torch.device, layout: PoolLayout
) -> StoredRows:
    num_slots, heads, width = shape
    if layout == "HND":
        elements = _zeros((heads, num_slots, width), dtype, device).transpose(0, 1)
    else:
        elements = _zeros(shape, dtype, device)
    if dtype is torch.int8:
        return QuantizedRows(elements, _zeros(shape[:2], torch.float32, device))
    return elements


def _zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return zeros; on a CPU without touching the memory, as torch.zeros would.

    The memory is a separate mapping: an allocator would have to clear reused memory, which touches
    it. It is aligned to huge pages.
    """
    if device.type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    size = dtype.itemsize * math.prod(shape)
    mapping = mmap.mmap(-1, size + _HUGE_PAGE, access=mmap.ACCESS_COPY)
    whole = torch.frombuffer(mapping, dtype=torch.uint8)
    begin = -whole.data_ptr() % _HUGE_PAGE
    return whole[begin : begin + size].view(dtype).view(shape)


def _present(rows: StoredRows | None, layer: int) -> StoredRows:
    if rows is None:
        raise LookupError(f"layer {layer} has no separate keys and values")
    return rows
