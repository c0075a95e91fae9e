"""Takes the pool's memory from the operating system a little ahead of its use.

The system hands memory out page by page when it is first written to, and clears each page then: a
step of two thousand rows waits for hundreds of large pages. Done while the engine has no work, it
costs nobody anything; and no more is taken than the next requests may need, as a CPU's memory is
shared with others. Called by the executors.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from collections.abc import Callable, Iterator, Sequence

import torch

LEAD = 16384  # slots beyond the last one in use: what the requests of a busy few seconds take,
_LEAD_BYTES = 2 * 1024**3  # but no more of them than this
_SHARE_OF_FREE = 4  # one part in so many of what is free may be taken at a time
_PIECE_BYTES = 2 * 1024**2  # in a millisecond or two: so long may a request wait
_MADV_POPULATE_WRITE = 23  # of Linux 5.14 and later: hands memory out and leaves what it holds


class PoolPrefault:
    """Keeps the memory of some slots behind the last one in use ready to be written."""

    def __init__(
        self,
        tensors: Sequence[torch.Tensor],
        free_bytes: Callable[[], int],
        lead: int = LEAD,
    ) -> None:
        """`tensors`: the planes of a pool on the CPU, each `[num_slots, ...]` and contiguous.

        `free_bytes` says what the system can still give.
        """
        self._tensors = [tensor for tensor in tensors if tensor.numel()]
        self._num_slots = min((len(tensor) for tensor in self._tensors), default=0)
        self._slot_bytes = sum(_width(tensor) for tensor in self._tensors)
        self._free_bytes = free_bytes
        self._lead = min(lead, _LEAD_BYTES // max(1, self._slot_bytes))
        self._used = 0
        self._taken = 0  # slots whose memory is there, or is about to be
        self._pieces: Iterator[tuple[int, int]] = iter(())
        self._works = sys.platform == "linux"

    def note_use(self, slot: int) -> None:
        """Slots up to this one are in use."""
        self._used = max(self._used, slot + 1)

    def advance(self) -> bool:
        """Take one piece of memory.

        False if nothing is wanting, too little is free, or the system cannot do it.
        """
        if not self._works:
            return False
        piece = next(self._pieces, None)
        if piece is None:
            wanted = min(self._used + self._lead, self._num_slots)
            needed = (wanted - self._taken) * self._slot_bytes
            if needed <= 0 or needed > self._free_bytes() // _SHARE_OF_FREE:
                return False
            self._pieces = _pieces(self._tensors, self._taken, wanted)
            self._taken = wanted
            return self.advance()
        self._works = _populate(*piece)
        return self._works


def _width(tensor: torch.Tensor) -> int:
    """Bytes of one slot."""
    return tensor.stride(0) * tensor.itemsize


def _pieces(tensors: Sequence[torch.Tensor], first: int, end: int) -> Iterator[tuple[int, int]]:
    """(address, bytes) of these slots, low ones of all tensors first."""
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
