"""Metadata of a model: all that is known of it without its weights, in one value.

Found when a model is loaded, and kept as JSON with its packed weights. A later start reads it
back instead of building the model. Pure and torch-free.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from yaie.attention.spec import AttentionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSizes:
    """The widths of a model, in elements, from which activations are planned."""

    hidden: int
    inner: int  # of the widest MLP
    head: int  # of the widest query head
    num_heads: int
    vocab: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMetadata:
    """Facts that depend on the model folder and the settings, and not on free memory."""

    architecture: str
    dtype: str  # "bfloat16", ...: torch's names
    kv_dtype: str  # of the pool; int8 has a scale for each head of a slot
    quantization: str | None  # of linear layers: "int8", "int4", "int4+int8" or None
    sizes: ModelSizes
    specs: tuple[AttentionSpec, ...]  # one for each attention layer
    context_len: int  # longest prompt plus completion, in tokens, if the pool has room for it
    kv_bytes_per_token: int
    planned_weight_bytes: int  # the estimate made before the weights were read
    weight_bytes: int
    num_parameters: int
    eos_token_ids: tuple[int, ...]
    default_sampling: dict[str, float | int]  # as the model's authors recommend

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> ModelMetadata:
        """Restore what `to_json` returned. Raises `KeyError` or `TypeError` for other fields."""
        restored = {
            "sizes": ModelSizes(**found["sizes"]),
            "specs": tuple(AttentionSpec(**fields) for fields in found["specs"]),
            "eos_token_ids": tuple(found["eos_token_ids"]),
        }
        return cls(**{**found, **restored})
