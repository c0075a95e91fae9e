"""Prefaulting: takes the pool's memory from the operating system shortly before its use.

The system provides and clears a page when it is first written, so a step of two thousand rows
waits for hundreds of huge pages. Prefaulting uses idle moments of the engine instead. It takes
only the memory that the next requests may need, because other processes share it. Called by the
executors.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from collections.abc import Callable, Iterator, Sequence

import torch

LEAD = 16384  # slots past the last one in use: enough for a few busy seconds
_LEAD_BYTES = 2 * 1024**3  # upper limit of the lead
_FREE_SHARE = 4  # at most a quarter of the free memory is taken at a time
_PIECE_BYTES = 2 * 1024**2  # a millisecond or two, the delay of a request that arrives meanwhile
_MADV_POPULATE_WRITE = 23  # Linux 5.14 and later: provides pages and keeps their contents


class PoolPrefault:
    """Prefaulted memory for the slots after the last used one."""

    def __init__(
        self,
        tensors: Sequence[torch.Tensor],
        free_bytes: Callable[[], int],
        lead: int = LEAD,
    ) -> None:
        """`tensors`: the planes of a CPU pool, each `[num_slots, ...]` and contiguous.

        `free_bytes` returns the system's free memory.
        """
        self._tensors = [tensor for tensor in tensors if tensor.numel()]
        self._num_slots = min((len(tensor) for tensor in self._tensors), default=0)
        self._slot_bytes = sum(_width(tensor) for tensor in self._tensors)
        self._free_bytes = free_bytes
        self._lead = min(lead, _LEAD_BYTES // max(1, self._slot_bytes))
        self._used = 0
        self._taken = 0  # slots with memory, or about to get it
        self._pieces: Iterator[tuple[int, int]] = iter(())
        self._works = sys.platform == "linux"

    def note_use(self, slot: int) -> None:
        """Record that slots up to this one are in use."""
        self._used = max(self._used, slot + 1)

    def advance(self) -> bool:
        """Prefault one chunk of memory.

        False if the lead is complete, too little memory is free, or the system cannot do it.
        """
        if not self._works:
            return False
        piece = next(self._pieces, None)
        if piece is None:
            wanted = min(self._used + self._lead, self._num_slots)
            needed = (wanted - self._taken) * self._slot_bytes
            if needed <= 0 or needed > self._free_bytes() // _FREE_SHARE:
                return False
            self._pieces = _pieces(self._tensors, self._taken, wanted)
            self._taken = wanted
            return self.advance()
        self._works = _populate(*piece)
        return self._works


def _width(tensor: torch.Tensor) -> int:
    """Return the bytes per slot."""
    return tensor.stride(0) * tensor.itemsize


def _pieces(tensors: Sequence[torch.Tensor], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield (address, bytes) for these slots, all tensors' low slots first."""
    slots = max(1, _PIECE_BYTES // max(map(_width, tensors)))
    for begin in range(first, end, slots):
        for tensor in tensors:
            width = _width(tensor)
            yield tensor.data_ptr() + begin * width, (min(begin + slots, end) - begin) * width


@functools.cache
def _madvise() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None).madvise
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function


def _populate(address: int, nbytes: int) -> bool:
    first = address // mmap.PAGESIZE * mmap.PAGESIZE
    return _madvise()(first, address + nbytes - first, _MADV_POPULATE_WRITE) == 0
