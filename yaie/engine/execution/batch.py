"""A step's batch for transformers' forward: the plan as tensors, and each layer's attention.

Built once a step; the attention hook calls it once a layer. A layer writes its new keys and values
before it attends, so the rows of a step share a prefix that this step computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from yaie.attention.backend import AttentionBackend, PreparedStep
from yaie.attention.plan import IntArray, StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.engine.execution.state_batch import StateBatch
from yaie.kvcache.int8_rows import QuantizedRows, StoredRows, spread
from yaie.kvcache.pool import KVPool
from yaie.kvcache.state_pool import StatePool
from yaie.models.architecture.attention_hook import LayerArguments
from yaie.models.architecture.layer_shapes import layer_of
from yaie.models.architecture.mixer_hook import ChainedStates, Run
from yaie.models.fused.adapter_pools import AdapterPools
from yaie.models.fused.operations import AdaptedRows


class PooledModel(NamedTuple):
    """A model's attention layers, their keys and values, and its states."""

    specs: Sequence[AttentionSpec]
    pool: KVPool
    states: StatePool | None = None  # of recurrent layers


class RowTensors(NamedTuple):
    """A step's rows on the device; each [rows]."""

    token_ids: torch.Tensor
    positions: torch.Tensor
    row_slots: torch.Tensor  # see `row_slots`


class Batch:
    """One step's tensors. Implements `LayerExecutor` and `DecoderStep`."""

    def __init__(
        self,
        rows: RowTensors,
        logit_rows: torch.Tensor | int,
        model: PooledModel,
        prepared: PreparedStep,
        *,
        hidden_rows: torch.Tensor | None = None,
        states: StateBatch | None = None,
        adapted: AdaptedRows | None = None,
    ) -> None:
        """`logit_rows` is 0 to compute logits for all rows."""
        self.token_ids, self.positions, self.row_slots = rows
        self.logit_rows = logit_rows
        self.hidden_rows = hidden_rows
        self.adapted = adapted
        self._specs = model.specs
        self._pool = model.pool
        self._prepared = prepared
        self._states = states

    @classmethod
    def of(
        cls,
        plan: StepPlan,
        model: PooledModel,
        backend: AttentionBackend,
        device: torch.device,
        *,
        adapters: AdapterPools | None = None,
    ) -> Batch:
        """Return a plan's tensors; with `adapters`, its rows with adapters too."""
        return cls(
            RowTensors(
                torch.from_numpy(plan.token_ids).to(device),
                torch.from_numpy(plan.positions).to(device),
                torch.from_numpy(row_slots(plan)).to(device),
            ),
            torch.from_numpy(plan.logit_rows).to(device),
            model,
            backend.prepare(plan, device),
            hidden_rows=(
                torch.from_numpy(plan.hidden_rows).to(device) if len(plan.hidden_rows) else None
            ),
            states=StateBatch(plan, model.states, device) if model.states is not None else None,
            adapted=adapters.place(plan.adapters) if adapters is not None else None,
        )

    def mix(self, mixer: int, hidden: torch.Tensor, run: Run) -> torch.Tensor:
        """See `MixerExecutor.mix`."""
        assert self._states is not None, "the model has no recurrent layers"
        return self._states.mix(mixer, hidden, run)

    def chained_states(self, mixer: int) -> ChainedStates:
        """See `MixerExecutor.chained_states`."""
        assert self._states is not None, "the model has no recurrent layers"
        return self._states.chained(mixer)

    def attend(
        self,
        module: torch.nn.Module,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        arguments: LayerArguments,
    ) -> torch.Tensor:
        """See `LayerExecutor.attend`; the layer's spec has scale, window and softcap."""
        spec = self._specs[layer_of(module)]
        if spec.kv_layer is None:
            self.write(spec, keys[0].transpose(0, 1), values[0].transpose(0, 1))
        return self.attend_rows(spec, queries[0].transpose(0, 1), arguments.sinks)[None]

    def view_stored(self, spec: AttentionSpec) -> tuple[StoredRows, StoredRows]:
        """See `DecoderStep.view_stored`."""
        layer = spec.stored_layer
        return self._pool.keys(layer), self._pool.values(layer)

    def write(self, spec: AttentionSpec, keys: torch.Tensor, values: torch.Tensor) -> None:
        """See `DecoderStep.write`; an int8 pool's keys are spread first."""
        pool_keys, pool_values = self.view_stored(spec)
        if isinstance(pool_keys, QuantizedRows):
            keys = spread(keys)
        self._prepared.write(pool_keys, pool_values, keys, values)

    def attend_rows(
        self, spec: AttentionSpec, queries: torch.Tensor, sinks: torch.Tensor | None = None
    ) -> torch.Tensor:
        """See `DecoderStep.attend_rows`; queries over an int8 pool are spread as its keys are."""
        pool_keys, pool_values = self.view_stored(spec)
        if isinstance(pool_keys, QuantizedRows):
            queries = spread(queries)
        return self._prepared.attend(spec, queries, pool_keys, pool_values, sinks)


def row_slots(plan: StepPlan) -> IntArray:
    """Return each row's slot [rows]; -1: its keys and values are in the pool already."""
    slots = np.full(plan.num_rows, -1, dtype=np.int64)
    slots[plan.written_rows] = plan.slots[plan.written_rows]
    return slots
