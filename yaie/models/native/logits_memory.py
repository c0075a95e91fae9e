"""Logits memory: one block for the logits of successive steps."""

from __future__ import annotations

import sys

import numpy as np
import torch

from yaie.kernels.library import Library


class LogitsMemory:
    """Reusable memory for successive steps' logits. Grows, never shrinks.

    The C library returns large freed blocks to the system, and each step would wait for zeroed
    pages. The memory plan bounds a step's rows.
    """

    def __init__(self, library: Library, vocab_size: int) -> None:
        self._library = library
        self._vocab_size = vocab_size
        self._memory = np.empty((0, vocab_size), dtype=np.float32)

    def take(self, num_rows: int) -> torch.Tensor:
        """Return uninitialized [num_rows, vocab_size]; the last step's memory unless in use."""
        is_in_use = sys.getrefcount(self._memory) > 2  # the attribute and the argument
        if is_in_use or num_rows > len(self._memory):
            # A power of two: fewer sizes, fewer new blocks. Unused rows take no pages.
            rows = max(len(self._memory), 1 << (num_rows - 1).bit_length())
            memory = torch.empty((rows, self._vocab_size), dtype=torch.float32)
            self._library.prefer_huge_pages(memory.data_ptr(), memory.nbytes)
            self._memory = memory.numpy()  # its references can be counted
        return torch.from_numpy(self._memory[:num_rows])
