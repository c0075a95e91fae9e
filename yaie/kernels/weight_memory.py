"""Weight memory: large pages for packed weights, which every step reads from end to end.

A separately allocated tensor starts and ends within large pages, and small pages cover the rest:
half of a 4 MB tensor. Streaming small pages has two thirds of the speed. So weights are contiguous
in long mappings. Used by the packer and the packed-weight loader.
"""

from __future__ import annotations

import mmap

import torch

from yaie.kernels.library import Library

_HUGE_PAGE = 2 * 1024**2
_PAGE = 4096
_MAPPING_BYTES = 64 * 1024**2  # a mapping's unused bytes are never touched


class WeightMemory:
    """An allocator whose memory lasts as long as the tensors over it."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._rest = torch.empty(0, dtype=torch.uint8)
        self.num_taken = 0  # bytes

    def take(self, nbytes: int) -> torch.Tensor:
        """Return uint8 zeros [nbytes], aligned to a page."""
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
