"""One step on the device: the plan's arrays as tensors, and what a layer does with them.

Built by the model runner once a step; the attention hook calls it once a layer. Every layer
writes the new keys and values into their slots and attends afterwards, so rows of one step may
share what this very step computes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from yaie.attention.backend import AttentionBackend
from yaie.attention.plan import IntArray, StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.kvcache.pool import KVPool
from yaie.models.attention_hook import LayerArguments
from yaie.models.geometry import layer_of


class Batch:
    """The tensors of one step plan. Implements `LayerExecutor`."""

    def __init__(
        self,
        plan: StepPlan,
        specs: Sequence[AttentionSpec],
        pool: KVPool,
        backend: AttentionBackend,
        device: torch.device,
    ) -> None:
        self.input_ids = torch.from_numpy(plan.token_ids).to(device)[None]  # [1, rows]
        self.position_ids = torch.from_numpy(plan.positions).to(device)[None]  # [1, rows]
        self.logit_rows = torch.from_numpy(plan.logit_rows).to(device)
        self._specs = specs
        self._pool = pool
        self._prepared = backend.prepare(plan, device)
        # None: all rows, so nothing has to be picked out of the layer's keys and values.
        self._written_rows: torch.Tensor | None = None
        if len(plan.written_rows) < plan.num_rows:
            self._written_rows = torch.from_numpy(plan.written_rows).to(device)
        self._written_slots = _slots(plan.slots[plan.written_rows], device)

    def attend(
        self,
        module: torch.nn.Module,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        arguments: LayerArguments,
    ) -> torch.Tensor:
        """See `LayerExecutor.attend`. Scale, window and softcap are those found at load."""
        spec = self._specs[layer_of(module)]
        pool_keys = self._pool.keys(spec.stored_layer)
        pool_values = self._pool.values(spec.stored_layer)
        if spec.kv_layer is None:
            self._write(pool_keys, keys)
            self._write(pool_values, values)
        rows = queries[0].transpose(0, 1)
        return self._prepared.attend(spec, rows, pool_keys, pool_values, arguments.sinks)[None]

    def _write(self, pool: torch.Tensor, new: torch.Tensor) -> None:
        rows = new[0].transpose(0, 1)  # [rows, kv_heads, width]
        if self._written_rows is not None:
            rows = rows.index_select(0, self._written_rows)
        pool[self._written_slots] = rows


def _slots(slots: IntArray, device: torch.device) -> slice | torch.Tensor:
    """A slice where the slots are consecutive: one copy instead of a scatter."""
    if len(slots) and bool(np.all(np.diff(slots) == 1)):
        return slice(int(slots[0]), int(slots[-1]) + 1)
    return torch.from_numpy(slots).to(device)
