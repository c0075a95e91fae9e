"""Families with experts. Torch-free."""

from __future__ import annotations

from yaie.models.files.gguf.dense_families import GRANITE_FIELDS, PHI_FIELDS
from yaie.models.files.gguf.family import (
    ATTENTION,
    EXPERT_BIAS,
    EXPERT_FIELDS,
    EXPERTS,
    FIELDS,
    GATE_UP,
    MLP,
    NORMS,
    PERMUTED,
    QK_NORMS,
    ROUTING_BIAS,
    SHARED_EXPERT,
    SHARED_EXPERTS,
    SIGMOID,
    SOFTMAX,
    Family,
    Tensors,
    holds,
    layer_types,
    optional,
    rope,
    two_ropes,
    window,
)
from yaie.models.files.gguf.tensor_forms import Source

_SILU = {"hidden_act": "silu"}
_HAS_BIAS = {"attention_bias": holds("blk.0.attn_q.bias")}
_PARTIAL = {"rope_parameters": rope(is_partial=True)}
_LOCAL = {"num_local_experts": "expert_count", "num_experts_per_tok": "expert_used_count"}
# Experts in groups and shared ones; the first layers are dense.
_GROUPED = {
    **EXPERT_FIELDS,
    "n_routed_experts": "expert_count",
    "n_shared_experts": optional("expert_shared_count", 1),
    "routed_scaling_factor": optional("expert_weights_scale", 1.0),
    "norm_topk_prob": optional("expert_weights_norm", False),
    "first_k_dense_replace": optional("leading_dense_block_count", 0),
    "n_group": optional("expert_group_count", 1),
    "topk_group": optional("expert_group_used_count", 1),
}
_BY_SIGMOID = {"expert_gating_func": (0, SIGMOID)}
_BY_SOFTMAX = {"expert_gating_func": (0, SOFTMAX)}
_BARE_BIAS: Tensors = {"mlp.e_score_correction_bias": ROUTING_BIAS}
_ROUTER: Tensors = {"mlp.router": "ffn_gate_inp"}
_EXPERTS_ALONE: Tensors = {name: each for name, each in EXPERTS.items() if name != "mlp.gate"}

