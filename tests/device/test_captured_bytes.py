"""The memory that a CUDA capture reports, over a stand-in for torch's allocator."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch

from yaie.device.cuda import CudaQueue


class _Allocator:
    """Reserved bytes: live ones and a free block, which torch gives up when a capture begins."""

    def __init__(self) -> None:
        self.live, self.cached = 1000, 300

    def reserved(self, device: object) -> int:
        return self.live + self.cached

    def empty_cache(self) -> None:
        self.cached = 0

    def graph(self, graph: object, pool: object) -> Any:
        self.empty_cache()
        return nullcontext()


def test_free_blocks_that_a_capture_gives_up_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    allocator = _Allocator()
    for name, stand_in in {
        "graph_pool_handle": lambda: (0, 1),
        "memory_reserved": allocator.reserved,
        "empty_cache": allocator.empty_cache,
        "synchronize": lambda device=None: None,
        "CUDAGraph": object,
        "graph": allocator.graph,
        "device": lambda device: nullcontext(),
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)

    def program() -> None:
        allocator.live += 40

    assert CudaQueue(torch.device("cuda")).capture(program).nbytes == 40
