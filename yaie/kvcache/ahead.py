"""Takes the pool's memory from the operating system a little ahead of its use.

The system hands memory out page by page when it is first written to, and clears each page then: a
step of two thousand rows waits for hundreds of large pages. Done while the engine has no work, it
costs nobody anything; and no more is taken than is soon needed, as a CPU's memory is shared. Called
by the model runner.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Sequence

import torch

AHEAD = 16384  # slots beyond the last one in use: what the requests of a busy few seconds take
_PIECE_BYTES = 2 * 1024**2  # taken at a time, a millisecond or two: so long may a request wait
_PAGE = 4096
_MADV_POPULATE_WRITE = 23  # of Linux 5.14 and later: hands memory out and leaves what it holds


class MemoryAhead:
    """Keeps the memory of some slots behind the last one in use ready to be written."""

    def __init__(self, tensors: Sequence[torch.Tensor], ahead: int = AHEAD) -> None:
        """`tensors`: the pool's, on the CPU, each `[num_slots, ...]` and contiguous."""
        self._tensors = tensors
        self._num_slots = min((len(tensor) for tensor in tensors), default=0)
        self._ahead = ahead
        self._used = 0
        self._taken = 0  # slots whose memory is there, or is about to be
        self._pieces: Iterator[tuple[int, int]] = iter(())
        self._works = sys.platform == "linux"

    def note_use(self, slot: int) -> None:
        """Slots up to this one are in use."""
        self._used = max(self._used, slot + 1)

    def advance(self) -> bool:
        """Take one piece of memory. False if nothing is wanting, or the system cannot do it."""
        if not self._works:
            return False
        piece = next(self._pieces, None)
        if piece is None:
            wanted = min(self._used + self._ahead, self._num_slots)
            if wanted <= self._taken:
                return False
            self._pieces = self._pieces_of(self._taken, wanted)
            self._taken = wanted
            return self.advance()
        self._works = _populate(*piece)
        return self._works

    def _pieces_of(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """(address, bytes), low slots of all tensors first."""
        if not self._tensors:
            return
        widest = max(tensor.stride(0) * tensor.itemsize for tensor in self._tensors)
        slots = max(1, _PIECE_BYTES // widest)
        for begin in range(first, end, slots):
            for tensor in self._tensors:
                width = tensor.stride(0) * tensor.itemsize
                yield tensor.data_ptr() + begin * width, (min(begin + slots, end) - begin) * width


def _populate(address: int, nbytes: int) -> bool:
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    first = address // _PAGE * _PAGE
    status: int = libc.madvise(first, address + nbytes - first, _MADV_POPULATE_WRITE)
    return status == 0