MIXTRAL = Family(
    architecture="MixtralForCausalLM",
    model_type="mixtral",
    tensors={**NORMS, **PERMUTED, **EXPERTS},
    fields={**FIELDS, **_LOCAL},
    constants={**_SILU, "sliding_window": None},
    applies=lambda settings: settings.get("expert_count"),
)
QWEN2_MOE = Family(
    architecture="Qwen2MoeForCausalLM",
    model_type="qwen2_moe",
    tensors={
        **NORMS,
        **ATTENTION,
        **EXPERTS,
        **SHARED_EXPERT,
    },
    fields={
        **FIELDS,
        **EXPERT_FIELDS,
        "num_experts": "expert_count",
        "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
    },
    constants={**_SILU, "norm_topk_prob": False},
)
QWEN3_MOE = Family(
    architecture="Qwen3MoeForCausalLM",
    model_type="qwen3_moe",
    tensors={**NORMS, **ATTENTION, **QK_NORMS, **EXPERTS},
    fields={**FIELDS, **EXPERT_FIELDS, "num_experts": "expert_count"},
    constants={**_SILU, "norm_topk_prob": True},
)
OLMOE = Family(
    architecture="OlmoeForCausalLM",
    model_type="olmoe",
    tensors=QWEN3_MOE.tensors,
    fields={
        **FIELDS,
        "num_experts": "expert_count",
        "num_experts_per_tok": "expert_used_count",
        "clip_qkv": optional("attention.clamp_kqv"),
    },
    constants={**_SILU, "norm_topk_prob": False},
)
GPT_OSS = Family(
    architecture="GptOssForCausalLM",
    model_type="gpt_oss",
    tensors={
        **ATTENTION,
        **_ROUTER,
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "post_attention_norm",
        "self_attn.sinks": "attn_sinks.weight",
        "mlp.experts.gate_up_proj": Source(
            ("ffn_gate_exps.weight", "ffn_up_exps.weight"), "interleaved"
        ),
        "mlp.experts.gate_up_proj_bias": Source(
            ("ffn_gate_exps.bias", "ffn_up_exps.bias"), "interleaved"
        ),
        "mlp.experts.down_proj": Source(("ffn_down_exps.weight",), "transposed"),
        "mlp.experts.down_proj_bias": "ffn_down_exps.bias",
    },
    fields={
        **FIELDS,
        **_LOCAL,
        "intermediate_size": "expert_feed_forward_length",
        "sliding_window": window,
        "layer_types": layer_types(2),
        "rope_parameters": rope(constants={"truncate": False}),
        "attention_bias": holds("blk.0.attn_q.bias"),
    },
    constants=_SILU,
)
PHIMOE = Family(
    architecture="PhimoeForCausalLM",
    model_type="phimoe",
    tensors={**NORMS, **ATTENTION, **_ROUTER, **_EXPERTS_ALONE},
    fields={
        **PHI_FIELDS,
        **_LOCAL,
        "attention_bias": holds("blk.0.attn_q.bias"),
        "lm_head_bias": holds("output.bias"),
    },
    constants=_SILU,
)
GRANITE_MOE = Family(
    architecture="GraniteMoeForCausalLM",
    model_type="granitemoe",
    tensors={
        **NORMS,
        **PERMUTED,
        "block_sparse_moe.router": "ffn_gate_inp",
        "block_sparse_moe.experts.gate_up_proj": GATE_UP,
        "block_sparse_moe.experts.down_proj": "ffn_down_exps.weight",
    },
    fields={**GRANITE_FIELDS, **_LOCAL},
    constants=_SILU,
)
GRANITE_MOE_SHARED = Family(
    architecture="GraniteMoeSharedForCausalLM",
    model_type="granitemoeshared",
    tensors={
        **GRANITE_MOE.tensors,
        "shared_mlp.input_linear": Source(("ffn_gate_shexp", "ffn_up_shexp"), "joined"),
        "shared_mlp.output_linear": "ffn_down_shexp",
    },
    fields={
        **GRANITE_MOE.fields,
        "shared_intermediate_size": "expert_shared_feed_forward_length",
    },
    constants=_SILU,
    applies=lambda settings: settings.get("expert_shared_feed_forward_length"),
)
GLM4_MOE = Family(
    architecture="Glm4MoeForCausalLM",
    model_type="glm4_moe",
    tensors={
        **ATTENTION,
        **QK_NORMS,
        **MLP,
        **EXPERTS,
        **SHARED_EXPERTS,
        **EXPERT_BIAS,
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "post_attention_norm",
    },
    fields={
        **FIELDS,
        **_PARTIAL,
        **_GROUPED,
        **_HAS_BIAS,
        "use_qk_norm": holds("blk.0.attn_q_norm.weight"),
    },
    constants=_SILU,
    expected=_BY_SIGMOID,
)
DOTS1 = Family(
    architecture="Dots1ForCausalLM",
    model_type="dots1",
    tensors={
        **NORMS,
        **ATTENTION,
        **QK_NORMS,
        **MLP,
        **EXPERTS,
        **SHARED_EXPERTS,
        **EXPERT_BIAS,
    },
    fields={**FIELDS, **_GROUPED, **_HAS_BIAS, "sliding_window": window},
    constants=_SILU,
    expected=_BY_SIGMOID,
)
EXAONE_MOE = Family(
    architecture="ExaoneMoeForCausalLM",
    model_type="exaone_moe",
    tensors=DOTS1.tensors,
    fields={
        **FIELDS,
        **EXPERT_FIELDS,
        "num_experts": "expert_count",
        "num_shared_experts": optional("expert_shared_count", 1),
        "routed_scaling_factor": optional("expert_weights_scale", 1.0),
        "norm_topk_prob": optional("expert_weights_norm", False),
        "first_k_dense_replace": optional("leading_dense_block_count", 0),
        "n_group": optional("expert_group_count", 1),
        "topk_group": optional("expert_group_used_count", 1),
        "sliding_window": window,
        "layer_types": layer_types(4),
    },
    constants=_SILU,
    expected=_BY_SIGMOID,
)
MINIMAX_M2 = Family(
    architecture="MiniMaxM2ForCausalLM",
    model_type="minimax_m2",
    tensors={**NORMS, **ATTENTION, **QK_NORMS, **EXPERTS, **_BARE_BIAS},
    fields={
        **FIELDS,
        **_PARTIAL,
        **_LOCAL,
        "intermediate_size": "expert_feed_forward_length",
    },
    constants=_SILU,
    expected=_BY_SIGMOID,
)
ERNIE_MOE = Family(
    architecture="Ernie4_5_MoeForCausalLM",
    model_type="ernie4_5_moe",
    tensors={
        **NORMS,
        **ATTENTION,
        **MLP,
        **EXPERTS,
        **SHARED_EXPERTS,
        "mlp.gate.moe_statics.e_score_correction_bias": Source(("exp_probs_b.bias",), "row"),
    },
    fields={
        **FIELDS,
        "use_bias": holds("blk.0.attn_q.bias"),
        "moe_intermediate_size": "expert_feed_forward_length",
        "moe_num_experts": "expert_count",
        "moe_k": "expert_used_count",
        "moe_num_shared_experts": optional("expert_shared_count", 0),
        "moe_layer_start_index": optional("leading_dense_block_count", 0),
        "moe_layer_interval": optional("interleave_moe_layer_step", 1),
    },
    constants=_SILU,
    expected=_BY_SOFTMAX,
)
HUNYUAN_MOE = Family(
    architecture="HunYuanMoEV1ForCausalLM",
    model_type="hunyuan_v1_moe",
    tensors={
        **NORMS,
        **ATTENTION,
        **_EXPERTS_ALONE,
        "self_attn.query_layernorm": "attn_q_norm",
        "self_attn.key_layernorm": "attn_k_norm",
        "mlp.gate.wg": "ffn_gate_inp",
        "mlp.shared_mlp.gate_proj": "ffn_gate_shexp",
        "mlp.shared_mlp.up_proj": "ffn_up_shexp",
        "mlp.shared_mlp.down_proj": "ffn_down_shexp",
    },
    fields={
        **FIELDS,
        **_HAS_BIAS,
        "intermediate_size": "expert_feed_forward_length",
        "num_experts": "expert_count",
        "moe_topk": "expert_used_count",
    },
    constants=_SILU,
    expected={**_BY_SOFTMAX, "expert_shared_count": (0, 1)},
)
MELLUM = Family(
    architecture="MellumForCausalLM",
    model_type="mellum",
    tensors=QWEN3_MOE.tensors,
    fields={
        **QWEN3_MOE.fields,
        "sliding_window": window,
        "layer_types": layer_types(4),
        "rope_parameters": two_ropes(None),
    },
    constants=QWEN3_MOE.constants,
)
HY_V3 = Family(
    architecture="HYV3ForCausalLM",
    model_type="hy_v3",
    tensors={
        **NORMS,
        **ATTENTION,
        **QK_NORMS,
        **MLP,
        **EXPERTS,
        **SHARED_EXPERTS,
        **_BARE_BIAS,
    },
    fields={
        **FIELDS,
        **EXPERT_FIELDS,
        "num_experts": "expert_count",
        "num_shared_experts": optional("expert_shared_count", 1),
        "router_scaling_factor": optional("expert_weights_scale", 1.0),
    },
    constants=_SILU,
    expected=_BY_SIGMOID,
)
