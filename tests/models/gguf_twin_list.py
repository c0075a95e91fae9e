"""The twins: each architecture of GGUF files that is read, with the settings that it needs."""

from __future__ import annotations

import math

from tests.conformance.case import LAYERS, VOCAB_SIZE, WINDOW, rope
from tests.models.gguf_recurrent_twins import GRANITE_NAMES, RECURRENT_TWINS, SCALES
from tests.models.gguf_twins import Twin, period

_WINDOW = {"attention.sliding_window": WINDOW}
_PATTERN = "attention.sliding_window_pattern"
_NORMS = r"norm\.weight$"
_GROUPED = {
    "expert_shared_count": 1,
    "expert_weights_scale": lambda config: config.routed_scaling_factor,
    "expert_weights_norm": lambda config: config.norm_topk_prob,
    "leading_dense_block_count": lambda config: config.first_k_dense_replace,
    "expert_gating_func": 2,
}
_LATENT = {
    **_GROUPED,
    "expert_gating_func": None,  # as in older files
    "attention.head_count_kv": 1,
    "attention.key_length": 24,
    "attention.value_length": 16,
    "attention.key_length_mla": 24,
    "attention.value_length_mla": 16,
    "attention.kv_lora_rank": 16,
    "attention.q_lora_rank": 16,
    "rope.dimension_count": 8,
}
_MSCALE = rope(
    "yarn",
    factor=4.0,
    original_max_position_embeddings=128,
    mscale=0.7,
    mscale_all_dim=0.7,
)
_BIAS = ((r"e_score_correction_bias$", "e_score_correction.bias"),)
_GEMMA4 = {
    **_WINDOW,
    "attention.key_length": 32,
    "attention.value_length": 32,
    "attention.key_length_swa": 16,
    "attention.value_length_swa": 16,
    "rope.dimension_count": 32,
    "rope.dimension_count_swa": 16,
}
_GEMMA4_NAMES = (
    (r"layer_scalar$", "layer_scalar.weight"),
    (r"model\.layers\.(\d+)\.router\.scale$", r"blk.\1.ffn_gate_inp.scale"),
    (r"model\.layers\.(\d+)\.router\.per_expert_scale$", r"blk.\1.ffn_down_exps.scale"),
    (r"model\.layers\.(\d+)\.experts\.gate_up_proj$", r"blk.\1.ffn_gate_up_exps.weight"),
)

