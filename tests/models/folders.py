"""Small model folders for tests of loading; made once, copied and damaged at will."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 64,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
KV_BYTES_PER_TOKEN = 2 * 1 * (16 + 16) * 4  # layers, KV heads, widths, float32


def make_llama(folder: Path, dtype: torch.dtype = torch.float32, **settings: Any) -> Path:
    """Write a loadable llama in Hugging Face layout."""
    shard = settings.pop("max_shard_size", "5GB")
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**{**SMALL, **settings})).to(dtype)
    model.save_pretrained(folder, max_shard_size=shard)
    return folder


def edit_json(path: Path, **changes: Any) -> None:
    """Change keys of a JSON file; None removes one."""
    value = json.loads(path.read_text()) if path.is_file() else {}
    value |= changes
    path.write_text(json.dumps({key: item for key, item in value.items() if item is not None}))
