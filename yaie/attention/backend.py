"""The protocol that every attention implementation follows, and the choice between them.

A backend is fed by the step plan alone: `prepare` once a step, `attend` once a layer. The attention
hook has written the step's new keys and values into the pool before it calls `attend`.
"""

from __future__ import annotations

from typing import Protocol

import torch

from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.attention.spec import AttentionSpec


class PreparedStep(Protocol):
    """A step plan made ready for one backend: index tensors on the device."""

    def attend(
        self,
        spec: AttentionSpec,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        """Attention of every row of the step over its whole path, in one layer.

        queries: [rows, num_heads, key_width], unscaled.
        keys: [num_slots, num_kv_heads, key_width], the layer's pool; values alike.
        sinks: [num_heads] extra logits that take part in the softmax but have no value.
        Returns [rows, num_heads, value_width] in the dtype of `queries`.
        """


class AttentionBackend(Protocol):
    """One implementation of attention over segments."""

    @property
    def name(self) -> str:
        """What `EngineInfo.attention_backend` reports."""

    def prepare(self, plan: StepPlan, device: torch.device) -> PreparedStep:
        """Everything about the step that is the same in all layers."""


def choose_backend(device: torch.device) -> AttentionBackend:
    """The best backend for a device. So far one serves all of them."""
    del device
    return ReferenceBackend()
