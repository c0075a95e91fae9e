"""Families without experts: Llama, Qwen, Phi, GLM, OLMo, EXAONE, Cohere and others. Torch-free."""

from __future__ import annotations

from typing import Any

from yaie.models.files.gguf.family import (
    ATTENTION,
    FIELDS,
    JOINED_MLP,
    JOINED_QKV,
    MLP,
    NORMS,
    NORMS_AFTER,
    OUTSIDE,
    PERMUTED,
    QK_NORMS,
    UNGATED,
    Family,
    holds,
    layer_types,
    optional,
    rope,
    two_ropes,
    window,
)
from yaie.models.files.gguf.gguf_settings import GgufSettings
from yaie.models.files.gguf.rope_tables import FACTORS, read_vector, rope_table
from yaie.models.files.gguf.tensor_forms import Source

_SILU = {"hidden_act": "silu"}
_LAYER_NORM = "attention.layer_norm_epsilon"
_HAS_BIAS = {"attention_bias": holds("blk.0.attn_q.bias")}
_PARTIAL = {"rope_parameters": rope(is_partial=True)}
_WITHOUT_RMS = {name: read for name, read in FIELDS.items() if name != "rms_norm_eps"}

LLAMA = Family(
    architecture="LlamaForCausalLM",
    model_type="llama",
    tensors={**NORMS, **PERMUTED, **MLP},
    fields={**FIELDS, **_HAS_BIAS, "mlp_bias": holds("blk.0.ffn_up.bias")},
    constants=_SILU,
)
MISTRAL = Family(
    architecture="MistralForCausalLM",
    model_type="mistral",
    tensors=LLAMA.tensors,
    fields=FIELDS,
    constants={**_SILU, "sliding_window": None},
)
MINISTRAL3 = Family(
    architecture="Ministral3ForCausalLM",
    model_type="ministral3",
    tensors=LLAMA.tensors,
    fields={
        **FIELDS,
        "rope_parameters": lambda settings: {
            **rope_table(settings, log_unit=1.0),
            "llama_4_scaling_beta": settings.value("attention.temperature_scale"),
        },
    },
    constants={**_SILU, "sliding_window": None},
    applies=lambda settings: settings.get("attention.temperature_scale"),
)


def _attention_scale(settings: GgufSettings) -> float:
    found = optional("attention.scale")(settings)
    return float(found or settings.head_dim() ** -0.5)


GRANITE_FIELDS = {
    **FIELDS,
    **_HAS_BIAS,
    "attention_multiplier": _attention_scale,
    "embedding_multiplier": optional("embedding_scale", 1.0),
    "residual_multiplier": optional("residual_scale", 1.0),
    "logits_scaling": "logit_scale",
}
GRANITE = Family(
    architecture="GraniteForCausalLM",
    model_type="granite",
    tensors=LLAMA.tensors,
    fields={**GRANITE_FIELDS, "mlp_bias": holds("blk.0.ffn_up.bias")},
    constants=_SILU,
)
QWEN2 = Family(
    architecture="Qwen2ForCausalLM",
    model_type="qwen2",
    tensors={**NORMS, **ATTENTION, **MLP},
    fields=FIELDS,
    constants=_SILU,
)
QWEN3 = Family(
    architecture="Qwen3ForCausalLM",
    model_type="qwen3",
    tensors={**NORMS, **ATTENTION, **QK_NORMS, **MLP},
    fields={**FIELDS, **_HAS_BIAS},
    constants=_SILU,
)
SMOLLM3 = Family(
    architecture="SmolLM3ForCausalLM",
    model_type="smollm3",
    tensors=LLAMA.tensors,
    fields={**FIELDS, **_HAS_BIAS},
    constants=_SILU,
)
ARCEE = Family(
    architecture="ArceeForCausalLM",
    model_type="arcee",
    tensors={**NORMS, **PERMUTED, **UNGATED},
    fields={**FIELDS, **_HAS_BIAS},
    constants={"hidden_act": "relu2"},
)
SEED_OSS = Family(
    architecture="SeedOssForCausalLM",
    model_type="seed_oss",
    tensors={
        **ATTENTION,
        **MLP,
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "post_attention_norm",
    },
    fields={**FIELDS, **_HAS_BIAS, "attention_out_bias": holds("blk.0.attn_output.bias")},
    constants=_SILU,
)
ERNIE = Family(
    architecture="Ernie4_5ForCausalLM",
    model_type="ernie4_5",
    tensors=QWEN2.tensors,
    fields={**FIELDS, "use_bias": holds("blk.0.attn_q.bias")},
    constants=_SILU,
)
HUNYUAN = Family(
    architecture="HunYuanDenseV1ForCausalLM",
    model_type="hunyuan_v1_dense",
    tensors={
        **QWEN2.tensors,
        "self_attn.query_layernorm": "attn_q_norm",
        "self_attn.key_layernorm": "attn_k_norm",
    },
    fields={**FIELDS, **_HAS_BIAS},
    constants=_SILU,
)
OLMO = Family(
    architecture="OlmoForCausalLM",
    model_type="olmo",
    tensors={**PERMUTED, **MLP},
    fields={**_WITHOUT_RMS, "clip_qkv": optional("attention.clamp_kqv")},
    constants=_SILU,
    outside={name: given for name, given in OUTSIDE.items() if name != "model.norm"},
    expected={_LAYER_NORM: (1e-5,)},
)
OLMO2 = Family(
    architecture="Olmo2ForCausalLM",
    model_type="olmo2",
    tensors={**NORMS_AFTER, **ATTENTION, **QK_NORMS, **MLP},
    fields={**FIELDS, **_HAS_BIAS},
    constants=_SILU,
)
OLMO3 = Family(
    architecture="Olmo3ForCausalLM",
    model_type="olmo3",
    tensors=OLMO2.tensors,
    fields={
        **OLMO2.fields,
        "sliding_window": window,
        "layer_types": layer_types(4),
        "rope_parameters": two_ropes(None),
    },
    constants=_SILU,
    applies=window,
)
EXAONE4 = Family(
    architecture="Exaone4ForCausalLM",
    model_type="exaone4",
    tensors=OLMO2.tensors,
    fields={**FIELDS, "sliding_window": window, "layer_types": layer_types(4)},
    constants={**_SILU, "sliding_window_pattern": None},
)


