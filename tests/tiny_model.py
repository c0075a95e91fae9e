"""A random model of 0.2 M parameters with a tokenizer and a chat template, as a model folder.

Every logit depends on the whole prefix and is far from a tie, so that one wrong token of context
shows in what it says. `python -m tests.tiny_model FOLDER` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.text.small_tokenizers import write_byte_level

VOCAB_SIZE = 420


def write_tiny_model(folder: Path, *, seed: int = 7, tie_word_embeddings: bool = False) -> Path:
    """Write a Qwen3 of two layers in float32."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=VOCAB_SIZE,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=2048,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=2,
        tie_word_embeddings=tie_word_embeddings,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config).float().eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0, 0.25 if "q_proj" in name or "k_proj" in name else 0.15)
    model.save_pretrained(folder)
    return write_byte_level(folder)


if __name__ == "__main__":
    write_tiny_model(Path(sys.argv[1]))
