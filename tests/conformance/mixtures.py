"""The tiny models whose layers hold experts."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import LAYERS, MIXED_LAYERS, SCALED_POSITIONS, WINDOW, Case, rope

EXPERTS = {"num_experts_per_tok": 2}
# Families name the number of their experts differently, and ignore the others' names.
MIXTURE: dict[str, Any] = {
    **EXPERTS,
    "num_experts": 4,
    "n_routed_experts": 4,
    "num_local_experts": 4,
    "moe_intermediate_size": 32,
    "n_group": 1,
    "topk_group": 1,
}
MIXED: dict[str, Any] = {"sliding_window": WINDOW, "layer_types": MIXED_LAYERS}
LATENT = {
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "num_key_value_heads": 4,
    "head_dim": 8,
}

MIXTURES: tuple[Case, ...] = (
    Case(
        "qwen3-moe",
        "Qwen3MoeForCausalLM",
        "q and k norms, experts",
        {**EXPERTS, "num_experts": 4, "moe_intermediate_size": 32},
    ),
    Case(
        "mixtral",
        "MixtralForCausalLM",
        "experts",
        {**EXPERTS, "num_local_experts": 4, "sliding_window": None},
    ),
    Case(
        "gpt-oss",
        "GptOssForCausalLM",
        "sinks, alternating sliding window, experts, yarn rope",
        {**EXPERTS, "sliding_window": WINDOW, "num_local_experts": 4},
    ),
    Case(
        "deepseek-v3",
        "DeepseekV3ForCausalLM",
        "latent attention stored expanded: K and V of different widths; grouped experts",
        LATENT,
    ),
    Case(
        "deepseek-v2",
        "DeepseekV2ForCausalLM",
        "latent attention stored expanded: K and V of different widths",
        {**LATENT, "topk_method": "greedy", "n_shared_experts": 1},
    ),
    Case(
        "glm4-moe",
        "Glm4MoeForCausalLM",
        "partial rotary, grouped experts",
        {
            **EXPERTS,
            "n_routed_experts": 4,
            "moe_intermediate_size": 32,
            "n_group": 1,
            "topk_group": 1,
            "first_k_dense_replace": 1,
        },
    ),
    Case(
        "olmoe",
        "OlmoeForCausalLM",
        "q and k norms over all heads, experts",
        {**EXPERTS, "num_experts": 4},
    ),
    Case(
        "qwen2-moe",
        "Qwen2MoeForCausalLM",
        "QKV bias, experts and a shared one",
        {
            **EXPERTS,
            "num_experts": 4,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 32,
        },
    ),
    Case(
        "afmoe",
        "AfmoeForCausalLM",
        "gated attention, alternating sliding window, full layers without rope, experts",
        {**MIXTURE, **MIXED},
    ),
    Case(
        "cohere2-moe",
        "Cohere2MoeForCausalLM",
        "parallel block, alternating sliding window, experts",
        {**MIXTURE, **MIXED, "logit_scale": 1.0},
    ),
    Case(
        "dots1",
        "Dots1ForCausalLM",
        "q and k norms, grouped experts and a shared one",
        {**MIXTURE, "n_shared_experts": 1, "sliding_window": None},
    ),
    Case(
        "ernie4-5-moe",
        "Ernie4_5_MoeForCausalLM",
        "interleaved rotary, experts and shared ones",
        {
            **MIXTURE,
            "moe_num_experts": 4,
            "moe_k": 2,
            "moe_layer_start_index": 1,
            "moe_num_shared_experts": 1,
        },
    ),
    Case(
        "exaone-moe",
        "ExaoneMoeForCausalLM",
        "alternating sliding window, full layers without rope, experts",
        {**MIXTURE, **MIXED},
    ),
    Case(
        "glm4-moe-lite",
        "Glm4MoeLiteForCausalLM",
        "latent attention stored expanded, experts",
        {**LATENT, "n_group": 1},
    ),
    Case(
        "granite-moe",
        "GraniteMoeForCausalLM",
        "own attention scale, experts",
        {**MIXTURE, "attention_multiplier": 0.3},
    ),
    Case(
        "granite-moe-shared",
        "GraniteMoeSharedForCausalLM",
        "own attention scale, experts and a shared one",
        {**MIXTURE, "attention_multiplier": 0.3, "shared_intermediate_size": 32},
    ),
    Case("hy-v3", "HYV3ForCausalLM", "q and k norms, experts and a shared one", MIXTURE),
    Case(
        "laguna",
        "LagunaForCausalLM",
        "gated attention, q and k norms, partial rotary by layer, heads by layer, experts",
        {**MIXTURE, **MIXED, "num_attention_heads_per_layer": [4, 2] * 2},
    ),
    Case(
        "mellum", "MellumForCausalLM", "alternating sliding window, experts", {**MIXTURE, **MIXED}
    ),
    Case(
        "minimax-m2",
        "MiniMaxM2ForCausalLM",
        "q and k norms over all heads, partial rotary, experts",
        {**MIXTURE, **rope("default", partial_rotary_factor=0.5)},
    ),
    Case(
        "hunyuan-moe",
        "HunYuanMoEV1ForCausalLM",
        "q and k norms after rope of a fixed factor, experts and a shared one",
        {
            **MIXTURE,
            "moe_topk": [2] * LAYERS,
            "num_shared_expert": [1] * LAYERS,
            **rope("dynamic", alpha=1000.0, factor=1.0),
        },
    ),
    Case(
        "mimo-v2",
        "MiMoV2FlashForCausalLM",
        "sinks and twice the KV heads in layers with a window, values narrower than keys, experts",
        {**MIXTURE, **MIXED, "v_head_dim": 8},
    ),
    Case(
        "mistral4",
        "Mistral4ForCausalLM",
        "latent attention stored expanded, queries scaled by position, experts",
        {
            **LATENT,
            **SCALED_POSITIONS,
        },
    ),
    Case("phimoe", "PhimoeForCausalLM", "experts", {**MIXTURE, "sliding_window": None}),
    Case("solar-open", "SolarOpenForCausalLM", "experts and a shared one", MIXTURE),
    Case(
        "gemma4-moe",
        "Gemma4ForCausalLM",
        "experts; full layers whose values are the keys",
        {
            "sliding_window": WINDOW,
            "layer_types": MIXED_LAYERS,
            "num_kv_shared_layers": 0,
            "hidden_size_per_layer_input": 0,
            "global_head_dim": 32,
            "num_global_key_value_heads": 1,
            "attention_k_eq_v": True,
            "enable_moe_block": True,
            "num_experts": 4,
            "top_k_experts": 2,
            "moe_intermediate_size": 32,
        },
    ),
)
