"""Families with short convolutions: LFM2. Torch-free."""

from __future__ import annotations

from collections.abc import Mapping

from yaie.models.files.gguf.family import (
    EXPERT_FIELDS,
    FIELDS,
    FULL,
    GATE_UP,
    ROUTING_BIAS,
    SIGMOID,
    Family,
    Read,
    Tensors,
    holds_any,
    largest,
    layers_by_heads,
    optional,
)
from yaie.models.files.gguf.tensor_forms import Source

_CONVOLUTION: Tensors = {
    "conv.conv.weight": Source(("shortconv.conv.weight",), "taps"),
    "conv.in_proj.weight": "shortconv.in_proj.weight",
    "conv.out_proj.weight": "shortconv.out_proj.weight",
}
_LFM_ATTENTION: Tensors = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.out_proj": "attn_output",
    "self_attn.q_layernorm": "attn_q_norm",
    "self_attn.k_layernorm": "attn_k_norm",
}
_LFM_LAYER: Tensors = {
    "operator_norm": "attn_norm",
    "ffn_norm": "ffn_norm",
    "feed_forward.w1": "ffn_gate",
    "feed_forward.w3": "ffn_up",
    "feed_forward.w2": "ffn_down",
}
_LFM_FIELDS: Mapping[str, str | Read] = {
    **{name: read for name, read in FIELDS.items() if name != "rms_norm_eps"},
    "norm_eps": "attention.layer_norm_rms_epsilon",
    "num_key_value_heads": largest("attention.head_count_kv"),
    "layer_types": layers_by_heads("conv"),
    "conv_L_cache": "shortconv.l_cache",
}
LFM2 = Family(
    architecture="Lfm2ForCausalLM",
    model_type="lfm2",
    tensors=_LFM_LAYER,
    by_kind={FULL: _LFM_ATTENTION, "conv": _CONVOLUTION},
    outside={
        "model.embed_tokens": "token_embd",
        "model.embedding_norm": "token_embd_norm",
        "lm_head": "output",
    },
    fields=_LFM_FIELDS,
    constants={"conv_bias": False, "block_auto_adjust_ff_dim": False},
)
LFM2_MOE = Family(
    architecture="Lfm2MoeForCausalLM",
    model_type="lfm2_moe",
    tensors={
        **_LFM_LAYER,
        "feed_forward.gate": "ffn_gate_inp",
        "feed_forward.experts.gate_up_proj": GATE_UP,
        "feed_forward.experts.down_proj": "ffn_down_exps.weight",
        "feed_forward.expert_bias": ROUTING_BIAS,
    },
    by_kind=LFM2.by_kind,
    outside=LFM2.outside,
    fields={
        **_LFM_FIELDS,
        **EXPERT_FIELDS,
        "num_experts": "expert_count",
        "num_dense_layers": optional("leading_dense_block_count", 0),
        "routed_scaling_factor": optional("expert_weights_scale", 1.0),
        "use_expert_bias": holds_any("exp_probs_b.bias"),
    },
    constants={"conv_bias": False, "norm_topk_prob": True},
    expected={"expert_gating_func": (SIGMOID,)},
)
