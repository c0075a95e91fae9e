"""A model folder as a user would have it: random weights, a real tokenizer and chat template."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.text.small_tokenizers import write_byte_level

VOCAB_SIZE = 420
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": VOCAB_SIZE,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "bos_token_id": None,
    "eos_token_id": 1,
}


def write_random_model(path: Path, seed: int = 0) -> Path:
    """A Llama whose next token depends on the whole prompt."""
    torch.manual_seed(seed)
    # Large initial weights: with small ones a random model says one token for ever.
    model = LlamaForCausalLM(LlamaConfig(**CONFIG, initializer_range=0.3))
    model.save_pretrained(path)
    write_byte_level(path)
    (path / "generation_config.json").write_text(json.dumps({"temperature": 0.0}))
    return path
