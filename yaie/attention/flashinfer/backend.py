"""The FlashInfer backend: a cascade per sliding window, a plan per layer type, a merge."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from yaie.attention.flashinfer.cascade import Cascade, RowPaths, make_cascade, make_unshared
from yaie.attention.flashinfer.graph_buffers import FlashInferStaticStep, StaticShape
from yaie.attention.flashinfer.loading import check_kind, load_modules
from yaie.attention.flashinfer.merge import merge, with_sinks
from yaie.attention.flashinfer.staging import Staging
from yaie.attention.flashinfer.wrappers import (
    LAYOUT,
    LayerKind,
    PlannedWrapper,
    Role,
    workspace_bytes,
)
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.device.queue import DeviceQueue, make_queue
from yaie.kvcache.int8_rows import QuantizedRows, StoredRows, store
from yaie.kvcache.pool import PoolLayout


class FlashInferBackend:
    """FlashInfer on one device. Used by one thread, as its wrappers keep a step's plans."""

    def __init__(self, device: torch.device) -> None:
        self.queue: DeviceQueue = make_queue(device)
        self.rows = Staging(self.queue)
        self.kinds: dict[LayerKind, None] = {}  # layer types met so far, in order
        self._wrappers: dict[tuple[Role, LayerKind], PlannedWrapper] = {}
        self._workspace: torch.Tensor | None = None
        self._fixed_slots: dict[LayerKind, torch.Tensor] = {}  # for the largest captured step

    @property
    def name(self) -> str:
        """See `AttentionBackend.name`."""
        return "flashinfer"

    @property
    def kernels(self) -> None:
        """See `AttentionBackend.kernels`."""
        return None

    def pool_layout(self, device: torch.device) -> PoolLayout:
        """See `AttentionBackend.pool_layout`."""
        return LAYOUT

    def open_layers(
        self,
        specs: Sequence[AttentionSpec],
        dtype: torch.dtype,
        kv_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """See `AttentionBackend.open_layers`. Builds FlashInfer's modules: minutes, once."""
        for spec in specs:
            self.kinds[LayerKind.of(spec, dtype, kv_dtype)] = None
        for kind in self.kinds:
            check_kind(kind)
        load_modules(self.kinds, self.wrapper)

    def prepare(self, plan: StepPlan, device: torch.device) -> FlashInferStep:
        """See `AttentionBackend.prepare`. Plans for all layer types met before."""
        return FlashInferStep(self, plan)

    def make_unshared(self) -> UnsharedFlashInfer:
        """Return a view of the backend in which each row reads its whole path separately."""
        return UnsharedFlashInfer(self)

    def make_static(
        self, num_rows: int, spare_slot: int, device: torch.device
    ) -> FlashInferStaticStep:
        """Return capturable buffers for decode steps up to `num_rows` rows.

        `spare_slot` is the pool's last slot and belongs to no token.
        """
        shape = StaticShape(num_rows, spare_slot)

        def buffers_of(kind: LayerKind) -> tuple[torch.Tensor, torch.Tensor]:
            slots = self._fixed_slots.get(kind)
            if slots is None or len(slots) < shape.most_keys:
                slots = torch.zeros(shape.most_keys, dtype=torch.int32, device=self.queue.device)
                self._fixed_slots[kind] = slots
            return self._workspace_for(kind), slots

        return FlashInferStaticStep(shape, self.kinds, self.queue, buffers_of)

    def wrapper(self, role: Role, kind: LayerKind) -> PlannedWrapper:
        """Return the wrapper for a role and a layer type; one serves all steps."""
        found = self._wrappers.get((role, kind))
        if found is None:
            found = PlannedWrapper(role, kind, self._workspace_for(kind), self.queue)
            self._wrappers[role, kind] = found
        return found

    def _workspace_for(self, kind: LayerKind) -> torch.Tensor:
        device = self.queue.device
        size = workspace_bytes(kind, _num_multiprocessors(device))
        if self._workspace is None or len(self._workspace) < size:
            # Earlier wrappers keep the smaller buffer. FlashInfer asks for zeros at first use.
            self._workspace = torch.zeros(size, dtype=torch.uint8, device=device)
        return self._workspace


def _num_multiprocessors(device: torch.device) -> int:
    if device.type != "cuda":  # in tests, under a runtime without a device
        return 0
    count: int = torch.cuda.get_device_properties(device).multi_processor_count
    return count


class UnsharedFlashInfer:
    """FlashInfer's decode without a cascade, over the wrappers of an open `FlashInferBackend`."""

    def __init__(self, backend: FlashInferBackend) -> None:
        self._backend = backend
        self.name = backend.name
        self.kernels = None
        self.pool_layout = backend.pool_layout
        self.make_static = backend.make_static

    def open_layers(
        self,
        specs: Sequence[AttentionSpec],
        dtype: torch.dtype,
        kv_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """See `AttentionBackend.open_layers`. The underlying backend is opened separately."""

    def prepare(self, plan: StepPlan, device: torch.device) -> FlashInferStep:
        """See `AttentionBackend.prepare`."""
        return FlashInferStep(self._backend, plan, shares=False)


class FlashInferStep:
    """One step plan; its calls are planned once for each layer type."""

    def __init__(self, backend: FlashInferBackend, plan: StepPlan, *, shares: bool = True) -> None:
        self._backend = backend
        self._make_groups = make_cascade if shares else make_unshared
        self._paths = RowPaths(plan)
        self._cascades: dict[int | None, Cascade] = {}
        self._planned: dict[LayerKind, _PlannedKind] = {}
        written = plan.written_rows
        rows, slots = backend.rows.send((written, plan.slots[written]))
        self._written_rows, self._written_slots = rows.device, slots.device
        self._writes_all = len(written) == plan.num_rows
        for kind in backend.kinds:
            self._plan(kind)

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """See `PreparedStep.write`."""
        if not len(self._written_slots):
            return
        if not self._writes_all:
            new_keys, new_values = new_keys[self._written_rows], new_values[self._written_rows]
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
        kind = LayerKind.of(spec, queries.dtype, keys.dtype)
        planned = self._planned.get(kind)
        if planned is None:
            self._backend.kinds[kind] = None
            planned = self._plan(kind)
        return planned.attend(queries, keys, values, sinks)

    def _plan(self, kind: LayerKind) -> _PlannedKind:
        window = kind.sliding_window
        cascade = self._cascades.get(window)
        if cascade is None:
            cascade = self._cascades[window] = self._make_groups(self._paths, window)
        planned = self._planned[kind] = _PlannedKind(self._backend, kind, cascade)
        return planned


class _PlannedKind:
    """One step's planned calls for one layer type."""

    def __init__(self, backend: FlashInferBackend, kind: LayerKind, cascade: Cascade) -> None:
        self._cascade = cascade
        is_decode = cascade.own.is_decode and cascade.window_left < 0
        self._own = backend.wrapper("decode" if is_decode else "extend", kind)
        self._own.plan(cascade.own, cascade.window_left)
        self._shared: PlannedWrapper | None = None
        if cascade.shared is not None:
            self._shared = backend.wrapper("shared", kind)
            self._shared.plan(cascade.shared)

    def attend(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        if self._shared is None and sinks is None:
            return self._own.run(queries, keys, values)
        result = self._own.run_partial(queries, keys, values)
        if self._shared is not None:
            rows = self._shared.rows
            shared = self._shared.run_partial(queries[rows], keys, values)
            result = merge(result, shared, rows, self._cascade.level_indptr)
        output = result.output if sinks is None else with_sinks(result, sinks)
        return output.to(queries.dtype)
