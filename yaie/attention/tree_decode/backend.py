"""Attention by the Triton kernels of tree decode: one launch for all segments, and one merge.

Layers of equal tiling share work items. The metadata of a step travels in one copy.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import as_table
from yaie.attention.spec import AttentionSpec
from yaie.attention.tree_decode.device_metadata import DeviceMetadata, Places
from yaie.attention.tree_decode.launch import launch_items, launch_merge, launch_write
from yaie.attention.tree_decode.metadata import Capacity
from yaie.attention.tree_decode.variants import Variant
from yaie.attention.tree_decode.work_items import (
    Splitting,
    Tiling,
    WorkItems,
    make_work_items,
)
from yaie.device.queue import DeviceQueue
from yaie.errors import ConfigError
from yaie.kvcache.pool import PoolLayout
from yaie.kvcache.quantized import StoredRows

LEAST_CAPABILITY = (8, 0)  # asynchronous copies, and bf16 on tensor cores
_PROGRAMS_PER_PROCESSOR = 4
_PROGRAMS_ON_A_CPU = 16  # where kernels are interpreted


class TritonBackend:
    """Tree decode on one device. One step at a time: the next `prepare` reuses the buffers."""

    def __init__(
        self,
        queue: DeviceQueue,
        *,
        splitting: Splitting | None = None,
        capacity: Capacity | None = None,
    ) -> None:
        """A `capacity` fixes addresses and grids, as captured graphs need; without one they grow.

        Before a capture, `open_layers` must have seen all layers, and one step must have run.
        """
        self._queue = queue
        self._splitting = splitting or Splitting(_target_programs(queue.device))
        self._capacity = capacity
        self._tilings: dict[Tiling, int] = {}
        self._metadata = DeviceMetadata(queue, capacity)
        self._workspace = torch.empty(0, dtype=torch.float32, device=queue.device)

    @property
    def name(self) -> str:
        """See `AttentionBackend.name`."""
        return "triton"

    @property
    def kernels(self) -> None:
        """See `AttentionBackend.kernels`; linear layers are torch's."""
        return None

    @property
    def fixed_capacity(self) -> Capacity | None:
        """The largest step, if addresses and grids are fixed."""
        return self._capacity

    def pool_layout(self, device: torch.device) -> PoolLayout:
        """See `AttentionBackend.pool_layout`; a slot's heads are neighbours."""
        return "NHD"

    def open_layers(
        self,
        specs: Sequence[AttentionSpec],
        dtype: torch.dtype,
        kv_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """See `AttentionBackend.open_layers`. Kernels are compiled at their first launch."""
        if device.type == "cuda" and torch.cuda.get_device_capability(device) < LEAST_CAPABILITY:
            least = ".".join(map(str, LEAST_CAPABILITY))
            raise ConfigError(
                f"the Triton kernels need a GPU of compute capability {least} or newer; "
                f"use attention_backend='reference'",
                param="attention_backend",
            )
        for spec in specs:
            self.table_of(Variant.of(spec, dtype.itemsize).tiling(spec))

    def prepare(self, plan: StepPlan, device: torch.device) -> TritonStep:
        """See `AttentionBackend.prepare`.

        Raises `ValueError` for a step beyond a fixed capacity.
        """
        return TritonStep(self, plan)

    def table_of(self, tiling: Tiling) -> int:
        """Return the index of a tiling among those of every step; a new one gets the next."""
        return self._tilings.setdefault(tiling, len(self._tilings))

    def load(self, plan: StepPlan) -> tuple[Places, list[WorkItems]]:
        """Cut a step into items of all known tilings, and bring its metadata to the device."""
        segments = as_table(plan.segments)
        tables = [
            make_work_items(segments, plan.positions, tiling, self._splitting)
            for tiling in self._tilings
        ]
        return self._metadata.load(plan, tables), tables

    def partials(self, count: int, spec: AttentionSpec) -> tuple[torch.Tensor, torch.Tensor]:
        """Return memory for outputs and log-sum-exps of `count` partials; float32, flat."""
        outputs = count * spec.num_heads * spec.value_width
        size = outputs + count * spec.num_heads
        if len(self._workspace) < size:
            self._workspace = torch.empty(size, dtype=torch.float32, device=self._queue.device)
        return self._workspace[:outputs], self._workspace[outputs:size]


class TritonStep:
    """One step: its metadata on the device, valid until the backend prepares the next."""

    def __init__(self, backend: TritonBackend, plan: StepPlan) -> None:
        self._backend = backend
        self._plan = plan
        self._places, self._tables = backend.load(plan)

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """See `PreparedStep.write`."""
        fixed = self._backend.fixed_capacity
        programs = fixed.rows if fixed else len(self._plan.written_rows)
        if programs:
            launch_write(
                programs=programs,
                places=self._places,
                keys=keys,
                values=values,
                new_keys=new_keys,
                new_values=new_values,
            )

    def attend(
        self,
        spec: AttentionSpec,
        queries: torch.Tensor,
        keys: StoredRows,
        values: StoredRows,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        """See `PreparedStep.attend`; padding rows of `queries`, after the plan's, give zeros."""
        variant = Variant.of(spec, queries.element_size())
        index = self._backend.table_of(variant.tiling(spec))
        if index >= len(self._tables):  # a layer that `open_layers` has not seen
            self._places, self._tables = self._backend.load(self._plan)
        items, table = self._tables[index], self._places.tables[index]
        fixed = self._backend.fixed_capacity
        programs = fixed.items if fixed else len(items.items)
        outputs, lses = self._backend.partials(
            fixed.partials if fixed else len(items.partials), spec
        )
        if programs:
            launch_items(
                variant,
                spec,
                programs=programs,
                has_wide=fixed is not None or items.has_wide,
                places=self._places,
                table=table,
                queries=queries,
                keys=keys,
                values=values,
                outputs=outputs,
                lses=lses,
            )
        merged = torch.empty(
            (len(queries), spec.num_heads, spec.value_width),
            dtype=queries.dtype,
            device=queries.device,
        )
        launch_merge(
            variant, spec, table=table, sinks=sinks, outputs=outputs, lses=lses, merged=merged
        )
        return merged


def _target_programs(device: torch.device) -> int:
    if device.type != "cuda":
        return _PROGRAMS_ON_A_CPU
    properties = torch.cuda.get_device_properties(device)
    return _PROGRAMS_PER_PROCESSOR * int(properties.multi_processor_count)
