"""Loaded model: its metadata, its modules and its share of the memory."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from yaie.attention.spec import AttentionSpec
from yaie.kvcache.state_pool import LayerStates, StateShape


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run, with its metadata and its share of the memory."""

    model: torch.nn.Module | None  # the ...ForCausalLM; None: restored from packed weights
    path: Path
    metadata: ModelMetadata
    device: torch.device
    max_model_len: int  # longest prompt plus completion, in tokens
    num_slots: int
    memory_bytes: int = 0  # planned: weights, activations and pools
    num_states: int = 0  # slots for states of recurrent layers

    @property
    def dtype(self) -> torch.dtype:
        """The dtype that the model computes in."""
        return torch_dtype(self.metadata.dtype)

    @property
    def kv_dtype(self) -> torch.dtype:
        """The dtype of the pool; int8 has a scale for each head of a slot."""
        return torch_dtype(self.metadata.kv_dtype)

    @property
    def specs(self) -> tuple[AttentionSpec, ...]:
        """The attention layers, in order."""
        return self.metadata.specs

    @property
    def vocab_size(self) -> int:
        """Number of logits per row."""
        return self.metadata.sizes.vocab


def torch_dtype(name: str) -> torch.dtype:
    """Return the torch dtype for a name such as "bfloat16"."""
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def name_of(dtype: torch.dtype) -> str:
    """Return a dtype's name."""
    return str(dtype).removeprefix("torch.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSizes:
    """A model's widths, in elements, from which activations are planned."""

    hidden: int
    inner: int  # widest MLP
    head: int  # widest query head
    num_heads: int
    vocab: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMetadata:
    """Facts that depend on the model folder and the settings, and not on free memory."""

    architecture: str
    dtype: str  # "bfloat16", ...: torch's names
    kv_dtype: str  # pool dtype; int8 has a scale for each head of a slot
    quantization: str | None  # linear layers: "int8", "int4", "int4+int8" or None
    sizes: ModelSizes
    specs: tuple[AttentionSpec, ...]  # one for each attention layer
    context_len: int  # longest prompt plus completion, in tokens, if the pool has room for it
    kv_bytes_per_token: int
    planned_weight_bytes: int  # estimate from before the weights were read
    weight_bytes: int
    num_parameters: int
    eos_token_ids: tuple[int, ...]
    default_sampling: dict[str, float | int]  # as the model's authors recommend
    states: tuple[LayerStates, ...] = ()  # one for each recurrent layer

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
            "states": tuple(
                tuple(StateShape(**{**each, "shape": tuple(each["shape"])}) for each in layer)
                for layer in found["states"]
            ),
        }
        return cls(**{**found, **restored})
