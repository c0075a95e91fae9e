"""Memory for packed weights, which every step reads from end to end, in large pages.

A tensor with memory of its own begins and ends somewhere within large pages, and small pages hold
the rest, half of a tensor of 4 MB; a stream of small pages arrives at two thirds of the speed. So
weights lie one behind the other in long mappings. Used by the packer, and by what loads packed
weights from disk.
"""

from __future__ import annotations

import mmap

import torch

from yaie.kernels.library import Library

_HUGE_PAGE = 2 * 1024**2
_PAGE = 4096
_MAPPING_BYTES = 64 * 1024**2  # at a time: what is not used of it is never touched


class WeightMemory:
    """Gives out memory that lasts as long as the tensors over it."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._rest = torch.empty(0, dtype=torch.uint8)
        self.num_taken = 0  # bytes

    def take(self, nbytes: int) -> torch.Tensor:
        """[nbytes] of uint8, zeros, aligned to a page."""
        if nbytes > len(self._rest):
            self._rest = self._map(max(nbytes, _MAPPING_BYTES))
        self.num_taken += nbytes
        taken = self._rest[:nbytes]
        self._rest = self._rest[-(-nbytes // _PAGE) * _PAGE :]
        return taken

    def _map(self, nbytes: int) -> torch.Tensor:
        nbytes = -(-nbytes // _HUGE_PAGE) * _HUGE_PAGE
        mapping = mmap.mmap(-1, nbytes + _HUGE_PAGE, access=mmap.ACCESS_COPY)
        whole = torch.frombuffer(mapping, dtype=torch.uint8)
        begin = -whole.data_ptr() % _HUGE_PAGE
        memory = whole[begin : begin + nbytes]
        self._library.prefer_huge_pages(memory.data_ptr(), nbytes)
        return memory
