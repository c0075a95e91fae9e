"""Families with latent attention: DeepSeek, Kimi, GLM-4.7-Flash, Mistral Small 4. Torch-free."""

from __future__ import annotations

from yaie.models.files.gguf.family import (
    EXPERT_BIAS,
    EXPERT_FIELDS,
    EXPERTS,
    FIELDS,
    MLP,
    NORMS,
    SHARED_EXPERTS,
    SIGMOID,
    SOFTMAX,
    Family,
    Tensors,
    optional,
)
from yaie.models.files.gguf.gguf_settings import GgufSettings
from yaie.models.files.gguf.rope_tables import rope_table
from yaie.models.files.gguf.tensor_forms import Source

_TENSORS: Tensors = {
    **NORMS,
    **MLP,
    **EXPERTS,
    **SHARED_EXPERTS,
    "self_attn.q_proj": "attn_q",  # of models without a rank for queries
    "self_attn.q_a_proj": "attn_q_a",
    "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.q_b_proj": "attn_q_b",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
    "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "self_attn.kv_b_proj": Source(("attn_k_b", "attn_v_b"), "latent", "attn_kv_b"),
    "self_attn.o_proj": "attn_output",
}
_LOG_UNIT = 0.1  # these files hold a tenth of the multiplier


def _rotary(settings: GgufSettings) -> int:
    return settings.size("rope.dimension_count")


def _plain(settings: GgufSettings) -> int:
    """Return the width of a key without its rotary part; older files keep the keys expanded."""
    key = "attention.key_length_mla"
    whole = settings.size(key if settings.get(key) else "attention.key_length")
    if whole <= _rotary(settings):
        raise settings.damaged("rope.dimension_count", f"not a part of keys of {whole}")
    return whole - _rotary(settings)


def _values(settings: GgufSettings) -> int:
    key = "attention.value_length_mla"
    return settings.size(key if settings.get(key) else "attention.value_length")


_FIELDS = {
    **FIELDS,
    **EXPERT_FIELDS,
    "num_key_value_heads": "attention.head_count",
    "head_dim": _rotary,
    "qk_rope_head_dim": _rotary,
    "qk_nope_head_dim": _plain,
    "v_head_dim": _values,
    "q_lora_rank": optional("attention.q_lora_rank"),
    "kv_lora_rank": "attention.kv_lora_rank",
    "rope_parameters": lambda settings: rope_table(
        settings, width=_rotary(settings), log_unit=_LOG_UNIT
    ),
    "n_routed_experts": "expert_count",
    "n_shared_experts": optional("expert_shared_count", 1),
    "routed_scaling_factor": optional("expert_weights_scale", 1.0),
    "norm_topk_prob": optional("expert_weights_norm", False),
    "first_k_dense_replace": optional("leading_dense_block_count", 0),
    "n_group": optional("expert_group_count", 1),
    "topk_group": optional("expert_group_used_count", 1),
}


def _has_softmax(settings: GgufSettings) -> bool:
    """Return True for DeepSeek V2, whose older files do not say so; others have a bias."""
    stated = settings.get("expert_gating_func")
    has_bias = any(".exp_probs_b" in name for name in settings.tensors)
    return stated == SOFTMAX or (not stated and not has_bias)


DEEPSEEK2 = Family(
    architecture="DeepseekV2ForCausalLM",
    model_type="deepseek_v2",
    tensors=_TENSORS,
    fields={
        **_FIELDS,
        "topk_method": lambda settings: (
            "group_limited_greedy" if settings.count("expert_group_count", 1) > 1 else "greedy"
        ),
    },
    constants={"hidden_act": "silu"},
    expected={"expert_gating_func": (0, SOFTMAX)},
    applies=_has_softmax,
)
DEEPSEEK3 = Family(
    architecture="DeepseekV3ForCausalLM",
    model_type="deepseek_v3",
    tensors={**_TENSORS, **EXPERT_BIAS},
    fields=_FIELDS,
    constants={"hidden_act": "silu"},
    expected={"expert_gating_func": (0, SIGMOID)},
)
