"""A random model that answers differently when any token of the prompt changes.

`tests.tiny_model` answers in loops that survive a changed token. Here attention outweighs the last
token by far, so a wrong key anywhere in a path shows in the answer.
"""

from __future__ import annotations

from pathlib import Path

VOCAB_SIZE = 128
_SCALES = {"embed": 1.0, "q_proj": 0.2, "k_proj": 0.2, "v_proj": 0.6, "o_proj": 0.6, "mlp": 0.3}


def write_chaotic_model(folder: Path) -> Path:
    """Write a Llama of two layers in float32."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
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
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = LlamaForCausalLM(config).float().eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.dim() > 1:
                    scale = next((s for part, s in _SCALES.items() if part in name), 0.3)
                    parameter.normal_(0, scale)
    model.save_pretrained(folder)
    return folder