TWINS = (
    Twin(case="llama", architecture="llama", permuted=True),
    Twin(
        case="llama",
        architecture="llama",
        permuted=True,
        settings={"attention_bias": True, "mlp_bias": True},
    ),
    Twin(case="llama-tied", architecture="llama", permuted=True, width=16),
    Twin(case="llama-linear", architecture="llama", permuted=True),
    Twin(case="llama-llama3", architecture="llama", permuted=True),
    Twin(case="llama-yarn", architecture="llama", permuted=True),
    Twin(case="mixtral", architecture="llama", permuted=True),
    Twin(case="mistral", architecture="mistral3", permuted=True),
    Twin(
        case="ministral3",
        architecture="mistral3",
        permuted=True,
        keys={
            "rope.scaling.yarn_log_multiplier": 1.0,
            "attention.temperature_scale": 0.1,
        },
    ),
    Twin(case="qwen2", architecture="qwen2"),
    Twin(case="qwen2", architecture="qwen2vl", keys={"rope.dimension_sections": [2, 3, 3, 0]}),
    Twin(case="qwen2-moe", architecture="qwen2moe", keys={"expert_shared_feed_forward_length": 32}),
    Twin(case="qwen3", architecture="qwen3"),
    Twin(
        case="qwen3",
        architecture="qwen3vl",
        keys={"rope.dimension_sections": [2, 3, 3, 0], "n_deepstack_layers": 3},
    ),
    Twin(case="qwen3-moe", architecture="qwen3moe", settings={"norm_topk_prob": True}),
    Twin(case="qwen3-moe", architecture="qwen3vlmoe", settings={"norm_topk_prob": True}),
    Twin(case="gemma", architecture="gemma", added=_NORMS),
    Twin(case="gemma2", architecture="gemma2", added=_NORMS, keys=_WINDOW),
    Twin(
        case="gemma3",
        architecture="gemma3",
        added=_NORMS,
        keys=_WINDOW,
        settings={"layer_types": period(6)(7), "num_hidden_layers": 7},
    ),
    Twin(
        case="phi3",
        architecture="phi3",
        width=16,
        keys={
            "rope.scaling.original_context_length": 4096,
            "attention.sliding_window": 0,
            "attention.key_length": None,
            "attention.value_length": None,
        },
    ),
    Twin(
        case="phi3-partial",
        architecture="phi3",
        width=8,
        keys={"rope.scaling.original_context_length": 4096, "attention.sliding_window": 0},
    ),
    Twin(
        case="phi3-longrope",
        architecture="phi3",
        keys={"rope.scaling.original_context_length": 96, "rope.scaling.attn_factor": 1.14},
        unlike=("rope_parameters",),
    ),
    Twin(case="smollm3", architecture="smollm3", permuted=True),
    Twin(case="arcee", architecture="arcee", permuted=True),
    Twin(case="seed-oss", architecture="seed_oss"),
    Twin(case="ernie4-5", architecture="ernie4_5"),
    Twin(case="hunyuan", architecture="hunyuan-dense"),
    Twin(
        case="olmo",
        architecture="olmo",
        permuted=True,
        keys={"attention.layer_norm_epsilon": 1e-5, "attention.layer_norm_rms_epsilon": None},
    ),
    Twin(case="olmo2", architecture="olmo2"),
    Twin(case="olmo3", architecture="olmo2", keys={**_WINDOW, _PATTERN: [True, False] * 2}),
    Twin(
        case="exaone4",
        architecture="exaone4",
        keys={**_WINDOW, _PATTERN: [True, False] * 2},
        unlike=("sliding_window_pattern",),
    ),
    Twin(case="phi", architecture="phi2", width=8),
    Twin(case="glm", architecture="chatglm", width=8),
    Twin(case="glm4", architecture="glm4", width=8),
    Twin(case="cohere", architecture="command-r"),
    Twin(
        case="cohere2",
        architecture="cohere2",
        keys=_WINDOW,
        settings={"layer_types": period(4)(LAYERS)},
    ),
    Twin(
        case="nemotron",
        architecture="nemotron",
        width=8,
        added=r"norm\.weight$",
        keys={"attention.layer_norm_epsilon": 1e-5},
    ),
    Twin(case="starcoder2", architecture="starcoder2", settings={"sliding_window": 4096}),
    Twin(case="granite", architecture="granite", permuted=True, keys=SCALES),
    Twin(
        case="granite-moe",
        architecture="granitemoe",
        permuted=True,
        keys=SCALES,
        names=GRANITE_NAMES,
    ),
    Twin(
        case="granite-moe-shared",
        architecture="granitemoe",
        permuted=True,
        keys={**SCALES, "expert_shared_feed_forward_length": 32},
        names=GRANITE_NAMES,
    ),
    Twin(
        case="gpt-oss",
        architecture="gpt-oss",
        keys={**_WINDOW, "expert_feed_forward_length": 96},
        names=((r"sinks$", "sinks.weight"),),
    ),
    Twin(case="deepseek-v3", architecture="deepseek2", keys=_LATENT, names=_BIAS),
    Twin(
        case="deepseek-v3",
        architecture="deepseek2",
        settings={"q_lora_rank": None, **_MSCALE},
        keys={**_LATENT, "attention.q_lora_rank": None, "rope.scaling.yarn_log_multiplier": 0.07},
        names=_BIAS,
    ),
    Twin(
        case="deepseek-v2",
        architecture="deepseek2",
        settings={"topk_method": "group_limited_greedy"},
        keys={**_LATENT, "expert_weights_norm": None},
    ),
    Twin(
        case="glm4-moe-lite",
        architecture="deepseek2",
        keys=_LATENT,
        names=_BIAS,
        unlike=("model_type", "head_dim", "mlp_layer_types"),
    ),
    Twin(
        case="glm4-moe",
        architecture="glm4moe",
        width=8,
        keys=_GROUPED,
        names=_BIAS,
    ),
    Twin(
        case="solar-open",  # its files are GLM-4.5's with whole heads rotated
        architecture="glm4moe",
        keys={**_GROUPED, "leading_dense_block_count": None},
        names=_BIAS,
        unlike=("model_type",),
    ),
    Twin(case="dots1", architecture="dots1", keys=_GROUPED, names=_BIAS),
    Twin(
        case="exaone-moe",
        architecture="exaone-moe",
        keys={**_GROUPED, **_WINDOW, _PATTERN: [True, False] * 2},
        names=_BIAS,
    ),
    Twin(
        case="minimax-m2",
        architecture="minimax-m2",
        width=8,
        keys={"expert_feed_forward_length": 96, "expert_gating_func": 2},
        names=((r"mlp\.e_score_correction_bias$", "mlp.gate.e_score_correction.bias"),),
    ),
    Twin(
        case="ernie4-5-moe",
        architecture="ernie4_5-moe",
        keys={
            "expert_count": 4,
            "expert_used_count": 2,
            "expert_shared_count": 1,
            "leading_dense_block_count": 1,
            "interleave_moe_layer_step": 1,
        },
        names=(
            (r"gate\.moe_statics\.e_score_correction_bias", "moe_statics.e_score_correction.bias"),
        ),
    ),
    Twin(
        case="hunyuan-moe",
        architecture="hunyuan-moe",
        settings={
            "rope_parameters": {"rope_type": "default", "rope_theta": 11158840.0},
            "moe_topk": 2,
        },
        keys={
            "expert_feed_forward_length": 96,
            "expert_shared_feed_forward_length": 96,
            "expert_used_count": 2,
            "expert_shared_count": 1,
        },
    ),
    Twin(case="olmoe", architecture="olmoe", keys={"expert_feed_forward_length": None}),
    Twin(case="phimoe", architecture="phimoe", width=16),
    Twin(
        case="gemma3n",
        architecture="gemma3n",
        settings={"altup_num_inputs": 4, "activation_sparsity_pattern": [0.95, 0.0] * 3},
        keys={
            **_WINDOW,
            _PATTERN: [True, False] * 3,
            "activation_sparsity_scale": [1.6448537, -math.inf] * 3,
            "attention.shared_kv_layers": 2,
            "embedding_length_per_layer_input": 8,
        },
        names=(
            (r"correct_output_scale$", "correct_output_scale.weight"),
            (r"model\.altup_projections\.(\d)\.weight", r"altup_proj.weight.\1"),
            (r"model\.altup_unembed_projections\.(\d)\.weight", r"altup_unembd_proj.weight.\1"),
        ),
    ),
    Twin(
        case="gemma4",
        architecture="gemma4",
        keys={
            **_GEMMA4,
            _PATTERN: [True, False] * 3,
            "attention.head_count_kv": 2,
            "attention.shared_kv_layers": 2,
            "embedding_length_per_layer_input": 8,
        },
        names=_GEMMA4_NAMES,
    ),
    Twin(
        case="gemma4-moe",
        architecture="gemma4",
        settings={"vocab_size_per_layer_input": VOCAB_SIZE},
        keys={
            **_GEMMA4,
            _PATTERN: [True, False] * 2,
            "expert_used_count": 2,
            "attention.head_count_kv": [2, 1] * 2,
            "attention.shared_kv_layers": 0,
            "embedding_length_per_layer_input": 0,
        },
        names=_GEMMA4_NAMES,
    ),
    Twin(
        case="hy-v3",
        architecture="hy_v3",
        named_as="dots1",
        keys={
            "expert_gating_func": 2,
            "expert_shared_count": 1,
            "expert_weights_scale": lambda config: config.router_scaling_factor,
        },
        names=((r"model\.layers\.(\d+)\.mlp\.e_score_correction_bias", r"blk.\1.exp_probs_b"),),
    ),
    Twin(
        case="mellum",
        architecture="mellum",
        named_as="qwen3moe",
        settings={"norm_topk_prob": True},
        keys={**_WINDOW, _PATTERN: [True, False] * 2},
    ),
    *RECURRENT_TWINS,
)
