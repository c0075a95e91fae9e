"""`LoadedModel`: a model ready to run, with its metadata and its share of the memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from yaie.attention.spec import AttentionSpec
from yaie.models.architecture.metadata import ModelMetadata


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run, with its metadata and its share of the memory."""

    model: torch.nn.Module | None  # the ...ForCausalLM; None: restored from packed weights
    path: Path
    metadata: ModelMetadata
    device: torch.device
    max_model_len: int  # longest prompt plus completion, in tokens
    num_slots: int
    memory_bytes: int = 0  # planned: weights, activations and pool

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
        """Number of logits of a row."""
        return self.metadata.sizes.vocab


def torch_dtype(name: str) -> torch.dtype:
    """Return the dtype of a name, such as "bfloat16"."""
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def name_of(dtype: torch.dtype) -> str:
    """Return the name of a dtype."""
    return str(dtype).removeprefix("torch.")
