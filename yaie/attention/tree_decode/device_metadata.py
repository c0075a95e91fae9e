"""Device metadata: a step's staging buffer on the host, its copy on the device, and views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from yaie.attention.plan import StepPlan
from yaie.attention.tree_decode.step_metadata import Capacity, MetadataLayout, Section
from yaie.attention.tree_decode.work_items import WorkItems
from yaie.device.queue import DeviceQueue, Mark


@dataclass(frozen=True, slots=True)
class TableViews:
    """One tiling's device tensors, int32: as `WorkItems`, and the number of items."""

    count: torch.Tensor
    items: torch.Tensor
    indptr: torch.Tensor
    partials: torch.Tensor


@dataclass(frozen=True, slots=True)
class MetadataViews:
    """A step's device tensors, int32."""

    num_written: torch.Tensor  # [1]
    positions: torch.Tensor  # [rows]
    written_rows: torch.Tensor
    written_slots: torch.Tensor
    slots: torch.Tensor  # all segments, concatenated
    tables: tuple[TableViews, ...]


class DeviceMetadata:
    """A backend's buffers, reused from step to step; they grow, unless fixed."""

    def __init__(self, queue: DeviceQueue, fixed: Capacity | None) -> None:
        self._queue = queue
        self._fixed = fixed
        self._layout = MetadataLayout(fixed or Capacity(0, 0, 0, 0), 0)
        self._copied: Mark | None = None
        self._allocate()

    @property
    def capacity(self) -> Capacity:
        """The largest step that fits into the present buffers."""
        return self._layout.capacity

    def load(self, plan: StepPlan, tables: Sequence[WorkItems]) -> MetadataViews:
        """Launch the copy of a step's metadata, once the last copy is complete.

        Raises `ValueError` for a step beyond the fixed capacity.
        """
        needed = Capacity.of(plan, tables)
        if self._copied is not None:
            self._copied.wait()
        if not self.capacity.holds(needed) or len(tables) != len(self._layout.tables):
            if self._fixed is not None and not self._fixed.holds(needed):
                raise ValueError(f"a step needs {needed}, but the captured size is {self._fixed}")
            capacity = self._fixed or self.capacity.grow_for(needed)
            self._layout = MetadataLayout(capacity, len(tables))
            self._allocate()
        used = self._layout.fill(self._numbers, plan, tables)
        self._queue.upload(self._buffer[:used], self._staging[:used])
        self._copied = self._queue.mark()
        return self._places

    def _allocate(self) -> None:
        size = self._layout.size
        self._staging = self._queue.host_buffer(4 * size).view(torch.int32)
        self._numbers = self._staging.numpy()
        self._buffer = torch.zeros(size, dtype=torch.int32, device=self._queue.device)
        layout, view = self._layout, self._view
        self._places = MetadataViews(
            num_written=view(layout.num_written),
            positions=view(layout.positions),
            written_rows=view(layout.written_rows),
            written_slots=view(layout.written_slots),
            slots=view(layout.slots),
            tables=tuple(
                TableViews(
                    view(table.count), view(table.items), view(table.indptr), view(table.partials)
                )
                for table in layout.tables
            ),
        )

    def _view(self, section: Section) -> torch.Tensor:
        return self._buffer[section.range]
