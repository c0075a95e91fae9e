"""One step in transformers' forward: the plan's arrays as tensors, and attention of each layer.

Built once a step; the attention hook calls it once a layer. A layer writes its new keys and values
before it attends, so rows of one step share the prefix that the step itself computes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from yaie.attention.backend import AttentionBackend
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.kvcache.pool import KVPool
from yaie.kvcache.quantized import QuantizedRows, spread
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
