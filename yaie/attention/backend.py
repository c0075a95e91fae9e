"""The attention backend protocols.

`open_layers` once a model. After that a backend sees the step plan alone: `prepare` once a step;
then for each layer `write`, which puts the step's new keys and values into the pool, and `attend`.
`registry` has the table of backends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch

from yaie.attention.cost_model import Method
from yaie.attention.method_selector import MethodSelector
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.kernels.library import Library
from yaie.kvcache.int8_rows import StoredRows
from yaie.kvcache.pool import PoolLayout


class PreparedStep(Protocol):
    """A step plan prepared for one backend: index tensors on the device."""

    def write(
        self,
        keys: StoredRows,
        values: StoredRows,
        new_keys: torch.Tensor,
        new_values: torch.Tensor,
    ) -> None:
        """Write new keys and values for the plan's `written_rows` into their slots, rounded.

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
        """Attend with every row over its whole path, in one layer.

        queries: [rows, num_heads, key_width], unscaled.
        keys: [num_slots, num_kv_heads, key_width], the layer's pool; values alike.
        sinks: [num_heads] extra logits in the softmax's denominator, without a value.
        Returns [rows, num_heads, value_width] in the dtype of `queries`.
        """


class AttentionBackend(Protocol):
    """An implementation of attention over segments."""

    @property
    def name(self) -> str:
        """The backend's name, as in the setting and in `EngineInfo.attention_backend`."""

    @property
    def kernels(self) -> Library | None:
        """The backend's kernel library, also for linear layers; None without one."""

    def pool_layout(self, device: torch.device) -> PoolLayout:
        """Return the layout in which the backend reads a pool on this device."""

    def open_layers(
        self,
        specs: Sequence[AttentionSpec],
        dtype: torch.dtype,
        kv_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """Load kernels for these layer shapes, before the pool is allocated.

        dtype: of queries and outputs. kv_dtype: of the pool.
        Raises `ConfigError` if the backend cannot compute them; it says what to do instead.
        """

    def prepare(self, plan: StepPlan, device: torch.device) -> PreparedStep:
        """Compute once a step what all layers share."""


class StaticStep(PreparedStep, Protocol):
    """A prepared step in buffers at fixed addresses, so that captured operations serve many plans.

    `write` and `attend` take a fixed number of rows; a plan uses the first ones. They launch the
    same operations for each plan. Rows beyond the plan's are padding: they may write into the spare
    slot only, and their results are finite and otherwise arbitrary.
    """

    def holds(self, plan: StepPlan) -> bool:
        """Return True if the buffers are large enough for a plan."""

    def refill(self, plan: StepPlan) -> None:
        """Launch copies that fill the buffers with a plan."""


@runtime_checkable
class CapturableBackend(Protocol):
    """A backend whose decode steps can be captured. It is an `AttentionBackend` too."""

    def make_static(self, num_rows: int, spare_slot: int, device: torch.device) -> StaticStep:
        """Return buffers for steps up to `num_rows` rows; `spare_slot` belongs to no token."""


@runtime_checkable
class ChoosingBackend(Protocol):
    """A backend that chooses a method for each step. It is an `AttentionBackend` too."""

    chooser: MethodSelector

    @property
    def capturable(self) -> Mapping[Method, CapturableBackend]:
        """The methods whose decode steps can be captured, each with its backend."""
