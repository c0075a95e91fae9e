"""Gemma's families. Torch-free."""

from __future__ import annotations

from typing import Any

from yaie.models.files.gguf.family import (
    ATTENTION,
    FIELDS,
    MLP,
    Family,
    Tensors,
    layer_types,
    optional,
    two_ropes,
    window,
)
from yaie.models.files.gguf.gguf_settings import GgufSettings
from yaie.models.files.gguf.tensor_forms import Source

_GELU = {"hidden_activation": "gelu_pytorch_tanh"}


def _one_more(name: str) -> Source:
    """Return a norm whose weights Gemma takes from one; files hold the sum."""
    return Source((f"{name}.weight",), "one more")


_OUTSIDE: Tensors = {
    "model.embed_tokens": "token_embd",
    "model.norm.weight": _one_more("output_norm"),
    "lm_head": "output",
}
_NORMS = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
_SUMMED_NORMS = {f"{name}.weight": _one_more(stored) for name, stored in _NORMS.items()}
_CAPS = {"final_logit_softcapping": optional("final_logit_softcapping")}


def _query_scale(layers: int) -> Any:
    """Return a reader of the number whose root divides the scores.

    The largest model of a generation, told by its layers, has another number than its head width.
    """

    def read(settings: GgufSettings) -> int:
        if settings.num_layers() == layers:
            return settings.size("embedding_length") // settings.size("attention.head_count")
        return settings.head_dim()

    return read


GEMMA = Family(
    architecture="GemmaForCausalLM",
    model_type="gemma",
    tensors={
        **ATTENTION,
        **MLP,
        "input_layernorm.weight": _one_more("attn_norm"),
        "post_attention_layernorm.weight": _one_more("ffn_norm"),
    },
    outside=_OUTSIDE,
    fields=FIELDS,
    constants={"hidden_act": "gelu_pytorch_tanh"},
)
GEMMA2 = Family(
    architecture="Gemma2ForCausalLM",
    model_type="gemma2",
    tensors={**_SUMMED_NORMS, **ATTENTION, **MLP},
    outside=_OUTSIDE,
    fields={
        **FIELDS,
        "sliding_window": optional("attention.sliding_window", 4096),
        "layer_types": layer_types(2, always=True),
        "query_pre_attn_scalar": _query_scale(46),
        "attn_logit_softcapping": optional("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": optional("final_logit_softcapping", 30.0),
    },
    constants=_GELU,
)
GEMMA3 = Family(
    architecture="Gemma3ForCausalLM",
    model_type="gemma3_text",
    tensors={
        **_SUMMED_NORMS,
        **ATTENTION,
        **MLP,
        "self_attn.q_norm.weight": _one_more("attn_q_norm"),
        "self_attn.k_norm.weight": _one_more("attn_k_norm"),
    },
    outside=_OUTSIDE,
    fields={
        **FIELDS,
        **_CAPS,
        "sliding_window": window,
        "layer_types": layer_types(6),
        "query_pre_attn_scalar": _query_scale(62),
        "rope_parameters": two_ropes(theta=1_000_000.0),
    },
    constants=_GELU,
)
