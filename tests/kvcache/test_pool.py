"""The pool: shapes, zeros, and memory that is taken only when it is used."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

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


@pytest.mark.skipif(not STATUS.exists(), reason="resident memory is read from /proc")
def test_memory_is_taken_only_when_slots_are_written() -> None:
    before = _resident_bytes()
    pool = KVPool([LayerShape(8, 128, 128)] * 4, 16384, torch.bfloat16, torch.device("cpu"))
    assert pool.nbytes == 2**28
    assert _resident_bytes() - before < pool.nbytes / 4


def _resident_bytes() -> int:
    return int(STATUS.read_text().split()[1]) * 4096
