"""The protocol of attention backends.

`open_layers` once a model. After that a backend sees the step plan alone: `prepare` once a step;
then for each layer `write`, which puts the step's new keys and values into the pool, and `attend`.
`choose` holds the table of backends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.kernels.library import Library
from yaie.kvcache.pool import PoolLayout
from yaie.kvcache.quantized import StoredRows


class PreparedStep(Protocol):
    """A step plan prepared for one backend: index tensors on the device."""

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """Write the new keys and values of the plan's `written_rows` into their slots, rounded.

        keys: [num_slots, num_kv_heads, key_width], the layer's pool; values alike.
        new_keys: [rows, num_kv_heads, key_width] for all rows of the step; new_values alike.
        """

    def attend(
        self,
        spec: AttentionSpec,
        queries: torch.Tensor,
        keys: StoredRows,
        values: StoredRows,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        """Attend with every row of the step over its whole path, in one layer.

        queries: [rows, num_heads, key_width], unscaled.
        keys: [num_slots, num_kv_heads, key_width], the layer's pool; values alike.
        sinks: [num_heads] extra logits in the softmax's denominator, without a value.
        Returns [rows, num_heads, value_width] in the dtype of `queries`.
        """


class AttentionBackend(Protocol):
    """One implementation of attention over segments."""

    @property
    def name(self) -> str:
        """Name of the backend, as in the setting and in `EngineInfo.attention_backend`."""

    @property
    def kernels(self) -> Library | None:
        """The kernel library behind the backend, also for linear layers; None without one."""

    def pool_layout(self, device: torch.device) -> PoolLayout:
        """Return the layout in which the backend reads a pool on this device."""

    def open_layers(
        self,
        specs: Sequence[AttentionSpec],
        dtype: torch.dtype,
        kv_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """Load what layers of these shapes need, before the pool is allocated.

        dtype: of queries and outputs. kv_dtype: of the pool.
        Raises `ConfigError` if the backend cannot compute them; it says what to do instead.
        """

    def prepare(self, plan: StepPlan, device: torch.device) -> PreparedStep:
        """Compute once a step what all layers share."""
