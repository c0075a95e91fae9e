"""Block model: builds a model whose linear layers keep the blocks of a GGUF file.

transformers creates the plain modules on the meta device and loads their tensors, decoded one by
one. Layers in blocks are replaced before; their rows are pages of the file until they are packed.
"""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import nn

from yaie.models.files.gguf.hf_weights import GgufWeights
from yaie.models.quantization.block_layout import held_kind
from yaie.models.quantization.block_weights import (
    BlockEmbedding,
    BlockWeight,
    decode_rows,
    encode_rows,
)
from yaie.models.quantization.quantized_weights import QuantizedLinear

_ROWS_AT_ONCE = 4096  # bounds the memory of float32 values between two kinds


def build_in_blocks(
    model_class: Any,
    path: Path,
    dtype: torch.dtype,
    *,
    omitted: Collection[str] = (),
    **options: Any,
) -> tuple[Any, dict[str, Any]]:
    """Return the model, and transformers' loading report.

    omitted: names of weights that the class's model lacks.
    options: passed to transformers' `from_pretrained`.
    """
    weights = GgufWeights(path)
    kept: dict[str, BlockWeight] = {}  # by name

    def make(model: Any, *arguments: Any, **settings: Any) -> None:
        model_class.__init__(model, *arguments, **settings)
        _replace_modules(model, weights, kept, dtype)

    names = {"__init__": make, "__module__": model_class.__module__}
    prepared: Any = type(model_class.__name__, (model_class,), names)
    with torch.device("meta"):
        prepared(deepcopy(options["config"]))  # to learn the names that are kept
    tensors: dict[str, Any] = {
        name: torch.empty(0, dtype=dtype) if name in kept else weights.unread(name, dtype)
        for name in weights.named
        if name not in omitted
    }
    model, report = prepared.from_pretrained(None, state_dict=tensors, dtype=dtype, **options)
    model.__class__ = model_class
    for module in model.modules():
        if isinstance(module, QuantizedLinear):
            del module.weight
    return model, report


def _replace_modules(
    model: Any, weights: GgufWeights, kept: dict[str, BlockWeight], dtype: torch.dtype
) -> None:
    """Replace a model's linear layers and embedding that stay in blocks, and note their weights."""
    head = model.get_output_embeddings()
    is_tied = bool(model.config.tie_word_embeddings)
    embedding = model.get_input_embeddings()
    of_embedding = next(f"{n}.weight" for n, m in model.named_modules() if m is embedding)
    for name, module in list(model.named_modules()):
        is_tied_head = module is head and is_tied
        key = f"{name}.weight"
        if is_tied_head and key not in weights.named:
            key = of_embedding
        if type(module) not in (nn.Linear, nn.Embedding) or key not in weights.named:
            continue
        blocks = kept.get(key) or _blocks_of(weights, key)
        if blocks is None or blocks.shape != tuple(module.weight.shape):
            continue
        kept[key] = blocks
        if type(module) is nn.Embedding:
            model.set_submodule(name, BlockEmbedding(blocks, dtype))
        else:
            linear = QuantizedLinear(blocks, module.bias, is_tied=is_tied_head)
            linear.weight = nn.Parameter(torch.empty(0, dtype=dtype), requires_grad=False)
            model.set_submodule(name, linear)


def _blocks_of(weights: GgufWeights, name: str) -> BlockWeight | None:
    """Return a weight in blocks that the kernels compute with; None for plain ones."""
    stored = weights.blocks(name)
    if stored is None or (kind := held_kind(stored.kind)) is None:
        return None
    with torch.device("cpu"):
        rows = torch.from_numpy(stored.rows)
        order = None if stored.order is None else torch.from_numpy(stored.order)
        if kind == stored.kind:
            return BlockWeight(kind, rows, order)
        parts = []
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            part = decode_rows(stored.kind, rows[first : first + _ROWS_AT_ONCE])
            parts.append(encode_rows(kind, part))
        return BlockWeight(kind, torch.cat(parts), order)
