"""Families with Mamba 2: Nemotron-H, Granite 4.0 and Falcon-H1. Torch-free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaie.models.files.gguf.dense_families import GRANITE_FIELDS
from yaie.models.files.gguf.family import (
    ATTENTION,
    EXPERT_FIELDS,
    FIELDS,
    FULL,
    GATE_UP,
    HEADS,
    KEY_HEADS,
    LINEAR,
    PERMUTED,
    ROUTING_BIAS,
    SIGMOID,
    Family,
    Read,
    Tensors,
    holds_any,
    largest,
    layers_by_heads,
    optional,
    width_of_head,
)
from yaie.models.files.gguf.gguf_settings import GgufSettings
from yaie.models.files.gguf.tensor_forms import Source

_SILU = {"hidden_act": "silu"}
_HAS_BIAS = {"attention_bias": holds_any("attn_q.bias")}


def _mamba(mixer: str) -> Tensors:
    """Return the tensors of a layer's mixer of this name."""
    return {
        f"{mixer}.in_proj": "ssm_in",
        f"{mixer}.conv1d.weight": Source(("ssm_conv1d.weight",), "taps"),
        f"{mixer}.conv1d.bias": "ssm_conv1d.bias",
        f"{mixer}.dt_bias": "ssm_dt.bias",
        f"{mixer}.A_log": Source(("ssm_a",), "rates", is_whole_name=True),
        f"{mixer}.D": Source(("ssm_d",), "flattened", is_whole_name=True),
        f"{mixer}.norm.weight": Source(("ssm_norm.weight",), "flattened"),
        f"{mixer}.out_proj": "ssm_out",
    }


_HAS_CONV_BIAS = holds_any("ssm_conv1d.bias")
_HAS_PROJ_BIAS = holds_any("ssm_in.bias")
_MAMBA_FIELDS: Mapping[str, str | Read] = {
    "mamba_n_heads": HEADS,
    "mamba_d_head": width_of_head,
    "mamba_n_groups": KEY_HEADS,
    "mamba_d_state": "ssm.state_size",
    "mamba_d_conv": "ssm.conv_kernel",
    "mamba_conv_bias": _HAS_CONV_BIAS,
    "mamba_proj_bias": _HAS_PROJ_BIAS,
}


def _nemotron_layers(settings: GgufSettings) -> list[str]:
    """Return the kinds: each layer is attention, an MLP, a mixture, or recurrent."""
    heads = settings.list_of("attention.head_count_kv")
    widths = settings.list_of("feed_forward_length")
    inner = "moe" if settings.get("expert_count") else "mlp"
    return [
        FULL if count else inner if width else LINEAR
        for count, width in zip(heads, widths, strict=True)
    ]


def _norm_epsilon(settings: GgufSettings) -> float:
    key = "attention.layer_norm_rms_epsilon"
    return settings.number(key if settings.get(key) else "attention.layer_norm_epsilon")


_UP_DOWN: Tensors = {"mixer.up_proj": "ffn_up", "mixer.down_proj": "ffn_down"}
NEMOTRON_H = Family(
    architecture="NemotronHForCausalLM",
    model_type="nemotron_h",
    tensors={"norm": "attn_norm"},
    by_kind={
        FULL: {name.replace("self_attn", "mixer"): each for name, each in ATTENTION.items()},
        LINEAR: _mamba("mixer"),
        "mlp": _UP_DOWN,
        "moe": {
            "mixer.gate": "ffn_gate_inp",
            "mixer.gate.e_score_correction_bias": ROUTING_BIAS,
            "mixer.experts.up_proj": "ffn_up_exps.weight",
            "mixer.experts.down_proj": "ffn_down_exps.weight",
            "mixer.shared_experts.up_proj": "ffn_up_shexp",
            "mixer.shared_experts.down_proj": "ffn_down_shexp",
            "mixer.fc1_latent_proj": "ffn_latent_down",
            "mixer.fc2_latent_proj": "ffn_latent_up",
        },
    },
    kinds="layers_block_type",
    outside={
        "model.embeddings": "token_embd",
        "model.norm_f": "output_norm",
        "lm_head": "output",
    },
    fields={
        "hidden_size": "embedding_length",
        "intermediate_size": largest("feed_forward_length"),
        "num_hidden_layers": GgufSettings.num_layers,
        "layers_block_type": _nemotron_layers,
        "num_attention_heads": largest("attention.head_count", least=1),
        "num_key_value_heads": largest("attention.head_count_kv"),
        "head_dim": GgufSettings.head_dim,
        "max_position_embeddings": "context_length",
        "layer_norm_epsilon": _norm_epsilon,
        "attention_bias": holds_any("attn_q.bias"),
        "mlp_bias": holds_any("ffn_up.bias"),
        "use_bias": _HAS_PROJ_BIAS,
        "mamba_proj_bias": _HAS_PROJ_BIAS,
        "use_conv_bias": _HAS_CONV_BIAS,
        "mamba_num_heads": HEADS,
        "mamba_head_dim": width_of_head,
        "n_groups": KEY_HEADS,
        "ssm_state_size": "ssm.state_size",
        "conv_kernel": "ssm.conv_kernel",
    },
    constants={"mlp_hidden_act": "relu2", "mamba_hidden_act": "silu"},
)
NEMOTRON_H_MOE = Family(
    architecture=NEMOTRON_H.architecture,
    model_type=NEMOTRON_H.model_type,
    tensors=NEMOTRON_H.tensors,
    by_kind=NEMOTRON_H.by_kind,
    kinds=NEMOTRON_H.kinds,
    outside=NEMOTRON_H.outside,
    fields={
        **NEMOTRON_H.fields,
        **EXPERT_FIELDS,
        "n_routed_experts": "expert_count",
        "n_shared_experts": optional("expert_shared_count", 1),
        "moe_shared_expert_intermediate_size": "expert_shared_feed_forward_length",
        "moe_latent_size": optional("moe_latent_size"),
        "routed_scaling_factor": optional("expert_weights_scale", 1.0),
        "norm_topk_prob": optional("expert_weights_norm", False),
        "n_group": optional("expert_group_count", 1),
        "topk_group": optional("expert_group_used_count", 1),
    },
    constants=NEMOTRON_H.constants,
    expected={"expert_gating_func": (0, SIGMOID)},
)


