"""CPU attention by the kernel library: shared keys and values are read once for all rows.

Python does little on purpose: `prepare` lays out a step's arrays, a layer's constant fields are
filled in once, and each layer is one call by address. The reference backend is its oracle.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch

from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceStep
from yaie.attention.segment_table import as_table
from yaie.attention.spec import AttentionSpec
from yaie.base.errors import ConfigError
from yaie.kernels.attention_structures import (
    DTYPES,
    POOL_DTYPES,
    SEGMENT_COLUMNS,
    Layer,
    Step,
    Write,
)
from yaie.kernels.library import Library
from yaie.kvcache.int8_rows import FLOAT8_DTYPES, QuantizedRows, StoredRows, elements_of
from yaie.kvcache.pool import PoolLayout

_DTYPES = {getattr(torch, name): number for name, number in DTYPES.items()}
_POOL_DTYPES = {getattr(torch, name): number for name, number in POOL_DTYPES.items()}
_step_ids = itertools.count()


class CpuBackend:
    """Attention by this process's kernel library and its threads."""

    def __init__(self, library: Library, threads: int, *, exact: bool = False) -> None:
        """`threads` include the calling one; the library has one pool of threads a process.

        `exact` makes the result batch-invariant: it depends on a row's path alone, to the last bit.
        """
        self.exact = exact
        self._library = library
        library.threads = threads
        self._layers: dict[int, _PoolLayer] = {}

    @property
    def name(self) -> str:
        """See `AttentionBackend.name`."""
        return "cpu"

    @property
    def kernels(self) -> Library:
        """See `AttentionBackend.kernels`."""
        return self._library

    def pool_layout(self, device: torch.device) -> PoolLayout:
        """See `AttentionBackend.pool_layout`; the kernels read one head of many slots."""
        return "HND"

    def open_layers(
        self,
        specs: Sequence[AttentionSpec],
        dtype: torch.dtype,
        kv_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """See `AttentionBackend.open_layers`."""
        if kv_dtype in FLOAT8_DTYPES:
            raise ConfigError(
                "the kernel library does not support kv_dtype 'float8_e4m3fn'; use 'int8', or "
                "--attention-backend reference",
                param="kv_dtype",
            )

    def prepare(self, plan: StepPlan, device: torch.device) -> CpuStep:
        """See `AttentionBackend.prepare`."""
        return CpuStep(plan, self._library, self._layers, device, exact=self.exact)


class CpuStep:
    """One step plan as arrays for the kernels."""

    def __init__(
        self,
        plan: StepPlan,
        library: Library,
        layers: dict[int, _PoolLayer],
        device: torch.device,
        *,
        exact: bool = False,
    ) -> None:
        self._plan = plan
        self._device = device
        self._library = library
        self._layers = layers
        table = as_table(plan.segments)
        contiguous = np.ascontiguousarray
        positions = contiguous(plan.positions, np.int64)
        slots = contiguous(table.slots, np.int64)
        segments = contiguous(table.table[:, : len(SEGMENT_COLUMNS)], np.int64)
        written = contiguous(plan.written_rows, np.int64)
        written_slots = contiguous(plan.slots[written], np.int64)
        # Kept alive here: the structure has only their addresses.
        self._arrays = (positions, slots, segments, written, written_slots)
        # The step as the library reads it; valid while this object lives.
        self.structure = Step(
            next(_step_ids),
            len(positions),
            len(segments),
            len(written),
            positions.ctypes.data,
            slots.ctypes.data,
            segments.ctypes.data,
            written.ctypes.data,
            written_slots.ctypes.data,
            exact,
        )

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """See `PreparedStep.write`."""
        if not (_is_known(new_keys, keys) and _is_known(new_values, values)):
            self._in_torch.write(keys, values, new_keys, new_values)
            return
        # The variables keep copies alive during the call.
        new_keys, new_values = _with_whole_heads(new_keys), _with_whole_heads(new_values)
        self._library.write_kv(self.structure, _write(keys, new_keys), _write(values, new_values))

    def attend(
        self,
        spec: AttentionSpec,
        queries: torch.Tensor,
        keys: StoredRows,
        values: StoredRows,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        """See `PreparedStep.attend`."""
        if not _is_known(queries, keys):
            return self._in_torch.attend(spec, queries, keys, values, sinks)
        found = self._layers.get(spec.layer)
        if found is None or not found.is_of(spec, keys, values):
            found = self._layers[spec.layer] = _PoolLayer(spec, keys, values)
        layer = found.fields
        layer.dtype = _DTYPES[queries.dtype]
        queries = _with_whole_heads(queries)
        output = torch.empty((len(queries), spec.num_heads, spec.value_width), dtype=queries.dtype)
        layer.queries = queries.data_ptr()
        layer.query_row_stride, layer.query_head_stride, _ = queries.stride()
        layer.output = output.data_ptr()
        if sinks is None:
            layer.sinks = None
        else:
            sinks = sinks.float().contiguous()
            layer.sinks = sinks.data_ptr()
        self._library.attention(self.structure, layer)
        return output

    @cached_property
    def _in_torch(self) -> ReferenceStep:
        """The torch implementation, for dtypes unknown to the kernels."""
        return ReferenceStep(self._plan, self._device)


class _PoolLayer:
    """The fields of one layer over its pool tensors; each step fills in the rest."""

    def __init__(self, spec: AttentionSpec, keys: StoredRows, values: StoredRows) -> None:
        self._spec, self._keys, self._values = spec, keys, values
        self.fields = pool_layer(spec, keys, values)

    def is_of(self, spec: AttentionSpec, keys: StoredRows, values: StoredRows) -> bool:
        """Return True for the very same objects, which is cheaper than comparing contents."""
        return self._spec is spec and self._keys is keys and self._values is values


def pool_layer(spec: AttentionSpec, keys: StoredRows, values: StoredRows) -> Layer:
    """Return a layer's constant fields: its shape and its pool tensors."""
    key_elements, value_elements = elements_of(keys), elements_of(values)
    key_slot_stride, key_head_stride, _ = key_elements.stride()
    value_slot_stride, value_head_stride, _ = value_elements.stride()
    return Layer(
        pool_dtype=_POOL_DTYPES[key_elements.dtype],
        num_heads=spec.num_heads,
        num_kv_heads=spec.num_kv_heads,
        key_width=spec.key_width,
        value_width=spec.value_width,
        sliding_window=spec.sliding_window or 0,
        scale=spec.scale,
        softcap=spec.softcap or 0.0,
        keys=key_elements.data_ptr(),
        values=value_elements.data_ptr(),
        key_scales=_scales(keys),
        value_scales=_scales(values),
        key_slot_stride=key_slot_stride,
        key_head_stride=key_head_stride,
        value_slot_stride=value_slot_stride,
        value_head_stride=value_head_stride,
        output_row_stride=spec.num_heads * spec.value_width,
        output_head_stride=spec.value_width,
    )


def _write(pool: StoredRows, rows: torch.Tensor) -> Write:
    elements = elements_of(pool)
    row_stride, head_stride, _ = rows.stride()
    slot_stride, pool_head_stride, _ = elements.stride()
    _, heads, width = elements.shape
    return Write(
        rows=rows.data_ptr(),
        row_stride=row_stride,
        head_stride=head_stride,
        pool=elements.data_ptr(),
        slot_stride=slot_stride,
        pool_head_stride=pool_head_stride,
        scales=_scales(pool),
        num_heads=heads,
        width=width,
        rows_dtype=_DTYPES[rows.dtype],
        pool_dtype=_POOL_DTYPES[elements.dtype],
    )


def _scales(pool: StoredRows) -> int | None:
    """Return the contiguous scales' address; None for a pool without."""
    return pool.scales.data_ptr() if isinstance(pool, QuantizedRows) else None


def _is_known(rows: torch.Tensor, pool: StoredRows) -> bool:
    return rows.dtype in _DTYPES and elements_of(pool).dtype in _POOL_DTYPES


def _with_whole_heads(rows: torch.Tensor) -> torch.Tensor:
    """Make each head's elements contiguous, as the kernels read them; rarely a copy."""
    return rows if rows.stride(2) == 1 else rows.contiguous()
