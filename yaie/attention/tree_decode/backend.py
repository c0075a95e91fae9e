"""Tree decode backend: one Triton launch for all segments, and one merge.

Layers of equal tiling share work items. One copy transfers a step's metadata.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import as_table
from yaie.attention.spec import AttentionSpec
from yaie.attention.tree_decode.device_metadata import DeviceMetadata, MetadataViews
from yaie.attention.tree_decode.launch import launch_items, launch_merge, launch_write
from yaie.attention.tree_decode.probe import probe_layers
from yaie.attention.tree_decode.step_metadata import Capacity
from yaie.attention.tree_decode.variants import Variant
from yaie.attention.tree_decode.work_items import (
    Splitting,
    Tiling,
    WorkItems,
    make_work_items,
)
from yaie.base.errors import ConfigError
from yaie.device.queue import DeviceQueue
from yaie.kvcache.int8_rows import StoredRows
from yaie.kvcache.pool import PoolLayout

LEAST_CAPABILITY = (8, 0)  # asynchronous copies, and bf16 on tensor cores
_PROGRAMS_PER_PROCESSOR = 4
# Bounds of captured steps; larger ones run eagerly.
_KEYS_BEYOND_THE_POOL = 512  # a row: slots read by several segments, and room in the table
_SPARE_ITEMS = 16
_PARTIALS_OF_A_ROW = 16
_SPARE_PARTIALS = 128
_NONE = np.empty(0, dtype=np.int64)
_EMPTY_PLAN = StepPlan(_NONE, _NONE, _NONE, _NONE, _NONE, (), 0, 0)
_PROGRAMS_ON_A_CPU = 16  # where kernels are interpreted


class TreeDecodeBackend:
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
        self._static: TreeDecodeBackend | None = None  # the buffers of captured steps
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
        """See `AttentionBackend.open_layers`. On a GPU each kernel is compiled and run once."""
        if device.type == "cuda" and torch.cuda.get_device_capability(device) < LEAST_CAPABILITY:
            least = ".".join(map(str, LEAST_CAPABILITY))
            raise ConfigError(
                f"the Triton kernels need a GPU of compute capability {least} or newer; "
                f"use attention_backend='reference'",
                param="attention_backend",
            )
        if device.type == "cuda":
            unused = TreeDecodeBackend(self._queue, splitting=self._splitting)
            probe_layers(unused, specs, dtype, kv_dtype, device)
        for spec in specs:
            self.table_of(Variant.of(spec, dtype.itemsize).tiling(spec))

    def prepare(self, plan: StepPlan, device: torch.device) -> TreeDecodeStep:
        """See `AttentionBackend.prepare`.

        Raises `ValueError` for a step beyond a fixed capacity.
        """
        return TreeDecodeStep(self, plan)

    def make_static(
        self, num_rows: int, spare_slot: int, device: torch.device
    ) -> StaticTreeDecodeStep:
        """See `CapturableBackend.make_static`. Steps of all sizes share the largest step's buffers.

        They run one after the other. The spare slot is left alone: padding rows write nothing.
        """
        limits = self._limits_of(num_rows, spare_slot)
        if self._static is None or not self._static.holds(limits):
            self._static = TreeDecodeBackend(
                self._queue, splitting=self._splitting, capacity=limits
            )
            self._static._tilings = self._tilings
        return StaticTreeDecodeStep(self._static, limits)

    def _limits_of(self, num_rows: int, spare_slot: int) -> Capacity:
        heads = min((tiling.num_kv_heads for tiling in self._tilings), default=1)
        return Capacity(
            rows=num_rows,
            keys=spare_slot + num_rows * _KEYS_BEYOND_THE_POOL,
            items=self._splitting.target_programs // heads + 2 * num_rows + _SPARE_ITEMS,
            partials=_PARTIALS_OF_A_ROW * num_rows + _SPARE_PARTIALS,
        )

    def holds(self, limits: Capacity) -> bool:
        """Return True if a fixed capacity is at least as large."""
        return self._capacity is not None and self._capacity.holds(limits)

    def table_of(self, tiling: Tiling) -> int:
        """Return the index of a tiling over all steps; a new tiling takes the next index."""
        return self._tilings.setdefault(tiling, len(self._tilings))

    def cut(self, plan: StepPlan) -> list[WorkItems]:
        """Return a step's items, for all known tilings."""
        segments = as_table(plan.segments)
        return [
            make_work_items(segments, plan.positions, tiling, self._splitting)
            for tiling in self._tilings
        ]

    def load(self, plan: StepPlan, tables: list[WorkItems]) -> MetadataViews:
        """Copy a step's metadata to the device."""
        return self._metadata.load(plan, tables)

    def partials(self, count: int, spec: AttentionSpec) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and log-sum-exp memory for `count` partials; float32, flat."""
        outputs = count * spec.num_heads * spec.value_width
        size = outputs + count * spec.num_heads
        if len(self._workspace) < size:
            self._workspace = torch.empty(size, dtype=torch.float32, device=self._queue.device)
        return self._workspace[:outputs], self._workspace[outputs:size]


class TreeDecodeStep:
    """One step: its metadata on the device, valid until the backend prepares the next."""

    def __init__(
        self, backend: TreeDecodeBackend, plan: StepPlan, limits: Capacity | None = None
    ) -> None:
        """With `limits`, grids are sized for the largest step."""
        self._backend = backend
        self._limits = limits
        self._load(plan, backend.cut(plan))

    def _load(self, plan: StepPlan, tables: list[WorkItems]) -> None:
        self._plan, self._tables = plan, tables
        self._places = self._backend.load(plan, tables)

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """See `PreparedStep.write`."""
        fixed = self._limits
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
        """See `PreparedStep.attend`; padding rows in `queries`, after the plan's, return zeros."""
        variant = Variant.of(spec, queries.element_size())
        index = self._backend.table_of(variant.tiling(spec))
        if index >= len(self._tables):  # a layer that `open_layers` has not seen
            self._load(self._plan, self._backend.cut(self._plan))
        items, table = self._tables[index], self._places.tables[index]
        fixed = self._limits
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


class StaticTreeDecodeStep(TreeDecodeStep):
    """A step at fixed addresses, with grids for the largest plan. Implements `StaticStep`."""

    def __init__(self, backend: TreeDecodeBackend, limits: Capacity) -> None:
        self._cut: tuple[StepPlan, list[WorkItems]] | None = None  # cut by `holds`, for `refill`
        super().__init__(backend, _EMPTY_PLAN, limits)

    def holds(self, plan: StepPlan) -> bool:
        """See `StaticStep.holds`."""
        tables = self._backend.cut(plan)
        self._cut = (plan, tables)
        assert self._limits is not None
        return self._limits.holds(Capacity.of(plan, tables))

    def refill(self, plan: StepPlan) -> None:
        """See `StaticStep.refill`."""
        found = self._cut
        if found is None or found[0] is not plan:
            found = plan, self._backend.cut(plan)
        self._load(*found)


def _target_programs(device: torch.device) -> int:
    if device.type != "cuda":
        return _PROGRAMS_ON_A_CPU
    properties = torch.cuda.get_device_properties(device)
    return _PROGRAMS_PER_PROCESSOR * int(properties.multi_processor_count)
