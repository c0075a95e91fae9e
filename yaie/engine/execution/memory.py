"""Memory of an engine: its KV pool, prefaulted on a CPU, its states, and a gauge of its device."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import torch

from yaie.base.errors import NotEnoughMemory
from yaie.base.stats import EngineStats
from yaie.device.available_memory import free_bytes, is_out_of_memory, release_unused
from yaie.device.queue import DeviceMemory, make_queue
from yaie.kernels.library import Library
from yaie.kvcache.pool import KVPool, PoolLayout
from yaie.kvcache.prefault import PoolPrefault
from yaie.kvcache.state_pool import StatePool
from yaie.models.architecture.layer_shapes import pool_shapes
from yaie.models.architecture.loaded_model import LoadedModel

SPARE_SLOTS = 1
_SHARE_THAT_FITS = 0.9  # share of free memory; steps need the rest
# A measurement asks the driver, and statistics are published after each step.
INTERVAL_S = 1.0


class PoolMemory(PoolPrefault):
    """One model's pool; on a CPU in huge pages, prefaulted ahead of the slots in use.

    `states` has the states of recurrent layers, if the model has such layers.
    """

    def __init__(self, loaded: LoadedModel, kernels: Library | None, layout: PoolLayout) -> None:
        """Allocate `num_slots * kv_bytes_per_token` bytes on the model's device.

        Other devices than a CPU have one slot more, at the end: the padding of captured steps is
        written there, and the tree does not know it. Raises `NotEnoughMemory`.
        """
        on_cpu = loaded.device.type == "cpu"
        num_slots = loaded.num_slots + (0 if on_cpu else SPARE_SLOTS)
        self.pool = _allocate(loaded, num_slots, layout)
        layers = loaded.metadata.states
        self.states: StatePool | None = None
        if layers:
            self.states = StatePool(layers, loaded.num_states, loaded.device)
        if kernels is not None:
            for memory in self.pool.tensors():
                kernels.prefer_huge_pages(memory.data_ptr(), memory.nbytes)
        super().__init__(
            list(self.pool.planes()) if on_cpu else [],
            functools.partial(free_bytes, loaded.device),
        )


def _allocate(loaded: LoadedModel, num_slots: int, layout: PoolLayout) -> KVPool:
    shapes = pool_shapes(loaded.specs)
    try:
        return KVPool(shapes, num_slots, loaded.kv_dtype, loaded.device, layout)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    # Here the error and its partial pool are gone.
    release_unused(loaded.device)
    nbytes = loaded.metadata.kv_bytes_per_token
    room = int(_SHARE_THAT_FITS * free_bytes(loaded.device)) // nbytes
    raise NotEnoughMemory(
        f"a KV cache of {loaded.num_slots:,} slots of {nbytes:,} bytes could not be allocated on "
        f"{loaded.device.type}; at most --num-slots {room} would fit",
        param="num_slots",
    )


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
