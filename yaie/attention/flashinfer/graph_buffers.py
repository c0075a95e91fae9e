"""Graph buffers: decode steps at fixed addresses for captured graphs, one wrapper per batch size.

Each row reads its whole path separately. A step whose rows share many keys runs as an uncaptured
cascade instead. Padding rows read and write the spare slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch

from yaie.attention.flashinfer.cascade import Groups, RowPaths, make_cascade, make_unshared
from yaie.attention.flashinfer.merge import with_sinks
from yaie.attention.flashinfer.staging import Staging
from yaie.attention.flashinfer.wrappers import FixedBuffers, LayerKind, PlannedWrapper
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.device.queue import DeviceQueue
from yaie.kvcache.int8_rows import QuantizedRows, StoredRows, store

# A captured step may read this many times the keys that a cascade reads. Beyond, the launches that
# the graph saves are worth less. An estimate: no device has measured it.
_MOST_UNSHARED = 1.25


@dataclass(frozen=True, slots=True)
class StaticShape:
    """A step's size."""

    num_rows: int
    spare_slot: int  # the last slot of the pool, which belongs to no token

    @property
    def most_keys(self) -> int:
        """Keys over all rows, padding included."""
        return int(_MOST_UNSHARED * self.spare_slot) + self.num_rows


class FlashInferStaticStep:
    """Buffers for steps up to `shape.num_rows` decode rows."""

    def __init__(
        self,
        shape: StaticShape,
        kinds: Iterable[LayerKind],
        queue: DeviceQueue,
        buffers_of: Callable[[LayerKind], tuple[torch.Tensor, torch.Tensor]],
    ) -> None:
        """`kinds`: of all layers that will attend.

        `buffers_of` returns a kind's float workspace, and int32 memory for `shape.most_keys` slots.
        Other batch sizes may share both, because steps run one after the other.
        """
        self._shape = shape
        self._staging = Staging(queue)
        self._written_slots = torch.zeros(shape.num_rows, dtype=torch.int64, device=queue.device)
        self._wrappers: dict[LayerKind, PlannedWrapper] = {}
        for kind in kinds:
            workspace, slots = buffers_of(kind)
            indptr = torch.zeros(shape.num_rows + 1, dtype=torch.int32, device=queue.device)
            fixed = FixedBuffers(indptr, slots, torch.zeros_like(indptr[1:]))
            self._wrappers[kind] = PlannedWrapper("decode", kind, workspace, queue, fixed)

    def holds(self, plan: StepPlan) -> bool:
        """Return True if all rows are decode rows that share few keys and fit into the buffers."""
        if not 0 < plan.num_rows <= self._shape.num_rows:
            return False
        num_keys = int(plan.positions.sum()) + plan.num_rows
        if num_keys > min(self._shape.spare_slot, plan.kv_tokens_read) * _MOST_UNSHARED:
            return False
        return len(RowPaths(plan).runs[0]) == plan.num_rows

    def refill(self, plan: StepPlan) -> None:
        """Launch copies that fill the buffers with a plan."""
        paths = RowPaths(plan)
        slots = np.full(self._shape.num_rows, self._shape.spare_slot, dtype=np.int64)
        slots[plan.written_rows] = plan.slots[plan.written_rows]
        self._written_slots.copy_(self._staging.send((slots,))[0].device)
        groups: dict[int | None, Groups] = {}
        for kind, wrapper in self._wrappers.items():
            window = kind.sliding_window
            if window not in groups:
                cascade = make_cascade(paths, window)
                if cascade.shared is not None:
                    cascade = make_unshared(paths, window)
                groups[window] = cascade.own.pad_to(self._shape.num_rows, self._shape.spare_slot)
            wrapper.plan(groups[window])

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """See `PreparedStep.write`; rows without new keys write the spare slot."""
        store(keys, self._written_slots, new_keys)
        store(values, self._written_slots, new_values)

    def attend(
        self,
        spec: AttentionSpec,
        queries: torch.Tensor,
        keys: StoredRows,
        values: StoredRows,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        """See `PreparedStep.attend`."""
        assert not isinstance(keys, QuantizedRows), "refused when the model was loaded"
        assert not isinstance(values, QuantizedRows)
        wrapper = self._wrappers[LayerKind.of(spec, queries.dtype, keys.dtype)]
        if sinks is None:
            return wrapper.run(queries, keys, values)
        return with_sinks(wrapper.run_partial(queries, keys, values), sinks).to(queries.dtype)
