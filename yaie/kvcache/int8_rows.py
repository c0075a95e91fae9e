"""Int8 keys and values: the rows of an int8 pool, quantized and dequantized in plain torch.

Each head of a slot has one scale, so the stored bytes depend on the token only: never on the batch,
the chunk or other users of the slot. Used by the pool and by the reference backend, the oracle of
the kernels in `csrc/write.inl`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

SCALE_BYTES = 4  # a float32 for each KV head of a slot, for keys and for values
FLOAT8_DTYPES = (torch.float8_e4m3fn, torch.float8_e5m2)  # pools without scales
_LARGEST = 127.0
_LEAST_MAGNITUDE = 1e-30  # smaller heads become zeros


class QuantizedRows(NamedTuple):
    """Quantized heads with the values `elements * scales[..., None]`."""

    elements: torch.Tensor  # int8 [rows, num_kv_heads, width]
    scales: torch.Tensor  # float32 [rows, num_kv_heads]

    @property
    def nbytes(self) -> int:
        """Bytes for elements and scales."""
        return self.elements.nbytes + self.scales.nbytes


StoredRows = torch.Tensor | QuantizedRows  # one pool layer's keys or values


def elements_of(rows: StoredRows) -> torch.Tensor:
    """Return the stored tensor [slots, num_kv_heads, width]; int8 in an int8 pool."""
    return rows.elements if isinstance(rows, QuantizedRows) else rows


def spread(rows: torch.Tensor) -> torch.Tensor:
    """Apply the Walsh-Hadamard transform to heads [..., width]: queries and keys for an int8 pool.

    Few large elements in a key would set its quantization step; the transform spreads them over the
    head. It is orthogonal: products between queries and keys stay. Heads whose width is not a power
    of two stay unchanged.
    """
    width = rows.shape[-1]
    if width & (width - 1):
        return rows
    mixed = rows.float()[..., None]  # [..., blocks, 1]
    while mixed.shape[-2] > 1:
        first, second = mixed[..., 0::2, :], mixed[..., 1::2, :]
        mixed = torch.cat((first + second, first - second), -1)
    spread_out = mixed[..., 0, :] * (1.0 / math.sqrt(width))
    return spread_out.to(rows.dtype)


def quantize(rows: torch.Tensor) -> QuantizedRows:
    """Round [rows, num_kv_heads, width] to int8; a non-finite head has the scale NaN."""
    wide = rows.float()
    largest = wide.abs().amax(-1)
    factor = torch.where(largest > _LEAST_MAGNITUDE, _LARGEST / largest, 0.0)
    scales = torch.where(factor > 0, largest / _LARGEST, 0.0)
    scales = torch.where(largest.isfinite(), scales, torch.nan)
    elements = (wide * factor[..., None]).nan_to_num(0.0).round_()
    return QuantizedRows(elements.to(torch.int8), scales)


def store(pool: StoredRows, slots: torch.Tensor | slice, rows: torch.Tensor) -> None:
    """Write rows [len(slots), num_kv_heads, width] to their slots, in the pool's dtype."""
    if isinstance(pool, QuantizedRows):
        pool.elements[slots], pool.scales[slots] = quantize(rows)
    elif pool.dtype in FLOAT8_DTYPES:
        most = torch.finfo(pool.dtype).max  # above it, a conversion may yield NaN
        rounded = rows.clamp(-most, most).to(pool.dtype)
        pool.view(torch.uint8)[slots] = rounded.view(torch.uint8)
    else:
        pool[slots] = rows.to(pool.dtype)


def fetch(pool: StoredRows, slots: torch.Tensor | slice) -> torch.Tensor:
    """Return pool rows [len(slots), num_kv_heads, width] in float32."""
    if isinstance(pool, QuantizedRows):
        return _at(pool.elements, slots).float() * _at(pool.scales, slots)[..., None]
    return _at(pool, slots).float()


def _at(tensor: torch.Tensor, slots: torch.Tensor | slice) -> torch.Tensor:
    if isinstance(slots, slice):
        return tensor[slots]
    if tensor.dtype in FLOAT8_DTYPES:  # which few operations take
        return tensor.view(torch.uint8).index_select(0, slots).view(tensor.dtype)
    return tensor.index_select(0, slots)
