"""The pool: shapes, zeros, and memory that becomes resident on use."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from yaie.kvcache.int8_rows import QuantizedRows, fetch, quantize
from yaie.kvcache.pool import KVPool, LayerShape

STATUS = Path("/proc/self/statm")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_slots_are_zero_and_writable(dtype: torch.dtype) -> None:
    pool = KVPool([LayerShape(2, 8, 4), None], 16, dtype, torch.device("cpu"))
    assert pool.keys(0).shape == (16, 2, 8)
    assert pool.values(0).shape == (16, 2, 4)
    assert not pool.keys(0).any()
    pool.keys(0)[3] = 1
    assert pool.keys(0)[3].all()
    assert pool.nbytes == 16 * 2 * (8 + 4) * dtype.itemsize
    with pytest.raises(LookupError):
        pool.keys(1)


def test_on_a_cpu_the_memory_is_head_major() -> None:
    pool = KVPool([LayerShape(2, 8, 4)], 16, torch.bfloat16, torch.device("cpu"))
    keys = pool.keys(0)
    assert isinstance(keys, torch.Tensor)
    assert keys[:, 1].is_contiguous()
    assert keys.stride() == (8, 16 * 8, 1)
    assert [plane.shape for plane in pool.planes()] == [(16, 8), (16, 8), (16, 4), (16, 4)]
    assert all(plane.is_contiguous() for plane in pool.planes())
    assert sum(plane.nbytes for plane in pool.planes()) == pool.nbytes
    quantized = KVPool([LayerShape(2, 8, 4)], 16, torch.int8, torch.device("cpu"))
    assert sum(plane.nbytes for plane in quantized.planes()) == quantized.nbytes


def test_an_int8_pool_has_a_scale_for_each_head_of_a_slot() -> None:
    shape = LayerShape(2, 8, 4)
    pool = KVPool([shape, None], 16, torch.int8, torch.device("cpu"))
    keys, values = pool.keys(0), pool.values(0)
    assert isinstance(keys, QuantizedRows)
    assert isinstance(values, QuantizedRows)
    assert keys.elements.shape == (16, 2, 8)
    assert values.elements.shape == (16, 2, 4)
    assert keys.scales.shape == values.scales.shape == (16, 2)
    assert not fetch(keys, slice(0, 16)).any()
    assert pool.nbytes == 16 * shape.bytes_per_token(torch.int8) == 16 * (2 * 12 + 2 * 2 * 4)
    wide = LayerShape(8, 128, 128)
    assert wide.bytes_per_token(torch.bfloat16) > 1.9 * wide.bytes_per_token(torch.int8)


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_int8_rounds_to_nearest(size: float) -> None:
    rows = torch.randn(500, 3, 64) * size
    stored = quantize(rows)
    error = (stored.elements * stored.scales[..., None] - rows).abs()
    largest = rows.abs().amax(-1, keepdim=True)
    assert bool((error <= largest / 127 * 0.5001).all())
    assert bool((stored.elements.abs().amax(-1) == 127).all())


@pytest.mark.skipif(not STATUS.exists(), reason="resident memory is read from /proc")
def test_memory_becomes_resident_when_slots_are_written() -> None:
    before = _resident_bytes()
    pool = KVPool([LayerShape(8, 128, 128)] * 4, 16384, torch.bfloat16, torch.device("cpu"))
    assert pool.nbytes == 2**28
    assert _resident_bytes() - before < pool.nbytes / 4


def _resident_bytes() -> int:
    return int(STATUS.read_text().split()[1]) * 4096
