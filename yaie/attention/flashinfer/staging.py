"""Staging: copies index arrays to the device through host memory that a copy owns until it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray

from yaie.device.queue import DeviceQueue, Mark

_ALIGNMENT = 64  # bytes
_LEAST_CAPACITY = 4096  # bytes


class Staged(NamedTuple):
    """One array on the host and on the device. Valid until the next `Staging.send`."""

    host: torch.Tensor
    device: torch.Tensor  # its copy, complete for all that is launched later


class Staging:
    """A buffer on each side, for arrays whose lengths change from step to step."""

    def __init__(self, queue: DeviceQueue) -> None:
        self._queue = queue
        self._sent: Mark | None = None
        self._allocate(_LEAST_CAPACITY)

    def _allocate(self, capacity: int) -> None:
        self._host = self._queue.host_buffer(capacity)
        self._on_device = torch.empty(capacity, dtype=torch.uint8, device=self._queue.device)

    def send(self, arrays: Sequence[NDArray[Any]]) -> list[Staged]:
        """Copy the arrays to the device in one transfer, once those before it are complete."""
        self.wait()
        bounds: list[tuple[int, int]] = []
        end = 0
        for array in arrays:
            start = -(-end // _ALIGNMENT) * _ALIGNMENT
            end = start + array.nbytes
            bounds.append((start, end))
        if end > len(self._host):
            self._allocate(2 * end)
        found = []
        for array, (start, stop) in zip(arrays, bounds, strict=True):
            source = torch.from_numpy(array)
            host = self._host[start:stop].view(source.dtype)
            host.copy_(source)
            found.append(Staged(host, self._on_device[start:stop].view(source.dtype)))
        self._queue.upload(self._on_device[:end], self._host[:end])
        self.mark()
        return found

    def wait(self) -> None:
        """Wait until the copies before the last mark are complete."""
        if self._sent is not None:
            self._sent.wait()
            self._sent = None

    def mark(self) -> None:
        """Note that more copies from host memory have been launched, as a plan does."""
        self._sent = self._queue.mark()
