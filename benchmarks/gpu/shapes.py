"""Random-weight models in the full shapes of real ones, vocabulary included; written in seconds.

Every layer holds the same numbers: speed depends on shapes alone, and an 8B model is written as
fast as the disk takes it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.shapes import train_tokenizer

if TYPE_CHECKING:
    import torch

_TOKENIZER_VOCABULARY = 512  # prompts are token ids, so the tokenizer may be small
_LAYER = re.compile(r"\.layers\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class FullShape:
    """The class of a model's config, and the settings that differ from its defaults."""

    config: str
    settings: dict[str, Any]


SHAPES: dict[str, FullShape] = {
    "qwen3-0.6b": FullShape(
        "Qwen3Config",
        {
            "vocab_size": 151_936,
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 40_960,
            "tie_word_embeddings": True,
        },
    ),
    "llama-3.1-8b": FullShape(
        "LlamaConfig",
        {
            "vocab_size": 128_256,
            "hidden_size": 4096,
            "intermediate_size": 14_336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "max_position_embeddings": 131_072,
            "tie_word_embeddings": False,
        },
    ),
    "tiny": FullShape(
        "Qwen3Config",
        {
            "vocab_size": 1024,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 4096,
            "tie_word_embeddings": True,
        },
    ),
}


def write_shape(folder: Path, name: str) -> Path:
    """Write one model of `SHAPES` as a Hugging Face folder in bfloat16; keep an existing one."""
    import torch
    import transformers
    from safetensors.torch import save_file

    path = folder / name
    index = path / "model.safetensors.index.json"
    if index.is_file():
        return path
    path.mkdir(parents=True, exist_ok=True)
    shape = SHAPES[name]
    tokenizer = train_tokenizer(_TOKENIZER_VOCABULARY)
    config = getattr(transformers, shape.config)(
        **shape.settings, bos_token_id=None, eos_token_id=tokenizer.eos_token_id
    )
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    config.architectures = [type(model).__name__]
    shards: dict[str, dict[str, torch.Tensor]] = {}
    numbers: dict[tuple[int, ...], torch.Tensor] = {}
    for parameter_name, parameter in model.named_parameters():
        layer = _LAYER.search(parameter_name)
        shard = f"layer-{layer[1]}.safetensors" if layer else "rest.safetensors"
        tensor = _numbers(tuple(parameter.shape), numbers)
        shards.setdefault(shard, {})[parameter_name] = tensor
    for shard, tensors in shards.items():
        # One storage may not have two names in a file.
        save_file({key: value.clone() for key, value in tensors.items()}, path / shard)
    config.save_pretrained(path)
    tokenizer.save_pretrained(path)
    weight_map = {key: shard for shard, tensors in shards.items() for key in tensors}
    index.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}), encoding="utf-8")
    return path


def _numbers(shape: tuple[int, ...], known: dict[tuple[int, ...], torch.Tensor]) -> torch.Tensor:
    """Return ones for a norm, else random numbers: the same for every tensor of a shape."""
    import torch

    if len(shape) == 1:
        return torch.ones(shape, dtype=torch.bfloat16)
    if shape not in known:
        generator = torch.Generator().manual_seed(len(known))
        known[shape] = torch.empty(shape, dtype=torch.bfloat16).normal_(
            std=0.02, generator=generator
        )
    return known[shape]
