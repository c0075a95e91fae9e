"""Kernels of a few decode steps by torch's profiler: their number, and the device's idle share."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

_DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")


def trace(step: Callable[[], None], steps: int) -> dict[str, Any]:
    """Profile `steps` calls of `step` on a CUDA device and return `device_use` of them."""
    import torch

    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return device_use(events, steps)


def device_use(events: Iterable[Mapping[str, Any]], steps: int) -> dict[str, Any]:
    """Return launches a step, and the share of time in which the device runs nothing.

    events: those of a Chrome trace; times in microseconds. Parallel kernels count once.
    """
    spans = sorted(
        (float(event["ts"]), float(event["ts"]) + float(event["dur"]))
        for event in events
        if event.get("cat") in _DEVICE_CATEGORIES and "dur" in event
    )
    if not spans:
        return {"launches_per_step": 0.0, "idle_share": None}
    busy, end = 0.0, spans[0][0]
    for begin, stop in spans:
        busy += max(0.0, stop - max(begin, end))
        end = max(end, stop)
    whole = end - spans[0][0]
    return {
        "launches_per_step": round(len(spans) / steps, 1),
        "idle_share": round(1 - busy / whole, 4) if whole else 0.0,
    }
