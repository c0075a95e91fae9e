"""Attention on a CPU by the kernel library: shared keys and values are read once for all rows.

Python's part is small on purpose: the step's arrays are laid out once in `prepare`, the fields of a
layer that never change once per layer, and each layer is then one call by address. Chosen by
`yaie.attention.backend` where the library loads; the reference backend is its oracle.
"""

from __future__ import annotations

import itertools
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from yaie.attention.plan import IntArray, StepPlan
from yaie.attention.reference import ReferenceStep
from yaie.attention.spec import AttentionSpec
from yaie.kernels.library import Library
from yaie.kernels.structures import DTYPES, SEGMENT_COLUMNS, Layer, Step, Write

_DTYPES = {getattr(torch, name): number for name, number in DTYPES.items()}
_step_ids = itertools.count()


class CpuBackend:
    """The kernel library of this process, on its own threads."""

    def __init__(self, library: Library, threads: int) -> None:
        """`threads` compute, the calling one among them; the library has one pool a process."""
        self._library = library
        library.threads = threads
        self._layers: dict[int, _PoolLayer] = {}

    @property
    def name(self) -> str:
        """See `AttentionBackend.name`."""
        return "cpu"

    @property
    def library(self) -> Library:
        """The kernel library that it calls."""
        return self._library

    def prepare(self, plan: StepPlan, device: torch.device) -> CpuStep:
        """See `AttentionBackend.prepare`."""
        return CpuStep(plan, self._library, self._layers, device)


class CpuStep:
    """One step plan as the arrays that the kernels read."""

    def __init__(
        self,
        plan: StepPlan,
        library: Library,
        layers: dict[int, _PoolLayer],
        device: torch.device,
    ) -> None:
        self._plan = plan
        self._device = device
        self._library = library
        self._layers = layers
        slots, segments = _flatten(plan)
        # Kept here, because the structure holds no more than their addresses.
        self._arrays = [
            np.ascontiguousarray(array, dtype=np.int64)
            for array in (
                plan.positions,
                slots,
                segments,
                plan.written_rows,
                plan.slots[plan.written_rows],
            )
        ]
        self._step = Step(
            next(_step_ids),
            plan.num_rows,
            len(segments),
            len(plan.written_rows),
            *(array.ctypes.data for array in self._arrays),
        )

    @property
    def structure(self) -> Step:
        """The step as the library reads it; valid while this object lives."""
        return self._step

    def write(
        self,
        keys: torch.Tensor,
        values: torch.Tensor,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """See `PreparedStep.write`."""
        if new_keys.dtype is not keys.dtype or new_values.dtype is not values.dtype:
            self._in_torch.write(keys, values, new_keys, new_values)
            return
        # The names keep copies alive until the call is over.
        new_keys, new_values = _with_whole_heads(new_keys), _with_whole_heads(new_values)
        self._library.write_kv(self._step, _write(keys, new_keys), _write(values, new_values))

    def attend(
        self,
        spec: AttentionSpec,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        """See `PreparedStep.attend`."""
        dtype = queries.dtype
        if dtype is not keys.dtype or dtype is not values.dtype or dtype not in _DTYPES:
            return self._in_torch.attend(spec, queries, keys, values, sinks)
        found = self._layers.get(spec.layer)
        if found is None or not found.is_of(spec, keys, values):
            found = self._layers[spec.layer] = _PoolLayer(spec, keys, values)
        layer = found.fields
        queries = _with_whole_heads(queries)
        output = torch.empty((len(queries), spec.num_heads, spec.value_width), dtype=dtype)
        layer.queries = queries.data_ptr()
        layer.query_row_stride, layer.query_head_stride, _ = queries.stride()
        layer.output = output.data_ptr()
        if sinks is None:
            layer.sinks = None
        else:
            sinks = sinks.float().contiguous()
            layer.sinks = sinks.data_ptr()
        self._library.attention(self._step, layer)
        return output

    @cached_property
    def _in_torch(self) -> ReferenceStep:
        """For dtypes that the kernels do not know, and for mixtures."""
        return ReferenceStep(self._plan, self._device)


class _PoolLayer:
    """The fields of one layer over its part of the pool. Those of a step are filled in later."""

    def __init__(self, spec: AttentionSpec, keys: torch.Tensor, values: torch.Tensor) -> None:
        self._spec, self._keys, self._values = spec, keys, values
        self.fields = pool_layer(spec, keys, values)

    def is_of(self, spec: AttentionSpec, keys: torch.Tensor, values: torch.Tensor) -> bool:
        """Whether these are the very same objects: cheaper than comparing what is in them."""
        return self._spec is spec and self._keys is keys and self._values is values


def pool_layer(spec: AttentionSpec, keys: torch.Tensor, values: torch.Tensor) -> Layer:
    """What never changes about a layer: its shape and its part of the pool."""
    key_slot_stride, key_head_stride, _ = keys.stride()
    value_slot_stride, value_head_stride, _ = values.stride()
    return Layer(
        dtype=_DTYPES[keys.dtype],
        num_heads=spec.num_heads,
        num_kv_heads=spec.num_kv_heads,
        key_width=spec.key_width,
        value_width=spec.value_width,
        sliding_window=spec.sliding_window or 0,
        scale=spec.scale,
        softcap=spec.softcap or 0.0,
        keys=keys.data_ptr(),
        values=values.data_ptr(),
        key_slot_stride=key_slot_stride,
        key_head_stride=key_head_stride,
        value_slot_stride=value_slot_stride,
        value_head_stride=value_head_stride,
        output_row_stride=spec.num_heads * spec.value_width,
        output_head_stride=spec.value_width,
    )


def _write(pool: torch.Tensor, rows: torch.Tensor) -> Write:
    row_stride, head_stride, _ = rows.stride()
    slot_stride, pool_head_stride, _ = pool.stride()
    size = pool.element_size()
    _, heads, width = pool.shape
    return Write(
        rows.data_ptr(),
        row_stride,
        head_stride,
        pool.data_ptr(),
        slot_stride,
        pool_head_stride,
        heads,
        width * size,
        size,
    )


def _with_whole_heads(rows: torch.Tensor) -> torch.Tensor:
    """The elements of each head next to each other, as the kernels read them; rarely a copy."""
    return rows if rows.stride(2) == 1 else rows.contiguous()


def _flatten(plan: StepPlan) -> tuple[IntArray, NDArray[np.int64]]:
    """The slots of all segments, and a row of `SEGMENT_COLUMNS` for each segment."""
    segments = plan.segments
    table = np.empty((len(segments), len(SEGMENT_COLUMNS)), dtype=np.int64)
    lengths = np.fromiter((len(segment.slots) for segment in segments), np.int64, len(segments))
    table[:, 1] = lengths.cumsum()
    table[:, 0] = table[:, 1] - lengths
    for column, name in enumerate(SEGMENT_COLUMNS[2:], start=2):
        table[:, column] = [getattr(segment, name) for segment in segments]
    slots = [segment.slots for segment in segments]
    return np.concatenate(slots) if slots else np.empty(0, dtype=np.int64), table
