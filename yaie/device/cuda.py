"""CUDA queue: the current stream, events, pinned memory and CUDA graphs."""

from __future__ import annotations

import contextlib
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
    """A CUDA device's current stream. Implements `DeviceQueue`."""

    can_capture = True

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # Graphs run one after the other, so they share memory for intermediate results.
        self._graph_memory: Any = None
        self._capture_stream: Any = None
        self._failed: list[torch.cuda.CUDAGraph] = []

    def memory(self) -> DeviceMemory:
        """See `DeviceQueue.memory`."""
        free, total = torch.cuda.mem_get_info(self.device)
        reserved = torch.cuda.memory_reserved(self.device)
        return DeviceMemory(used=total - free, total=total, reserved=reserved)

    def cache_bytes(self) -> int:
        """See `DeviceQueue.cache_bytes`."""
        return torch.cuda.get_device_properties(self.device).L2_cache_size

    def device_seconds(self, run: Callable[[], None]) -> float:
        """See `DeviceQueue.device_seconds`."""
        stream = torch.cuda.current_stream(self.device)
        begin, end = _make_event(), _make_event()
        begin.record(stream)
        run()
        end.record(stream)
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1000

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
        """See `DeviceQueue.capture`.

        Waits for nothing and frees nothing: the capture cannot use memory in torch's cache. Other
        threads may allocate meanwhile.

        Raises the program's error if there is one, else the error that invalidated the capture.
        Either way the current stream and later captures are as before.
        """
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self.device):
            if self._graph_memory is None:
                self._graph_memory = torch.cuda.graph_pool_handle()
            if self._capture_stream is None:
                self._capture_stream = torch.cuda.Stream(  # type: ignore[no-untyped-call]
                    self.device
                )
            before = torch.cuda.memory_reserved(self.device)
            # Not `torch.cuda.graph`, which stays on its stream if the capture is invalid.
            with torch.cuda.stream(self._capture_stream):
                try:
                    graph.capture_begin(pool=self._graph_memory, capture_error_mode="thread_local")
                    _run_and_end(graph, program)
                except BaseException:
                    self._give_up(graph)
                    raise
        return CudaGraph(graph, torch.cuda.memory_reserved(self.device) - before)

    def _give_up(self, graph: torch.cuda.CUDAGraph) -> None:
        """Abandon a failed capture's memory, so that the next capture allocates new memory.

        torch ends an invalid capture without telling its allocator, which then refuses to record
        into the same memory, and to free any.
        """
        pool, self._graph_memory = self._graph_memory, None
        index = torch.cuda.current_device()
        try:
            torch._C._cuda_endAllocateToPool(index, pool)
        except RuntimeError:
            return  # the capture was valid to its end, and the graph frees its memory
        torch._C._cuda_releasePool(index, pool)
        self._failed.append(graph)  # the allocator may still reference a function that reads it


def _run_and_end(graph: torch.cuda.CUDAGraph, program: Callable[[], None]) -> None:
    """Run a program under a capture and end the capture; the program's error comes first."""
    try:
        program()
    except BaseException:
        # An invalid capture fails again here, with an error that says less.
        with contextlib.suppress(RuntimeError):
            graph.capture_end()
        raise
    graph.capture_end()


def _make_event() -> Any:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


class CudaMark:
    """An event on the current stream. Implements `Mark`."""

    def __init__(self, device: torch.device) -> None:
        self._event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._event.record(torch.cuda.current_stream(device))

    def wait(self) -> None:
        """See `Mark.wait`."""
        self._event.synchronize()
