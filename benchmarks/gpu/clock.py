"""Seconds of launches on a device, without what the host takes to launch them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

from yaie.device.queue import DeviceQueue, make_queue

_REPEATS = 9


def seconds_of(run: Callable[[], None], device: torch.device) -> float:
    """Return the median seconds of `run`, captured in one graph on a GPU, called on a CPU.

    `run` runs once before: that may compile.
    """
    run()
    queue = make_queue(device)
    if queue.can_capture:
        run = queue.capture(run).replay
        run()
    return statistics.median(_elapsed(queue, run) for _ in range(_REPEATS))


def _elapsed(queue: DeviceQueue, run: Callable[[], None]) -> float:
    """Return seconds by the clock of the device, or of the host where a device has none."""
    began = time.perf_counter()
    measured = queue.device_seconds(run)
    return time.perf_counter() - began if measured is None else measured
