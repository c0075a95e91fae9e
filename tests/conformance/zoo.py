"""Tiny random models, at least one for each supported architecture.

Their weights are scaled so that attention is far from uniform and every logit depends on the whole
prefix; with the usual initialisation a wrong mask or a lost sink would hardly show.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

VOCAB_SIZE = 128
WINDOW = 8
LAYERS = 4
MIXED_LAYERS = ["sliding_attention", "full_attention"] * (LAYERS // 2)

_COMMON = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": VOCAB_SIZE,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@dataclass(frozen=True)
class Case:
    """One tiny model; `note` names its attention features for the support table."""

    name: str
    architecture: str
    note: str
    settings: dict[str, Any] = field(default_factory=dict)
    reach: int | None = None  # number of last tokens with a clear effect on a logit; None: all

    def config(self) -> Any:
        """The transformers config."""
        config_class = getattr(transformers, self.architecture).config_class
        return config_class(**{**_COMMON, **self.settings})

    def build(self) -> torch.nn.Module:
        """Build the model in float32 with eager attention: the oracle."""
        torch.manual_seed(1)
        model_class = getattr(transformers, self.architecture)
        model = model_class._from_config(self.config(), attn_implementation="eager")
        model = model.float().eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.dim() < 2:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
                else:
                    wide = "q_proj" in name or "k_proj" in name or "qkv" in name
                    parameter.normal_(0, 0.25 if wide else 0.15)
        return model


def _rope(rope_type: str, **parameters: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": rope_type, "rope_theta": 10000.0, **parameters}}


_NO_GROUPS = {"num_key_value_heads": None}  # a family without such a config field
_GPT2 = {**_NO_GROUPS, "n_embd": 64, "n_layer": LAYERS, "n_head": 4, "n_positions": 512}
_EXPERTS = {"num_experts_per_tok": 2}
_DEEPSEEK = {
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
_NEAR = 2 * (WINDOW - 1)  # random layers pass on little from further back
LONGROPE_SWITCH = 96

CASES: tuple[Case, ...] = (
    Case("llama", "LlamaForCausalLM", "grouped heads"),
    Case("llama-mha", "LlamaForCausalLM", "one KV head per head", {"num_key_value_heads": 4}),
    Case("llama-tied", "LlamaForCausalLM", "tied embeddings", {"tie_word_embeddings": True}),
    Case("llama-linear", "LlamaForCausalLM", "linear rope", _rope("linear", factor=4.0)),
    Case(
        "llama-llama3",
        "LlamaForCausalLM",
        "llama3 rope",
        _rope(
            "llama3",
            factor=8.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=64,
        ),
    ),
    Case(
        "llama-yarn",
        "LlamaForCausalLM",
        "yarn rope",
        _rope("yarn", factor=4.0, original_max_position_embeddings=128),
    ),
    Case("mistral", "MistralForCausalLM", "full attention", {"sliding_window": None}),
    Case(
        "mistral-window",
        "MistralForCausalLM",
        "sliding window in all layers",
        {"sliding_window": WINDOW},
        reach=_NEAR,
    ),
    Case("qwen2", "Qwen2ForCausalLM", "QKV bias"),
    Case(
        "qwen2-window",
        "Qwen2ForCausalLM",
        "sliding window in the upper layers",
        {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 2},
    ),
    Case("qwen3", "Qwen3ForCausalLM", "q and k norms"),
    Case(
        "qwen3-moe",
        "Qwen3MoeForCausalLM",
        "q and k norms, experts",
        {**_EXPERTS, "num_experts": 4, "moe_intermediate_size": 32},
    ),
    Case(
        "mixtral",
        "MixtralForCausalLM",
        "experts",
        {**_EXPERTS, "num_local_experts": 4, "sliding_window": None},
    ),
    Case(
        "gemma2",
        "Gemma2ForCausalLM",
        "softcaps, alternating sliding window",
        {"sliding_window": WINDOW, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 5.0},
    ),
    Case(
        "gemma3",
        "Gemma3ForCausalLM",
        "alternating sliding window, a rope table for each kind",
        {"sliding_window": WINDOW, "query_pre_attn_scalar": 16, "layer_types": MIXED_LAYERS},
    ),
    Case(
        "gemma4",
        "Gemma4ForCausalLM",
        "alternating sliding window, widths by layer, layers that reuse keys and values",
        {
            "sliding_window": WINDOW,
            "num_hidden_layers": 6,
            "layer_types": ["sliding_attention", "full_attention"] * 3,
            "num_kv_shared_layers": 2,
            "hidden_size_per_layer_input": 8,
            "vocab_size_per_layer_input": VOCAB_SIZE,
            "global_head_dim": 32,
        },
    ),
    Case(
        "gpt-oss",
        "GptOssForCausalLM",
        "sinks, alternating sliding window, experts, yarn rope",
        {**_EXPERTS, "sliding_window": WINDOW, "num_local_experts": 4},
    ),
    Case("olmo2", "Olmo2ForCausalLM", "q and k norms over all heads"),
    Case(
        "olmo3",
        "Olmo3ForCausalLM",
        "alternating sliding window",
        {"sliding_window": WINDOW, "layer_types": MIXED_LAYERS},
    ),
    Case("phi3", "Phi3ForCausalLM", "fused QKV"),
    Case(
        "phi3-partial",
        "Phi3ForCausalLM",
        "partial rotary (Phi-4-mini)",
        _rope("default", partial_rotary_factor=0.5),
    ),
    Case(
        "phi3-longrope",
        "Phi3ForCausalLM",
        "LongRoPE up to its switch",
        {
            "max_position_embeddings": 4 * LONGROPE_SWITCH,
            "original_max_position_embeddings": LONGROPE_SWITCH,
            **_rope(
                "longrope",
                factor=4.0,
                long_factor=[4.0] * 8,
                short_factor=[1.0 + 0.1 * i for i in range(8)],
                original_max_position_embeddings=LONGROPE_SWITCH,
            ),
        },
    ),
    Case(
        "granite",
        "GraniteForCausalLM",
        "own attention and logit scales",
        {"attention_multiplier": 0.3, "logits_scaling": 2.0, "residual_multiplier": 0.7},
    ),
    Case("smollm3", "SmolLM3ForCausalLM", "layers without rope"),
    Case(
        "starcoder2",
        "Starcoder2ForCausalLM",
        "biases, full attention",
        {"sliding_window": None},
    ),
    Case(
        "starcoder2-window",
        "Starcoder2ForCausalLM",
        "sliding window in all layers",
        {"sliding_window": WINDOW},
        reach=_NEAR,
    ),
    Case(
        "cohere2",
        "Cohere2ForCausalLM",
        "parallel block, alternating sliding window, full layers without rope",
        {"sliding_window": WINDOW, "layer_types": MIXED_LAYERS, "logit_scale": 1.0},
    ),
    Case(
        "deepseek-v3",
        "DeepseekV3ForCausalLM",
        "latent attention stored expanded: K and V of different widths; grouped experts",
        _DEEPSEEK,
    ),
    Case(
        "gpt2",
        "GPT2LMHeadModel",
        "learned positions",
        _GPT2,
    ),
    Case(
        "gpt2-by-layer",
        "GPT2LMHeadModel",
        "scale that depends on the layer",
        {**_GPT2, "scale_attn_by_inverse_layer_idx": True},
    ),
    Case("gpt-neox", "GPTNeoXForCausalLM", "parallel block, partial rotary", _NO_GROUPS),
    Case(
        "opt", "OPTForCausalLM", "learned positions with an offset", {**_NO_GROUPS, "ffn_dim": 96}
    ),
    Case("apertus", "ApertusForCausalLM", "q and k norms, ungated MLP, llama3 rope"),
    Case("cohere", "CohereForCausalLM", "parallel block", {"logit_scale": 1.0}),
    Case(
        "deepseek-v2",
        "DeepseekV2ForCausalLM",
        "latent attention stored expanded: K and V of different widths",
        {**_DEEPSEEK, "topk_method": "greedy", "n_shared_experts": 1},
    ),
    Case("ernie4-5", "Ernie4_5ForCausalLM", "interleaved rotary"),
    Case(
        "exaone4",
        "Exaone4ForCausalLM",
        "alternating sliding window, full layers without rope",
        {"sliding_window": WINDOW, "sliding_window_pattern": 2, "layer_types": MIXED_LAYERS},
    ),
    Case("gemma", "GemmaForCausalLM", "grouped heads, wide heads"),
    Case("glm", "GlmForCausalLM", "partial interleaved rotary"),
    Case("glm4", "Glm4ForCausalLM", "norms before and after, partial rotary"),
    Case(
        "glm4-moe",
        "Glm4MoeForCausalLM",
        "partial rotary, grouped experts",
        {
            **_EXPERTS,
            "n_routed_experts": 4,
            "moe_intermediate_size": 32,
            "n_group": 1,
            "topk_group": 1,
            "first_k_dense_replace": 1,
        },
    ),
    Case("gpt-bigcode", "GPTBigCodeForCausalLM", "one KV head, learned positions", _GPT2),
    Case("olmo", "OlmoForCausalLM", "norms without weights"),
    Case(
        "olmoe",
        "OlmoeForCausalLM",
        "q and k norms over all heads, experts",
        {**_EXPERTS, "num_experts": 4},
    ),
    Case("phi", "PhiForCausalLM", "parallel block, partial rotary"),
    Case(
        "qwen2-moe",
        "Qwen2MoeForCausalLM",
        "QKV bias, experts and a shared one",
        {
            **_EXPERTS,
            "num_experts": 4,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 32,
        },
    ),
    Case("seed-oss", "SeedOssForCausalLM", "QKV bias, head width apart from the hidden one"),
)


def save(case: Case, model: torch.nn.Module, folder: Path) -> None:
    """Write the model as a model folder that the loader reads."""
    model.save_pretrained(folder)  # type: ignore[operator]
