"""Stand-in for torch's CUDA calls of a capture: streams, graphs, and the allocator's pools.

It fails as torch does. An invalid capture raises at its end, before the allocator is told, so that
the pool stays in use and no memory can be freed. Waits for the device invalidate a capture.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch


@dataclass
class FakeGraph:
    """Stand-in for `torch.cuda.CUDAGraph`: the names of the operations that it recorded."""

    cuda: FakeCuda
    operations: list[str] = field(default_factory=list)
    pool: tuple[int, int] | None = None
    error_mode: str = ""

    def capture_begin(self, pool: tuple[int, int], capture_error_mode: str = "global") -> None:
        cuda = self.cuda
        if cuda.stream == "default":
            raise RuntimeError("CUDA graphs must be captured on a non-default stream.")
        if pool in cuda.recording_pools:
            raise RuntimeError("beginAllocateToPool: already recording to mempool_id")
        cuda.recording_pools.append(pool)
        cuda.pool_users[pool] = cuda.pool_users.get(pool, 0) + 1
        self.pool, self.error_mode = pool, capture_error_mode
        cuda.capturing, cuda.is_valid = self, True

    def capture_end(self) -> None:
        cuda, self.cuda.capturing = self.cuda, None
        assert self.pool is not None
        if not cuda.is_valid:
            raise RuntimeError("CUDA error: operation failed due to a previous error")
        cuda.recording_pools.remove(self.pool)


class FakeCuda:
    """The state of the process: its current stream, its capture, and pools of graphs."""

    def __init__(self) -> None:
        self.stream = "default"
        self.capturing: FakeGraph | None = None
        self.is_valid = True
        self.recording_pools: list[tuple[int, int]] = []
        self.pool_users: dict[tuple[int, int], int] = {}
        self.eager: list[tuple[str, str]] = []  # stream and name of each operation that ran
        self.graphs: list[FakeGraph] = []
        self.reserved_bytes = 1000
        self.num_waits = 0

    def launch(self, name: str) -> None:
        """Launch an operation on the current stream."""
        if self.capturing is None:
            self.eager.append((self.stream, name))
        else:
            self.capturing.operations.append(name)

    def synchronize(self, device: object = None) -> None:
        self.num_waits += 1
        if self.capturing is not None:
            self.is_valid = False
            raise torch.AcceleratorError("operation not permitted when stream is capturing")

    def empty_cache(self) -> None:
        assert not self.recording_pools, "captures_underway.empty() INTERNAL ASSERT FAILED"

    def graph(self) -> FakeGraph:
        self.graphs.append(FakeGraph(self))
        return self.graphs[-1]

    def pool_handle(self) -> tuple[int, int]:
        return (0, 1 + len(self.pool_users))

    def end_allocation(self, device: int, pool: tuple[int, int]) -> None:
        if pool not in self.recording_pools:
            raise RuntimeError("endAllocatePool: not currently recording to mempool_id")
        self.recording_pools.remove(pool)

    def release_pool(self, device: int, pool: tuple[int, int]) -> None:
        self.pool_users[pool] -= 1

    @contextlib.contextmanager
    def on_stream(self, stream: str) -> Iterator[None]:
        before, self.stream = self.stream, stream
        try:
            yield
        finally:
            self.stream = before

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the stand-in in the place of torch's calls."""
        calls: dict[str, Any] = {
            "CUDAGraph": self.graph,
            "Stream": lambda device: "capture",
            "current_device": lambda: 0,
            "device": lambda device: contextlib.nullcontext(),
            "empty_cache": self.empty_cache,
            "graph_pool_handle": self.pool_handle,
            "memory_reserved": lambda device: self.reserved_bytes,
            "stream": self.on_stream,
            "synchronize": self.synchronize,
        }
        for name, call in calls.items():
            monkeypatch.setattr(torch.cuda, name, call)
        # Absent from torch's builds for CPUs.
        monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", self.end_allocation, raising=False)
        monkeypatch.setattr(torch._C, "_cuda_releasePool", self.release_pool, raising=False)
