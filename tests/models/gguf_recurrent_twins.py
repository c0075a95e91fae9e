"""The twins with recurrent layers."""

from __future__ import annotations

from typing import Any

from tests.models.gguf_twins import Twin

SCALES = {
    "attention.scale": lambda config: config.attention_multiplier,
    "embedding_scale": lambda config: config.embedding_multiplier,
    "residual_scale": lambda config: config.residual_multiplier,
    "logit_scale": lambda config: config.logits_scaling,
}
_SHARED = "moe_shared_expert_intermediate_size"
GRANITE_NAMES = (
    (r"block_sparse_moe\.experts", "mlp.experts"),
    (r"block_sparse_moe\.router\.", "block_sparse_moe.router.layer."),
    (r"shared_mlp\.output_linear", "mlp.shared_expert.down_proj"),
)
_DELTA_NET = {
    "ssm.conv_kernel": lambda config: config.linear_conv_kernel_dim,
    "ssm.state_size": lambda config: config.linear_key_head_dim,
    "ssm.group_count": lambda config: config.linear_num_key_heads,
    "ssm.time_step_rank": lambda config: config.linear_num_value_heads,
    "ssm.inner_size": lambda config: config.linear_num_value_heads * config.linear_value_head_dim,
    "full_attention_interval": 4,
}
_RECURRENT = {
    "attention.recurrent_layers": lambda config: [
        kind == "linear_attention" for kind in config.layer_types
    ]
}


def _shared_width(config: Any) -> int:
    names = ("shared_expert_intermediate_size", "shared_intermediate_size", _SHARED)
    return next(getattr(config, name) for name in names if hasattr(config, name))


_DELTA_EXPERTS = {**_DELTA_NET, **_RECURRENT, "expert_shared_feed_forward_length": _shared_width}
_SUMMED = r"(?<!linear_attn\.)norm\.weight$"
_MAMBA = {
    "ssm.conv_kernel": lambda config: config.mamba_d_conv,
    "ssm.state_size": lambda config: config.mamba_d_state,
    "ssm.group_count": lambda config: config.mamba_n_groups,
    "ssm.time_step_rank": lambda config: config.mamba_n_heads,
    "ssm.inner_size": lambda config: config.mamba_n_heads * config.mamba_d_head,
}
_FALCON_FACTORS = (
    *("attention_in_multiplier", "attention_out_multiplier", "key_multiplier", "ssm_multipliers"),
    *("ssm_in_multiplier", "ssm_out_multiplier", "lm_head_multiplier", "embedding_multiplier"),
    "mlp_multipliers",
)
_FREE = ("mamba_chunk_size", "chunk_size")  # the result is the same


def _attention_heads(config: Any) -> list[int]:
    """Return the KV heads of each layer, none for a recurrent one."""
    return [
        config.num_key_value_heads if kind in ("full_attention", "attention") else 0
        for kind in config.layer_types
    ]


def _widths(config: Any) -> list[int]:
    """Return the width of each layer's MLP or experts, none for other layers."""
    of_kind = {"mlp": config.intermediate_size, "moe": config.moe_intermediate_size}
    return [of_kind.get(kind, 0) for kind in config.layer_types]


_SOME_HEADS = {"attention.head_count_kv": _attention_heads}
_LFM2 = {
    **_SOME_HEADS,
    "shortconv.l_cache": lambda config: config.conv_L_cache,
    "attention.layer_norm_rms_epsilon": lambda config: config.norm_eps,
}
_NEMOTRON_H = {
    **_SOME_HEADS,
    "feed_forward_length": _widths,
    "attention.layer_norm_epsilon": lambda config: config.layer_norm_epsilon,
    "ssm.conv_kernel": lambda config: config.conv_kernel,
    "ssm.state_size": lambda config: config.ssm_state_size,
    "ssm.group_count": lambda config: config.n_groups,
    "ssm.time_step_rank": lambda config: config.mamba_num_heads,
    "ssm.inner_size": lambda config: config.mamba_num_heads * config.mamba_head_dim,
}
_NEMOTRON_H_NAMES = (
    (r"^model\.", "backbone."),
    (
        r"backbone\.layers\.(\d+)\.mixer\.experts\.up_proj$",
        r"model.layers.\1.mlp.experts.up_proj.weight",
    ),
    (
        r"backbone\.layers\.(\d+)\.mixer\.experts\.down_proj$",
        r"model.layers.\1.mlp.experts.down_proj",
    ),
    (r"e_score_correction_bias$", "e_score_correction.bias"),
)

