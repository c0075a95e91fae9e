"""Device memory in the engine's statistics, measured at most once a second."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from yaie.base.stats import EngineStats
from yaie.device.queue import DeviceMemory, make_queue

# A measurement asks the driver, and statistics are published after each step.
INTERVAL_S = 1.0


class DeviceMemoryGauge:
    """One device's last measurement. Used on the thread that runs the device's queue."""

    def __init__(self, device: torch.device, clock: Callable[[], float] = time.monotonic) -> None:
        self._queue = make_queue(device)
        self._clock = clock
        self._measured: DeviceMemory | None = None
        self._next_s: float | None = None

    def report(self, stats: EngineStats) -> None:
        """Enter the memory into statistics, measured again after `INTERVAL_S` seconds.

        A device that uses the host's memory leaves the fields as they are.
        """
        now = self._clock()
        if self._next_s is None or now >= self._next_s:
            self._measured, self._next_s = self._queue.memory(), now + INTERVAL_S
        if self._measured is not None:
            stats.device_used_bytes = self._measured.used
            stats.device_total_bytes = self._measured.total
            stats.device_reserved_bytes = self._measured.reserved
