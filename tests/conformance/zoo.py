"""The tiny models of the suite, at least one for each supported architecture."""

from __future__ import annotations

from tests.conformance.case import (
    LAYERS,
    MIXED_LAYERS,
    SCALED_POSITIONS,
    VOCAB_SIZE,
    WINDOW,
    Case,
    rope,
)
from tests.conformance.mixtures import MIXTURES

_NO_GROUPS = {"num_key_value_heads": None}  # a family without such a config field
_GPT2 = {**_NO_GROUPS, "n_embd": 64, "n_layer": LAYERS, "n_head": 4, "n_positions": 512}
_NEAR = 2 * (WINDOW - 1)  # random layers pass on little from further back
LONGROPE_SWITCH = 96

CASES: tuple[Case, ...] = (
    Case("llama", "LlamaForCausalLM", "grouped heads"),
    Case("llama-mha", "LlamaForCausalLM", "one KV head per head", {"num_key_value_heads": 4}),
    Case("llama-tied", "LlamaForCausalLM", "tied embeddings", {"tie_word_embeddings": True}),
    Case("llama-linear", "LlamaForCausalLM", "linear rope", rope("linear", factor=4.0)),
    Case(
        "llama-llama3",
        "LlamaForCausalLM",
        "llama3 rope",
        rope(
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
        rope("yarn", factor=4.0, original_max_position_embeddings=128),
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
        rope("default", partial_rotary_factor=0.5),
    ),
    Case(
        "phi3-longrope",
        "Phi3ForCausalLM",
        "LongRoPE",
        {
            "max_position_embeddings": 4 * LONGROPE_SWITCH,
            "original_max_position_embeddings": LONGROPE_SWITCH,
            **rope(
                "longrope",
                factor=4.0,
                # One table at every length; tests/models/test_longrope.py has two.
                long_factor=[1.0 + 0.3 * i for i in range(8)],
                short_factor=[1.0 + 0.3 * i for i in range(8)],
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
    Case("gpt-bigcode", "GPTBigCodeForCausalLM", "one KV head, learned positions", _GPT2),
    Case("olmo", "OlmoForCausalLM", "norms without weights"),
    Case("phi", "PhiForCausalLM", "parallel block, partial rotary"),
    Case("seed-oss", "SeedOssForCausalLM", "QKV bias, head width apart from the hidden one"),
    Case("arcee", "ArceeForCausalLM", "ungated MLP"),
    Case(
        "granite-hybrid",
        "GraniteMoeHybridForCausalLM",
        "attention in all layers",
        {
            "layer_types": ["full_attention"] * LAYERS,
            "num_local_experts": 0,
            "num_experts_per_tok": 0,
            "shared_intermediate_size": 96,
            "attention_multiplier": 0.3,
            "position_embedding_type": "rope",
        },
    ),
    Case(
        "nemotron",
        "NemotronForCausalLM",
        "partial rotary, squared ReLU, layers that drop keywords",
        {"num_hidden_layers": 3},
        gain=0.6,
    ),
    Case("hunyuan", "HunYuanDenseV1ForCausalLM", "q and k norms after rope"),
    Case(
        "ministral3",
        "Ministral3ForCausalLM",
        "yarn rope, queries scaled by position",
        SCALED_POSITIONS,
    ),
    Case(
        "nanochat",
        "NanoChatForCausalLM",
        "q and k norms without weights, after rope; logit softcap",
    ),
    Case(
        "gemma3n",
        "Gemma3nForCausalLM",
        "several residual streams, alternating sliding window, layers that reuse keys and values",
        {
            "sliding_window": WINDOW,
            "num_hidden_layers": 6,
            "layer_types": ["sliding_attention", "full_attention"] * 3,
            "num_kv_shared_layers": 2,
            "hidden_size_per_layer_input": 8,
            "vocab_size_per_layer_input": VOCAB_SIZE,
            "laurel_rank": 8,
            "altup_num_inputs": 2,
            "activation_sparsity_pattern": [0.0] * 6,
            "intermediate_size": [96] * 6,
        },
    ),
    Case(
        "gemma4-unified",
        "Gemma4UnifiedForCausalLM",
        "alternating sliding window, widths by layer",
        {"sliding_window": WINDOW, "layer_types": MIXED_LAYERS, "global_head_dim": 32},
    ),
    Case(
        "hunyuan-alpha",
        "HunYuanDenseV1ForCausalLM",
        "rope whose factor is fixed, though it is called dynamic",
        rope("dynamic", alpha=1000.0, factor=1.0),
    ),
    *MIXTURES,
)
