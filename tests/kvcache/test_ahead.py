"""The pool's memory is taken a little ahead of its use, and what it holds stays."""

from __future__ import annotations

import ctypes
import mmap
import sys
from itertools import count, takewhile

import pytest
import torch

from yaie.kvcache.ahead import MemoryAhead
from yaie.kvcache.pool import KVPool, LayerShape

SLOT_BYTES = 8 * 64 * 2  # of one tensor of the pool below
NUM_SLOTS = 32768

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux hands memory out when asked to"
)


@pytest.fixture
def pool() -> KVPool:
    """Four tensors of 32 MiB."""
    shape = LayerShape(8, 64, 64)
    return KVPool([shape, None, shape], NUM_SLOTS, torch.bfloat16, torch.device("cpu"))


def steps(ahead: MemoryAhead) -> int:
    """Pieces taken until nothing is wanting."""
    return sum(1 for _ in takewhile(lambda _: ahead.advance(), count()))


def slots_in_memory(tensor: torch.Tensor) -> int:
    """Of a tensor that begins at a page."""
    pages = tensor.nbytes // mmap.PAGESIZE
    held = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None)
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    assert libc.mincore(tensor.data_ptr(), tensor.nbytes, held) == 0
    return sum(page & 1 for page in held) * mmap.PAGESIZE // SLOT_BYTES


def test_slots_ahead_of_those_in_use_are_in_memory_and_no_more(pool: KVPool) -> None:
    tensors = list(pool.tensors())
    ahead = MemoryAhead(tensors, ahead=8192)
    assert steps(ahead) == 4 * 8192 * SLOT_BYTES // (2 * 1024**2)
    # Pages are large ones where the system gives them, so there may be a few slots more.
    assert all(8192 <= slots_in_memory(tensor) <= 8192 + 4096 for tensor in tensors)
    ahead.note_use(9999)
    ahead.note_use(5)
    assert steps(ahead) > 0
    assert all(18192 <= slots_in_memory(tensor) <= 18192 + 4096 for tensor in tensors)
    assert steps(ahead) == 0
    ahead.note_use(NUM_SLOTS - 1)
    steps(ahead)
    assert all(slots_in_memory(tensor) == NUM_SLOTS for tensor in tensors)
    assert not ahead.advance()


def test_low_slots_of_all_layers_come_first(pool: KVPool) -> None:
    tensors = list(pool.tensors())
    ahead = MemoryAhead(tensors)
    for _ in tensors:
        assert ahead.advance()
    assert all(slots_in_memory(tensor) >= 2048 for tensor in tensors)


def test_what_the_pool_holds_stays(pool: KVPool) -> None:
    keys = pool.keys(0)
    assert isinstance(keys, torch.Tensor)
    keys[::100] = 3
    steps(MemoryAhead(list(pool.tensors()), ahead=NUM_SLOTS))
    assert bool((keys[::100] == 3).all())
    assert int(keys.count_nonzero()) == keys[::100].numel()


def test_a_pool_elsewhere_needs_nothing() -> None:
    ahead = MemoryAhead([])
    ahead.note_use(100)
    assert not ahead.advance()


def test_a_system_that_cannot_do_it_is_not_asked_again(
    pool: KVPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr("yaie.kvcache.ahead._populate", lambda *piece: asked.append(piece))
    ahead = MemoryAhead(list(pool.tensors()))
    assert not ahead.advance()
    ahead.note_use(20000)
    assert not ahead.advance()
    assert len(asked) == 1
