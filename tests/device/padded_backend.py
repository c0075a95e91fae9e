"""A capturable backend in plain torch: each row's keys in a padded table of slots.

Eager steps are the reference backend's. Static steps compute the same from fixed buffers; they are
the oracle's way to a captured step, for small contexts.
"""

from __future__ import annotations

import math

import torch

from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.attention.spec import AttentionSpec
from yaie.device.packed import PackedField, Upload
from yaie.device.queue import DeviceQueue
from yaie.kvcache.int8_rows import StoredRows


class PaddedBackend(ReferenceBackend):
    """Implements `AttentionBackend` and `CapturableBackend`."""

    def __init__(self, queue: DeviceQueue, context_len: int) -> None:
        self._queue = queue
        self._context_len = context_len

    def make_static(self, num_rows: int, spare_slot: int, device: torch.device) -> PaddedStep:
        return PaddedStep(self._queue, num_rows, self._context_len, spare_slot)


class PaddedStep:
    """Implements `StaticStep`."""

    def __init__(
        self, queue: DeviceQueue, num_rows: int, context_len: int, spare_slot: int
    ) -> None:
        self._num_rows, self._context_len, self._spare_slot = num_rows, context_len, spare_slot
        rows = PackedField("int64", (num_rows,))
        fields = {"positions": rows, "written": rows}
        self._inputs = Upload(
            queue, {**fields, "slots": PackedField("int64", (num_rows, context_len))}
        )

    def holds(self, plan: StepPlan) -> bool:
        longest = int(plan.positions.max(initial=-1)) + 1
        return plan.num_rows <= self._num_rows and longest <= self._context_len

    def refill(self, plan: StepPlan) -> None:
        inputs = self._inputs.fill()
        inputs["positions"][:] = 0
        inputs["positions"][: plan.num_rows] = plan.positions
        inputs["written"][:] = self._spare_slot
        inputs["written"][plan.written_rows] = plan.slots[plan.written_rows]
        inputs["slots"][:] = self._spare_slot
        for segment in plan.segments:
            first, rows = segment.first_position, slice(segment.first_row, segment.end_row)
            slots = segment.slots[: self._context_len - first]  # later ones are hidden
            inputs["slots"][rows, first : first + len(slots)] = slots
        self._inputs.send()

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        assert isinstance(keys, torch.Tensor) and isinstance(values, torch.Tensor)
        written = self._inputs.device["written"]
        keys.index_put_((written,), new_keys.to(keys.dtype))
        values.index_put_((written,), new_values.to(values.dtype))

    def attend(
        self,
        spec: AttentionSpec,
        queries: torch.Tensor,
        keys: StoredRows,
        values: StoredRows,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        assert isinstance(keys, torch.Tensor) and isinstance(values, torch.Tensor)
        assert sinks is None and spec.softcap is None
        inputs = self._inputs.device
        positions = inputs["positions"][:, None]
        key_positions = torch.arange(self._context_len, device=queries.device)
        hidden = key_positions > positions
        if spec.sliding_window is not None:
            hidden = hidden | (key_positions <= positions - spec.sliding_window)
        grouped = (queries.float() * spec.scale).unflatten(1, (spec.num_kv_heads, -1))
        read_keys = keys[inputs["slots"]].float()  # [rows, keys, kv_heads, width]
        read_values = values[inputs["slots"]].float()
        scores = torch.einsum("rhgd,rkhd->rhgk", grouped, read_keys)
        scores = scores.masked_fill(hidden[:, None, None], -math.inf)
        output = torch.einsum("rhgk,rkhd->rhgd", scores.softmax(-1), read_values)
        return output.flatten(1, 2).to(queries.dtype)
