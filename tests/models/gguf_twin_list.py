"""The twins: each architecture of GGUF files that is read, with the settings that it needs."""

from __future__ import annotations

from tests.conformance.case import LAYERS, WINDOW
from tests.models.gguf_twins import Twin, period

_WINDOW = {"attention.sliding_window": WINDOW}
_PATTERN = "attention.sliding_window_pattern"
_NORMS = r"norm\.weight$"

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
)
