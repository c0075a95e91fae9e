"""The device queue protocol: all launches, copies and waits between host and device.

The host launches operations and copies; the device runs them later, in order. A copy into host
memory is complete after waiting for a later mark, and only then may the host overwrite memory that
a copy reads. On a CPU every operation completes immediately.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch


class Mark(Protocol):
    """A position in the queue."""

    def wait(self) -> None:
        """Return once the device has run everything up to here."""


class Graph(Protocol):
    """Operations captured at fixed addresses. They read and write the same tensors each time."""

    nbytes: int  # device memory that the capture took

    def replay(self) -> None:
        """Launch the operations again."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """A device's memory, in bytes."""

    used: int  # by every process
    total: int
    reserved: int  # by torch in this process, including cached blocks


class DeviceQueue(Protocol):
    """One device's queue. Used on one thread."""

    @property
    def device(self) -> torch.device:
        """The device."""

    @property
    def can_capture(self) -> bool:
        """True if `capture` works."""

    def memory(self) -> DeviceMemory | None:
        """Measure the device's own memory, if it has one."""

    def cache_bytes(self) -> int | None:
        """Return the device's largest cache size; None if it is unknown."""

    def device_seconds(self, run: Callable[[], None]) -> float | None:
        """Run operations and wait; return the device's time for them. None without a clock."""

    def host_buffer(self, nbytes: int) -> torch.Tensor:
        """Return uint8 host memory [nbytes] that copies read or write without a wait."""

    def upload(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """Launch a copy from a host buffer to the device."""

    def download(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """Launch a copy from device memory into a host buffer."""

    def mark(self) -> Mark:
        """Mark the position after everything launched so far."""

    def capture(self, program: Callable[[], None]) -> Graph:
        """Capture the operations that `program` launches, without running them or waiting.

        `program` must have run before: its first run may allocate and compile. Raises the program's
        or the capture's error; the queue is then as before.
        """


class PlainMark:
    """A mark that is always reached."""

    def wait(self) -> None:
        """Return."""


class PlainQueue:
    """A CPU's queue: copies complete immediately. Implements `DeviceQueue`."""

    can_capture = False

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def memory(self) -> None:
        """See `DeviceQueue.memory`."""

    def cache_bytes(self) -> None:
        """See `DeviceQueue.cache_bytes`."""

    def device_seconds(self, run: Callable[[], None]) -> None:
        """See `DeviceQueue.device_seconds`."""
        run()

    def host_buffer(self, nbytes: int) -> torch.Tensor:
        """See `DeviceQueue.host_buffer`."""
        return torch.empty(nbytes, dtype=torch.uint8)

    def upload(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """See `DeviceQueue.upload`."""
        target.copy_(source)

    def download(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """See `DeviceQueue.download`."""
        target.copy_(source)

    def mark(self) -> PlainMark:
        """See `DeviceQueue.mark`."""
        return PlainMark()

    def capture(self, program: Callable[[], None]) -> Graph:
        """Raise: this queue cannot capture."""
        raise NotImplementedError("a CPU has no graphs")


def make_queue(device: torch.device) -> DeviceQueue:
    """Return a device's queue."""
    if device.type == "cuda":
        from yaie.device.cuda import CudaQueue

        return CudaQueue(device)
    return PlainQueue(device)
