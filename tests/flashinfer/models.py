"""Tiny models of the shapes that FlashInfer serves, as model folders in bfloat16."""

from __future__ import annotations

from pathlib import Path
from typing import Any

VOCAB_SIZE = 128


def write_model(
    folder: Path, name: str, *, num_heads: int = 4, num_kv_heads: int = 2, head_dim: int = 64
) -> Path:
    """Write a random model of two layers.

    "llama": plain layers. "gemma2": a layer with a window, both with a softcap. "gpt_oss": a layer
    with a window, both with sinks.
    """
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = _MAKERS[name](
            vocab_size=VOCAB_SIZE,
            hidden_size=16 * num_heads,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=num_heads,
            num_key_value_heads=num_kv_heads,
            head_dim=head_dim,
            max_position_embeddings=2048,
            bos_token_id=None,
            eos_token_id=1,
            pad_token_id=2,
            tie_word_embeddings=False,
        )
        with torch.no_grad():
            for part, parameter in model.named_parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0, 1.0 if "embed" in part else 0.15)
                elif "sinks" in part:
                    parameter.normal_(0, 1.0)
    model.to(torch.bfloat16).eval().save_pretrained(folder)
    return folder


def _llama(**fields: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**fields))


def _gemma2(**fields: Any) -> Any:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    return Gemma2ForCausalLM(Gemma2Config(**fields, sliding_window=9, query_pre_attn_scalar=64))


def _gpt_oss(**fields: Any) -> Any:
    from transformers import GptOssConfig, GptOssForCausalLM

    # All experts: a choice between them would turn on rounding.
    fields |= {"num_local_experts": 2, "num_experts_per_tok": 2}
    return GptOssForCausalLM(GptOssConfig(**fields, sliding_window=9))


_MAKERS = {"llama": _llama, "gemma2": _gemma2, "gpt_oss": _gpt_oss}
