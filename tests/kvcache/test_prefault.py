"""Prefaulting provides memory shortly before its use and keeps its contents."""

from __future__ import annotations

import ctypes
import mmap
import sys
import weakref
from itertools import count, takewhile

import pytest
import torch

from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, SamplingParams
from yaie.engine.core import EngineCore
from yaie.kvcache.pool import KVPool, LayerShape
from yaie.kvcache.prefault import PoolPrefault, _populate

SLOT_BYTES = 512 * 2  # of one plane of the pool below
NUM_SLOTS = 32768


def is_possible() -> bool:
    page = mmap.mmap(-1, mmap.PAGESIZE)
    address = torch.frombuffer(page, dtype=torch.uint8).data_ptr()
    return sys.platform == "linux" and _populate(address, mmap.PAGESIZE)


pytestmark = pytest.mark.skipif(
    not is_possible(), reason="the system cannot prefault memory (Linux 5.14 can)"
)


@pytest.fixture
def pool() -> KVPool:
    """Four planes of 32 MiB."""
    shape = LayerShape(1, 512, 512)
    return KVPool([shape, None, shape], NUM_SLOTS, torch.bfloat16, torch.device("cpu"))


def plenty() -> int:
    return 2**40


def steps(prefault: PoolPrefault) -> int:
    """Count the pieces until the lead is complete."""
    return sum(1 for _ in takewhile(lambda _: prefault.advance(), count()))


def slots_in_memory(tensor: torch.Tensor) -> int:
    """Count the resident slots of a page-aligned tensor."""
    pages = tensor.nbytes // mmap.PAGESIZE
    held = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None)
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    assert libc.mincore(tensor.data_ptr(), tensor.nbytes, held) == 0
    return sum(page & 1 for page in held) * mmap.PAGESIZE // SLOT_BYTES


def test_the_lead_is_resident_and_little_more(pool: KVPool) -> None:
    tensors = list(pool.planes())
    prefault = PoolPrefault(tensors, plenty, lead=8192)
    assert steps(prefault) == 4 * 8192 * SLOT_BYTES // (2 * 1024**2)
    # Huge pages may add a few slots.
    assert all(8192 <= slots_in_memory(tensor) <= 8192 + 4096 for tensor in tensors)
    prefault.note_use(9999)
    prefault.note_use(5)
    assert steps(prefault) > 0
    assert all(18192 <= slots_in_memory(tensor) <= 18192 + 4096 for tensor in tensors)
    assert steps(prefault) == 0
    prefault.note_use(NUM_SLOTS - 1)
    steps(prefault)
    assert all(slots_in_memory(tensor) == NUM_SLOTS for tensor in tensors)
    assert not prefault.advance()


def test_every_head_has_a_plane() -> None:
    pool = KVPool([LayerShape(2, 512, 512)], NUM_SLOTS, torch.bfloat16, torch.device("cpu"))
    prefault = PoolPrefault(list(pool.planes()), plenty, lead=8192)
    assert steps(prefault) == 4 * 8192 * SLOT_BYTES // (2 * 1024**2)
    assert all(8192 <= slots_in_memory(plane) <= 8192 + 4096 for plane in pool.planes())


def test_low_slots_of_all_layers_come_first(pool: KVPool) -> None:
    tensors = list(pool.planes())
    prefault = PoolPrefault(tensors, plenty)
    for _ in tensors:
        assert prefault.advance()
    assert all(slots_in_memory(tensor) >= 2048 for tensor in tensors)


def test_prefaulting_keeps_contents(pool: KVPool) -> None:
    keys = pool.keys(0)
    assert isinstance(keys, torch.Tensor)
    keys[::100] = 3
    steps(PoolPrefault(list(pool.planes()), plenty, lead=NUM_SLOTS))
    assert bool((keys[::100] == 3).all())
    assert int(keys.count_nonzero()) == keys[::100].numel()


def test_a_pool_on_a_gpu_needs_no_prefaulting() -> None:
    prefault = PoolPrefault([], plenty)
    prefault.note_use(100)
    assert not prefault.advance()


def test_a_failed_prefault_is_not_repeated(pool: KVPool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("yaie.kvcache.prefault._populate", lambda *piece: asked.append(piece))
    prefault = PoolPrefault(list(pool.planes()), plenty)
    assert not prefault.advance()
    prefault.note_use(20000)
    assert not prefault.advance()
    assert len(asked) == 1


def test_an_int8_pool_prefaults_elements_and_scales() -> None:
    pool = KVPool([LayerShape(1, 512, 512)], NUM_SLOTS, torch.int8, torch.device("cpu"))
    tensors = list(pool.planes())
    assert len(tensors) == 4
    steps(PoolPrefault(tensors, plenty, lead=NUM_SLOTS))
    for tensor in tensors:
        assert slots_in_memory(tensor) * SLOT_BYTES == tensor.nbytes


def test_only_a_share_of_the_free_memory_is_taken(pool: KVPool) -> None:
    tensors = list(pool.planes())
    free = 4 * 8192 * SLOT_BYTES  # of which a quarter may be taken
    prefault = PoolPrefault(tensors, lambda: free, lead=8192)
    assert not prefault.advance()
    assert all(slots_in_memory(tensor) == 0 for tensor in tensors)
    free *= 4  # other processes have ended
    assert steps(prefault) > 0
    assert all(slots_in_memory(tensor) >= 8192 for tensor in tensors)


def test_the_lead_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch, pool: KVPool) -> None:
    monkeypatch.setattr("yaie.kvcache.prefault._LEAD_BYTES", 4 * 1000 * SLOT_BYTES)
    tensors = list(pool.planes())
    steps(PoolPrefault(tensors, plenty))
    assert all(1000 <= slots_in_memory(tensor) <= 1000 + 4096 for tensor in tensors)


def test_an_unfinished_prefault_does_not_keep_the_pool(pool: KVPool) -> None:
    prefault = PoolPrefault(list(pool.planes()), plenty)
    assert prefault.advance()
    held = weakref.ref(prefault)
    del prefault
    assert held() is None  # no cycle that waits for the garbage collector


@pytest.mark.integration
def test_a_step_moves_the_lead() -> None:
    core = EngineCore(EngineConfig(model="builtin", num_slots=20000))
    try:
        first = sum(1 for _ in takewhile(lambda _: core.use_idle_moment(), count()))
        assert first > 0
        sampling = SamplingParams(max_tokens=600, ignore_eos=True)
        core.add(
            GenerationRequest(request_id="one", prompt_token_ids=(5,) * 3000, sampling=sampling)
        )
        while core.has_work:
            core.step()
        again = sum(1 for _ in takewhile(lambda _: core.use_idle_moment(), count()))
        assert 0 < again <= first
        assert not core.use_idle_moment()
    finally:
        core.close()
