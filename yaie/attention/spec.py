"""What one attention layer computes: shapes, scale and which keys a row may see.

Found by the loader from the model's own first forward (`yaie.models.geometry`), read by the
backends and by the pool. Pure: no torch.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSpec:
    """One attention layer. Widths are in elements, the window in tokens."""

    layer: int  # in the order in which a forward reaches the layers
    num_heads: int
    num_kv_heads: int
    key_width: int
    value_width: int
    scale: float
    sliding_window: int | None = None  # a row sees this many keys, its own among them; None: all
    softcap: float | None = None
    has_sinks: bool = False
    kv_layer: int | None = None  # the earlier layer whose keys and values it reads; None: its own

    @property
    def stored_layer(self) -> int:
        """The layer whose place in the pool holds this layer's keys and values."""
        return self.layer if self.kv_layer is None else self.kv_layer

    @property
    def group_size(self) -> int:
        """Query heads per KV head."""
        return self.num_heads // self.num_kv_heads