def _factors(settings: GgufSettings) -> dict[str, Any]:
    """Return Phi's rope table: with LongRoPE, the file holds a factor for each frequency."""
    settings.get("rope.scaling.attn_factor")  # transformers derives it from the lengths
    table = rope_table(settings, is_partial=True)
    if FACTORS[0] not in settings.tensors:
        return table
    width = settings.size("rope.dimension_count", settings.head_dim())
    long, short = (read_vector(settings, name, width // 2).tolist() for name in FACTORS)
    return {
        **table,
        "rope_type": "longrope",
        "long_factor": [float(f"{factor:.7g}") for factor in long],
        "short_factor": [float(f"{factor:.7g}") for factor in short],
        "original_max_position_embeddings": settings.size("rope.scaling.original_context_length"),
    }


PHI_FIELDS = {
    **FIELDS,
    "rope_parameters": _factors,
    "original_max_position_embeddings": optional("rope.scaling.original_context_length", 4096),
    "sliding_window": window,
}
PHI3 = Family(
    architecture="Phi3ForCausalLM",
    model_type="phi3",
    tensors={
        **NORMS,
        "self_attn.qkv_proj": JOINED_QKV,
        "self_attn.o_proj": "attn_output",
        "mlp.gate_up_proj": JOINED_MLP,
        "mlp.down_proj": "ffn_down",
    },
    fields=PHI_FIELDS,
    constants={**_SILU, "pad_token_id": None},
)
PHI2 = Family(
    architecture="PhiForCausalLM",
    model_type="phi",
    tensors={
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.dense": "attn_output",
        "mlp.fc1": "ffn_up",
        "mlp.fc2": "ffn_down",
    },
    outside={
        "model.embed_tokens": "token_embd",
        "model.final_layernorm": "output_norm",
        "lm_head": "output",
    },
    fields={**_WITHOUT_RMS, **_PARTIAL, "layer_norm_eps": _LAYER_NORM},
    constants={"hidden_act": "gelu_new"},
)
GLM = Family(
    architecture="GlmForCausalLM",
    model_type="glm",
    tensors={**NORMS, **ATTENTION, "mlp.gate_up_proj": JOINED_MLP, "mlp.down_proj": "ffn_down"},
    fields={**FIELDS, **_PARTIAL, **_HAS_BIAS},
    constants={**_SILU, "pad_token_id": None},
)
GLM4 = Family(
    architecture="Glm4ForCausalLM",
    model_type="glm4",
    tensors={
        **GLM.tensors,
        "post_self_attn_layernorm": "post_attention_norm",
        "post_mlp_layernorm": "post_ffw_norm",
    },
    fields=GLM.fields,
    constants={**_SILU, "pad_token_id": None},
)
_COHERE = {
    **_WITHOUT_RMS,
    "layer_norm_eps": _LAYER_NORM,
    "logit_scale": "logit_scale",
    "attention_bias": holds("blk.0.attn_q.bias"),
}
COHERE = Family(
    architecture="CohereForCausalLM",
    model_type="cohere",
    tensors={"input_layernorm": "attn_norm", **ATTENTION, **QK_NORMS, **MLP},
    fields={**_COHERE, "use_qk_norm": holds("blk.0.attn_q_norm.weight")},
    constants=_SILU,
)
COHERE2 = Family(
    architecture="Cohere2ForCausalLM",
    model_type="cohere2",
    tensors={"input_layernorm": "attn_norm", **ATTENTION, **MLP},
    fields={**_COHERE, "sliding_window": window, "layer_types": layer_types(4)},
    constants=_SILU,
)
NEMOTRON = Family(
    architecture="NemotronForCausalLM",
    model_type="nemotron",
    tensors={
        "input_layernorm.weight": Source(("attn_norm.weight",), "one more"),
        "input_layernorm.bias": "attn_norm.bias",
        "post_attention_layernorm.weight": Source(("ffn_norm.weight",), "one more"),
        "post_attention_layernorm.bias": "ffn_norm.bias",
        **ATTENTION,
        **UNGATED,
    },
    outside={
        "model.embed_tokens": "token_embd",
        "model.norm.weight": Source(("output_norm.weight",), "one more"),
        "model.norm.bias": "output_norm.bias",
        "lm_head": "output",
    },
    fields={
        **_WITHOUT_RMS,
        **_PARTIAL,
        "norm_eps": _LAYER_NORM,
        "attention_bias": holds("blk.0.attn_q.bias"),
        "mlp_bias": holds("blk.0.ffn_up.bias"),
    },
    constants={"hidden_act": "relu2"},
)
STARCODER2 = Family(
    architecture="Starcoder2ForCausalLM",
    model_type="starcoder2",
    tensors={**NORMS, **ATTENTION, "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
    fields={
        **_WITHOUT_RMS,
        "norm_epsilon": _LAYER_NORM,
        "use_bias": holds("blk.0.attn_q.bias"),
        "sliding_window": optional("attention.sliding_window", 4096),  # of all published models
    },
    constants={"hidden_act": "gelu_pytorch_tanh"},
)
