"""Attention spec: a layer's shapes, scale and visible keys.

Found by the loader in the model's first forward (`yaie.models.architecture.layer_shapes`); read by
the backends and the pool. Pure and torch-free.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSpec:
    """One attention layer. Widths are in elements, the window in tokens."""

    layer: int  # in the order of the forward
    num_heads: int
    num_kv_heads: int
    key_width: int
    value_width: int
    scale: float
    sliding_window: int | None = None  # visible keys per row, including itself; None: all
    softcap: float | None = None
    has_sinks: bool = False
    kv_layer: int | None = None  # earlier layer whose keys and values are shared; None: own keys

    @property
    def stored_layer(self) -> int:
        """The pool layer with this layer's keys and values."""
        return self.layer if self.kv_layer is None else self.kv_layer

    @property
    def group_size(self) -> int:
        """Number of query heads per KV head."""
        return self.num_heads // self.num_kv_heads
