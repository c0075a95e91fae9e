"""One step in transformers' forward: the plan's arrays as tensors, and attention of each layer.

Built once a step; the attention hook calls it once a layer. A layer writes its new keys and values
before it attends, so rows of one step share the prefix that the step itself computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from yaie.attention.backend import AttentionBackend, PreparedStep
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.kvcache.pool import KVPool
from yaie.kvcache.quantized import QuantizedRows, spread
from yaie.models.attention_hook import LayerArguments
from yaie.models.geometry import layer_of


class PooledModel(NamedTuple):
    """The attention layers of a model, and their keys and values."""

    specs: Sequence[AttentionSpec]
    pool: KVPool


class Batch:
    """The tensors of one step. Implements `LayerExecutor`."""

    def __init__(
        self,
        input_ids: torch.Tensor,
        position_ids: torch.Tensor,
        logit_rows: torch.Tensor | int,
        model: PooledModel,
        prepared: PreparedStep,
    ) -> None:
        """`logit_rows` is 0 for logits of all rows."""
        self.input_ids = input_ids[None]  # [1, rows]
        self.position_ids = position_ids[None]  # [1, rows]
        self.logit_rows = logit_rows
        self._specs = model.specs
        self._pool = model.pool
        self._prepared = prepared

    @classmethod
    def of(
        cls, plan: StepPlan, model: PooledModel, backend: AttentionBackend, device: torch.device
    ) -> Batch:
        """Return the tensors of a plan."""
        return cls(
            torch.from_numpy(plan.token_ids).to(device),
            torch.from_numpy(plan.positions).to(device),
            torch.from_numpy(plan.logit_rows).to(device),
            model,
            backend.prepare(plan, device),
        )

    def attend(
        self,
        module: torch.nn.Module,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        arguments: LayerArguments,
    ) -> torch.Tensor:
        """See `LayerExecutor.attend`; scale, window and softcap are those of the layer's spec."""
        spec = self._specs[layer_of(module)]
        pool_keys = self._pool.keys(spec.stored_layer)
        pool_values = self._pool.values(spec.stored_layer)
        if isinstance(pool_keys, QuantizedRows):
            queries, keys = spread(queries), spread(keys)
        if spec.kv_layer is None:
            self._prepared.write(
                pool_keys, pool_values, keys[0].transpose(0, 1), values[0].transpose(0, 1)
            )
        rows = queries[0].transpose(0, 1)
        return self._prepared.attend(spec, rows, pool_keys, pool_values, arguments.sinks)[None]