def _expansion(settings: GgufSettings) -> int:
    inner, hidden = settings.size("ssm.inner_size"), settings.size("embedding_length")
    if inner % hidden:
        settings.refuse("ssm.inner_size", f"{inner} with a hidden size of {hidden}")
    return inner // hidden


_NORMS: Tensors = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
_GRANITE_FIELDS: Mapping[str, str | Read] = {
    **GRANITE_FIELDS,
    **_MAMBA_FIELDS,
    **_HAS_BIAS,
    "num_key_value_heads": largest("attention.head_count_kv"),
    "layer_types": layers_by_heads(LINEAR),
    "mamba_expand": _expansion,
    "logits_scaling": optional("logit_scale", 1.0),
    "shared_intermediate_size": "expert_shared_feed_forward_length",
    "position_embedding_type": lambda settings: (
        "rope" if settings.get("rope.scaling.finetuned", True) else None
    ),
}
GRANITE_HYBRID = Family(
    architecture="GraniteMoeHybridForCausalLM",
    model_type="granitemoehybrid",
    tensors={
        **_NORMS,
        "shared_mlp.input_linear": Source(("ffn_gate", "ffn_up"), "joined"),
        "shared_mlp.output_linear": "ffn_down",
    },
    by_kind={FULL: PERMUTED, LINEAR: _mamba("mamba")},
    fields=_GRANITE_FIELDS,
    constants={**_SILU, "num_local_experts": 0, "num_experts_per_tok": 0},
)
GRANITE_HYBRID_MOE = Family(
    architecture=GRANITE_HYBRID.architecture,
    model_type=GRANITE_HYBRID.model_type,
    tensors={
        **_NORMS,
        "shared_mlp.input_linear": Source(("ffn_gate_shexp", "ffn_up_shexp"), "joined"),
        "shared_mlp.output_linear": "ffn_down_shexp",
        "block_sparse_moe.router": "ffn_gate_inp",
        "block_sparse_moe.experts.gate_up_proj": GATE_UP,
        "block_sparse_moe.experts.down_proj": "ffn_down_exps.weight",
    },
    by_kind=GRANITE_HYBRID.by_kind,
    fields={
        **_GRANITE_FIELDS,
        "num_local_experts": "expert_count",
        "num_experts_per_tok": "expert_used_count",
    },
    constants=_SILU,
    applies=lambda settings: settings.get("expert_count"),
)

# The converter multiplies the weights by these factors.
_FACTORS: Mapping[str, Any] = {
    **dict.fromkeys(("attention_in_multiplier", "attention_out_multiplier"), 1.0),
    **dict.fromkeys(("ssm_in_multiplier", "ssm_out_multiplier", "key_multiplier"), 1.0),
    **dict.fromkeys(("lm_head_multiplier", "embedding_multiplier"), 1.0),
    "mlp_multipliers": [1.0] * 2,
    "ssm_multipliers": [1.0] * 5,
}
FALCON_H1 = Family(
    architecture="FalconH1ForCausalLM",
    model_type="falcon_h1",
    tensors={
        **ATTENTION,
        **_mamba("mamba"),
        "input_layernorm": "attn_norm",
        "pre_ff_layernorm.weight": Source(("ffn_norm.weight",), whole="ffn_norm"),
        "feed_forward.gate_proj": "ffn_gate",
        "feed_forward.up_proj": "ffn_up",
        "feed_forward.down_proj": "ffn_down",
    },
    outside={
        "model.embed_tokens": "token_embd",
        "model.final_layernorm": "output_norm",
        "lm_head": "output",
    },
    fields={
        **FIELDS,
        **_MAMBA_FIELDS,
        **_HAS_BIAS,
        "mlp_bias": holds_any("ffn_up.bias"),
        "projectors_bias": _HAS_PROJ_BIAS,
        "mamba_d_ssm": "ssm.inner_size",
        "mamba_rms_norm": holds_any("ssm_norm.weight"),
    },
    constants={**_SILU, **_FACTORS, "mamba_norm_before_gate": False},
)
