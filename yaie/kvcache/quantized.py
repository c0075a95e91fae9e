"""Keys and values as bytes: what an int8 pool holds, and plain torch's way in and out of it.

Each head of a slot is times one scale of its own, so what is stored depends on nothing but its own
token's numbers: never on the batch, the chunk or who else shares it. Used by the pool and by the
reference backend, which is the oracle of the kernels that do the same (`csrc/write.inl`).
"""

from __future__ import annotations

from typing import NamedTuple

import torch

SCALE_BYTES = 4  # a float32 for each KV head of a slot, for keys and for values
_LARGEST = 127.0
_LEAST_MAGNITUDE = 1e-30  # heads of nothing greater are zeros


class QuantizedRows(NamedTuple):
    """Heads that stand for `elements * scales[..., None]`."""

    elements: torch.Tensor  # int8 [rows, num_kv_heads, width]
    scales: torch.Tensor  # float32 [rows, num_kv_heads]

    @property
    def nbytes(self) -> int:
        """Bytes of both."""
        return self.elements.nbytes + self.scales.nbytes


StoredRows = torch.Tensor | QuantizedRows  # the keys or the values of one layer of a pool


def elements_of(rows: StoredRows) -> torch.Tensor:
    """The tensor [slots, num_kv_heads, width] as it is held: bytes, where a pool is of bytes."""
    return rows.elements if isinstance(rows, QuantizedRows) else rows


def quantize(rows: torch.Tensor) -> QuantizedRows:
    """[rows, num_kv_heads, width] to the nearest bytes; scale NaN where a head is not finite."""
    wide = rows.float()
    largest = wide.abs().amax(-1)
    factor = torch.where(largest > _LEAST_MAGNITUDE, _LARGEST / largest, 0.0)
    scales = torch.where(factor > 0, largest / _LARGEST, 0.0)
    scales = torch.where(largest.isfinite(), scales, torch.nan)
    elements = (wide * factor[..., None]).nan_to_num(0.0).round_()
    return QuantizedRows(elements.to(torch.int8), scales)


def store(pool: StoredRows, slots: torch.Tensor | slice, rows: torch.Tensor) -> None:
    """Put rows [len(slots), num_kv_heads, width] into their slots, in the pool's dtype."""
    if isinstance(pool, QuantizedRows):
        pool.elements[slots], pool.scales[slots] = quantize(rows)
    else:
        pool[slots] = rows.to(pool.dtype)


def fetch(pool: StoredRows, slots: torch.Tensor | slice) -> torch.Tensor:
    """Rows [len(slots), num_kv_heads, width] of the pool in float32."""
    if isinstance(pool, QuantizedRows):
        return _at(pool.elements, slots).float() * _at(pool.scales, slots)[..., None]
    return _at(pool, slots).float()


def _at(tensor: torch.Tensor, slots: torch.Tensor | slice) -> torch.Tensor:
    return tensor[slots] if isinstance(slots, slice) else tensor.index_select(0, slots)
