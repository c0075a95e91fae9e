"""The queue of a CUDA device: its current stream, events, pinned memory and CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from yaie.device.queue import DeviceMemory


class CudaGraph:
    """A captured CUDA graph. Implements `Graph`."""

    def __init__(self, graph: torch.cuda.CUDAGraph, nbytes: int) -> None:
        self._graph = graph
        self.nbytes = nbytes

    def replay(self) -> None:
        """See `Graph.replay`."""
        self._graph.replay()


class CudaQueue:
    """The current stream of a CUDA device. Implements `DeviceQueue`."""

    can_capture = True

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # Graphs run one after the other and so share the memory of their intermediate results.
        self._graph_memory: Any = None

    def memory(self) -> DeviceMemory:
        """See `DeviceQueue.memory`."""
        free, total = torch.cuda.mem_get_info(self.device)
        reserved = torch.cuda.memory_reserved(self.device)
        return DeviceMemory(used=total - free, total=total, reserved=reserved)

    def host_buffer(self, nbytes: int) -> torch.Tensor:
        """See `DeviceQueue.host_buffer`."""
        return torch.empty(nbytes, dtype=torch.uint8, pin_memory=True)

    def upload(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """See `DeviceQueue.upload`."""
        target.copy_(source, non_blocking=True)

    def download(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """See `DeviceQueue.download`."""
        target.copy_(source, non_blocking=True)

    def mark(self) -> CudaMark:
        """See `DeviceQueue.mark`."""
        return CudaMark(self.device)

    def capture(self, program: Callable[[], None]) -> CudaGraph:
        """See `DeviceQueue.capture`."""
        if self._graph_memory is None:
            self._graph_memory = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self.device):
            torch.cuda.synchronize()
            torch.cuda.empty_cache()  # a capture begins so; its free blocks are no part of it
            before = torch.cuda.memory_reserved(self.device)
            with torch.cuda.graph(graph, pool=self._graph_memory):
                program()
        return CudaGraph(graph, torch.cuda.memory_reserved(self.device) - before)


class CudaMark:
    """An event on the current stream. Implements `Mark`."""

    def __init__(self, device: torch.device) -> None:
        self._event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._event.record(torch.cuda.current_stream(device))

    def wait(self) -> None:
        """See `Mark.wait`."""
        self._event.synchronize()
