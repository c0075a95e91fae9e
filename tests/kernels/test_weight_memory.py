"""Weights are contiguous, in mappings that start at large pages."""

from __future__ import annotations

import gc

import pytest
import torch

from yaie.kernels import library_search as kernels
from yaie.kernels.weight_memory import WeightMemory

MIB = 1024**2


@pytest.fixture
def memory() -> WeightMemory:
    library = kernels.load()
    if library is None:
        pytest.skip(f"no kernel library: {kernels.status().reason}")
    return WeightMemory(library)


def test_tensors_are_contiguous_from_a_large_page_on(
    memory: WeightMemory,
) -> None:
    first, second, third = (memory.take(nbytes) for nbytes in (3 * MIB + 1, 100, 5 * MIB))
    assert first.data_ptr() % (2 * MIB) == 0
    assert second.data_ptr() == first.data_ptr() + 3 * MIB + 4096
    assert third.data_ptr() == second.data_ptr() + 4096
    assert [len(tensor) for tensor in (first, second, third)] == [3 * MIB + 1, 100, 5 * MIB]
    assert not first.any() and not third.any()


def test_a_large_tensor_gets_its_own_mapping(memory: WeightMemory) -> None:
    small, large = memory.take(10), memory.take(70 * MIB)
    assert large.data_ptr() % (2 * MIB) == 0
    assert len(large) == 70 * MIB
    large[-1] = 7
    assert not small.any()


def test_memory_outlives_its_allocator(memory: WeightMemory) -> None:
    taken = memory.take(MIB)
    taken.fill_(3)
    del memory
    gc.collect()
    assert torch.equal(taken, torch.full((MIB,), 3, dtype=torch.uint8))