RECURRENT_TWINS = (
    Twin(
        case="qwen3.5",
        architecture="qwen35",
        added=_SUMMED,
        tiled=True,
        width=4,
        keys={**_DELTA_NET, **_RECURRENT, "rope.dimension_sections": [11, 11, 10, 0]},
    ),
    Twin(
        case="qwen3.5",
        architecture="qwen35",
        settings={"linear_num_key_heads": 4},
        added=_SUMMED,
        width=4,
        keys=_DELTA_NET,  # without the kinds of layers
    ),
    Twin(
        case="qwen3.5-moe",
        architecture="qwen35moe",
        added=_SUMMED,
        tiled=True,
        width=4,
        keys=_DELTA_EXPERTS,
    ),
    Twin(
        case="qwen3-next",
        architecture="qwen3next",
        settings={"norm_topk_prob": True},
        added=_SUMMED,
        width=4,
        keys=_DELTA_EXPERTS,
    ),
    Twin(
        case="lfm2",
        architecture="lfm2",
        settings={"block_auto_adjust_ff_dim": False},
        keys=_LFM2,
    ),
    Twin(
        case="lfm2-moe",
        architecture="lfm2moe",
        keys={
            **_LFM2,
            "leading_dense_block_count": lambda config: config.num_dense_layers,
            "expert_gating_func": 2,
        },
        names=((r"feed_forward\.experts", "mlp.experts"), (r"expert_bias$", "expert_bias.bias")),
    ),
    Twin(
        case="nemotron-h",
        architecture="nemotron_h",
        settings={"hybrid_override_pattern": "M-*M-"},
        keys={**_NEMOTRON_H, "expert_count": None, "expert_used_count": None},
        names=_NEMOTRON_H_NAMES,
        unlike=(*_FREE, *("n_routed_experts", "moe_intermediate_size"), _SHARED),
    ),
    Twin(
        case="nemotron-h",
        architecture="nemotron_h_moe",
        settings={"hybrid_override_pattern": "ME*ME", "intermediate_size": 32},
        keys={
            **_NEMOTRON_H,
            "expert_shared_count": 1,
            "expert_shared_feed_forward_length": _shared_width,
            "expert_weights_scale": lambda config: config.routed_scaling_factor,
            "expert_weights_norm": True,
        },
        names=_NEMOTRON_H_NAMES,
        unlike=_FREE,
    ),
    Twin(
        case="granite-hybrid-mamba",
        architecture="granitehybrid",
        permuted=True,
        keys={
            **_MAMBA,
            **SCALES,
            **_SOME_HEADS,
            "expert_shared_feed_forward_length": _shared_width,
            "rope.scaling.finetuned": False,
        },
        names=GRANITE_NAMES,
        unlike=_FREE,
    ),
    Twin(
        case="granite-hybrid-mamba",
        architecture="granitehybrid",
        permuted=True,
        settings={"num_local_experts": 0, "num_experts_per_tok": 0},
        keys={
            **_MAMBA,
            **SCALES,
            **_SOME_HEADS,
            "expert_shared_feed_forward_length": _shared_width,
            "rope.scaling.finetuned": False,
        },
        names=((r"shared_mlp\.output_linear", "mlp.down_proj"),),
        unlike=_FREE,
    ),
    Twin(
        case="falcon-h1",
        architecture="falcon-h1",
        settings={"mamba_norm_before_gate": False},
        keys=_MAMBA,
        unlike=_FREE,
    ),
    Twin(
        case="falcon-h1-gate",
        architecture="falcon-h1",
        settings={
            **dict.fromkeys(("attention_in_multiplier", "ssm_in_multiplier"), 0.5),
            **dict.fromkeys(("attention_out_multiplier", "ssm_out_multiplier"), 0.75),
            **dict.fromkeys(("key_multiplier", "lm_head_multiplier"), 0.6),
            "embedding_multiplier": 2.0,
            "ssm_multipliers": [0.9, 0.8, 0.7, 1.1, 1.2],
        },
        keys=_MAMBA,
        multiplied=True,
        unlike=(*_FREE, *_FALCON_FACTORS),
    ),
)
