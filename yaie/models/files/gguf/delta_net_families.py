"""Families with gated delta nets: Qwen3-Next and Qwen 3.5. Torch-free."""

from __future__ import annotations

from collections.abc import Mapping

from yaie.models.files.gguf.family import (
    ATTENTION,
    EXPERT_FIELDS,
    EXPERTS,
    FIELDS,
    FULL,
    HEADS,
    KEY_HEADS,
    LINEAR,
    MLP,
    OUTSIDE_SUMMED,
    SHARED_EXPERT,
    Family,
    Read,
    Tensors,
    holds_any,
    one_more,
    rope,
    width_of_head,
)
from yaie.models.files.gguf.gguf_settings import GgufSettings
from yaie.models.files.gguf.tensor_forms import Source

_SILU = {"hidden_act": "silu"}
_HAS_BIAS = {"attention_bias": holds_any("attn_q.bias")}
_DELTA_NORMS: Tensors = {
    "input_layernorm.weight": one_more("attn_norm"),
    "post_attention_layernorm.weight": one_more("post_attention_norm"),
}
_GATED_ATTENTION: Tensors = {
    **ATTENTION,
    "self_attn.q_norm.weight": one_more("attn_q_norm"),
    "self_attn.k_norm.weight": one_more("attn_k_norm"),
}
_TILED: Tensors = {  # of Qwen 3.5
    "linear_attn.in_proj_qkv": Source(("attn_qkv",), "tiled tail"),
    "linear_attn.in_proj_z": Source(("attn_gate",), "tiled"),
    "linear_attn.in_proj_b": Source(("ssm_beta",), "tiled"),
    "linear_attn.in_proj_a": Source(("ssm_alpha",), "tiled"),
    "linear_attn.A_log": Source(("ssm_a",), "tiled rates", is_whole_name=True),
    "linear_attn.dt_bias": Source(("ssm_dt.bias",), "tiled"),
    "linear_attn.conv1d.weight": Source(("ssm_conv1d.weight",), "tiled taps"),
    "linear_attn.norm": "ssm_norm",
    "linear_attn.out_proj": Source(("ssm_out",), "tiled columns"),
}
_MIXED: Tensors = {  # of Qwen3-Next
    "linear_attn.in_proj_qkvz": Source(("attn_qkv", "attn_gate"), "by key head", "ssm_in"),
    "linear_attn.in_proj_ba": "ssm_ba",
    "linear_attn.A_log": Source(("ssm_a",), "rates", is_whole_name=True),
    "linear_attn.dt_bias": "ssm_dt.bias",
    "linear_attn.conv1d.weight": Source(("ssm_conv1d.weight",), "taps"),
    "linear_attn.norm": "ssm_norm",
    "linear_attn.out_proj": "ssm_out",
}


def _delta_layers(settings: GgufSettings) -> list[str]:
    found = settings.per_layer("attention.recurrent_layers")
    if not isinstance(found, list):
        interval = settings.size("full_attention_interval", 4)
        found = [(index + 1) % interval for index in range(settings.num_layers())]
    return [LINEAR if is_recurrent else FULL for is_recurrent in found]


def _value_heads(settings: GgufSettings) -> int:
    heads, keys = settings.size(HEADS), settings.size(KEY_HEADS)
    if heads % keys:
        raise settings.damaged(HEADS, f"not a multiple of {keys} key heads")
    return heads


def _inner(settings: GgufSettings) -> int:
    """Return the width of dense MLPs, which mixtures need not state."""
    key = "feed_forward_length"
    return settings.size(key if settings.get(key) else "expert_feed_forward_length")


_DELTA_FIELDS: Mapping[str, str | Read] = {
    **FIELDS,
    "rope_parameters": rope(is_partial=True),
    "layer_types": _delta_layers,
    "linear_conv_kernel_dim": "ssm.conv_kernel",
    "linear_key_head_dim": "ssm.state_size",
    "linear_value_head_dim": width_of_head,
    "linear_num_key_heads": KEY_HEADS,
    "linear_num_value_heads": _value_heads,
}
_DELTA_EXPERTS: Mapping[str, str | Read] = {
    **EXPERT_FIELDS,
    "intermediate_size": _inner,
    "num_experts": "expert_count",
    "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
}
QWEN35 = Family(
    architecture="Qwen3_5ForCausalLM",
    model_type="qwen3_5_text",
    tensors={**_DELTA_NORMS, **MLP},
    by_kind={FULL: _GATED_ATTENTION, LINEAR: _TILED},
    outside=OUTSIDE_SUMMED,
    fields={**_DELTA_FIELDS, **_HAS_BIAS},
    constants=_SILU,
)
QWEN35_MOE = Family(
    architecture="Qwen3_5MoeForCausalLM",
    model_type="qwen3_5_moe_text",
    tensors={**_DELTA_NORMS, **EXPERTS, **SHARED_EXPERT},
    by_kind=QWEN35.by_kind,
    outside=OUTSIDE_SUMMED,
    fields={**QWEN35.fields, **_DELTA_EXPERTS},
    constants=_SILU,
)
QWEN3_NEXT = Family(
    architecture="Qwen3NextForCausalLM",
    model_type="qwen3_next",
    tensors=QWEN35_MOE.tensors,
    by_kind={FULL: _GATED_ATTENTION, LINEAR: _MIXED},
    outside=OUTSIDE_SUMMED,
    fields=QWEN35_MOE.fields,
    constants={**_SILU, "norm_topk_prob": True},
)
