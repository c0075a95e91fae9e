"""Seconds of launches on a device, without what the host takes to launch them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

from yaie.device.queue import make_queue

_REPEATS = 9


def seconds_of(run: Callable[[], None], device: torch.device) -> float:
    """Return the median seconds of `run`, captured in one graph on a GPU, called on a CPU.

    `run` runs once before: that may compile.
    """
    run()
    if device.type != "cuda":
        return statistics.median(_elapsed(run) for _ in range(_REPEATS))
    graph = make_queue(device).capture(run)
    graph.replay()
    return statistics.median(_elapsed_on_card(graph.replay) for _ in range(_REPEATS))


def _elapsed(run: Callable[[], None]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _elapsed_on_card(run: Callable[[], None]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    begin.record()
    run()
    end.record()
    end.synchronize()
    milliseconds: float = begin.elapsed_time(end)
    return milliseconds / 1e3
