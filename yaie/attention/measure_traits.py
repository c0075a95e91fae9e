"""Measurement of a GPU's memory speed, for the attention cost model."""

from __future__ import annotations

import logging

import torch

from yaie.attention.cost_model import DeviceTraits
from yaie.device.queue import DeviceQueue

log = logging.getLogger(__name__)

_COPY_BYTES = 256 * 1024**2  # several times a cache
_NUM_COPIES = 4  # launched together, so that the device does not wait for the host
_NUM_TRIALS = 3  # the first one may find a clock that is still low
_TERA = 1e12


def measure_traits(queue: DeviceQueue) -> DeviceTraits:
    """Return a device's traits: its bandwidth by copies, its cache as it reports.

    Takes a few milliseconds, and 512 MiB that torch can free afterwards. Without a clock or free
    memory the traits are the defaults. Launch traits always are.
    """
    default = DeviceTraits()
    bytes_per_s = _measure_copies(queue)
    if bytes_per_s is None:
        return default
    traits = DeviceTraits(
        bytes_per_s=bytes_per_s,
        cached_bytes_per_s=max(default.cached_bytes_per_s, bytes_per_s),
        cache_bytes=queue.cache_bytes() or default.cache_bytes,
    )
    log.info(
        "attention methods are chosen for a device with %.2f TB/s of memory and %d MiB of cache",
        traits.bytes_per_s / _TERA,
        traits.cache_bytes // 1024**2,
    )
    return traits


def _measure_copies(queue: DeviceQueue) -> float | None:
    """Return the bytes that copies read and write in a second; None if that is unknown."""
    if queue.device_seconds(lambda: None) is None:
        return None
    seconds: list[float] = []
    try:
        seconds = _time_copies(queue)
    except torch.OutOfMemoryError as error:
        log.warning("device memory bandwidth was not measured: %s", error)
    return 2 * _COPY_BYTES * _NUM_COPIES / min(seconds) if seconds else None


def _time_copies(queue: DeviceQueue) -> list[float]:
    source, target = (
        torch.zeros(_COPY_BYTES, dtype=torch.uint8, device=queue.device) for _ in range(2)
    )

    def copy() -> None:
        for _ in range(_NUM_COPIES):
            target.copy_(source)

    trials = [queue.device_seconds(copy) for _ in range(_NUM_TRIALS)]
    return [each for each in trials if each is not None and each > 0]
