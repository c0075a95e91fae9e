"""Gemma's families. Torch-free."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

from yaie.models.files.gguf.family import (
    ATTENTION,
    FIELDS,
    GATE_UP,
    MLP,
    OUTSIDE,
    OUTSIDE_SUMMED,
    QK_NORMS,
    Family,
    Tensors,
    layer_types,
    one_more,
    optional,
    two_ropes,
    window,
)
from yaie.models.files.gguf.gguf_settings import GgufSettings
from yaie.models.files.gguf.rope_tables import FREQUENCIES, read_vector

_GELU = {"hidden_activation": "gelu_pytorch_tanh"}


_NORMS = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
_SUMMED_NORMS = {f"{name}.weight": one_more(stored) for name, stored in _NORMS.items()}
_CAPS = {"final_logit_softcapping": optional("final_logit_softcapping")}


def _query_scale(layers: int) -> Any:
    """Return a reader of the number whose root divides the scores.

    The largest model of a generation, told by its layers, has another number than its head width.
    """

    def read(settings: GgufSettings) -> int:
        if settings.num_layers() == layers:
            return settings.size("embedding_length") // settings.size("attention.head_count")
        return settings.head_dim()

    return read


GEMMA = Family(
    architecture="GemmaForCausalLM",
    model_type="gemma",
    tensors={
        **ATTENTION,
        **MLP,
        "input_layernorm.weight": one_more("attn_norm"),
        "post_attention_layernorm.weight": one_more("ffn_norm"),
    },
    outside=OUTSIDE_SUMMED,
    fields=FIELDS,
    constants={"hidden_act": "gelu_pytorch_tanh"},
)
GEMMA2 = Family(
    architecture="Gemma2ForCausalLM",
    model_type="gemma2",
    tensors={**_SUMMED_NORMS, **ATTENTION, **MLP},
    outside=OUTSIDE_SUMMED,
    fields={
        **FIELDS,
        "sliding_window": optional("attention.sliding_window", 4096),
        "layer_types": layer_types(2, always=True),
        "query_pre_attn_scalar": _query_scale(46),
        "attn_logit_softcapping": optional("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": optional("final_logit_softcapping", 30.0),
    },
    constants=_GELU,
)
GEMMA3 = Family(
    architecture="Gemma3ForCausalLM",
    model_type="gemma3_text",
    tensors={
        **_SUMMED_NORMS,
        **ATTENTION,
        **MLP,
        "self_attn.q_norm.weight": one_more("attn_q_norm"),
        "self_attn.k_norm.weight": one_more("attn_k_norm"),
    },
    outside=OUTSIDE_SUMMED,
    fields={
        **FIELDS,
        **_CAPS,
        "sliding_window": window,
        "layer_types": layer_types(6),
        "query_pre_attn_scalar": _query_scale(62),
        "rope_parameters": two_ropes(theta=1_000_000.0),
    },
    constants=_GELU,
)


_BY_LAYER: Tensors = {  # of Gemma 3n and 4, whose norms hold their own weights
    **_NORMS,
    **ATTENTION,
    **QK_NORMS,
    **MLP,
    "per_layer_input_gate": "inp_gate",
    "per_layer_projection": "proj",
    "post_per_layer_input_norm": "post_norm",
}
_BY_LAYER_OUTSIDE: Tensors = {
    **OUTSIDE,
    "model.embed_tokens_per_layer": "per_layer_token_embd",
    "model.per_layer_model_projection": "per_layer_model_proj",
    "model.per_layer_projection_norm": "per_layer_proj_norm",
}


def _vocab_by_layer(settings: GgufSettings) -> int:
    own = "per_layer_token_embd.weight"
    return settings.rows(own if own in settings.tensors else "token_embd.weight")


def _sparsity(settings: GgufSettings) -> list[float]:
    """Return the share of a layer's activations that are zero; files hold its normal quantile."""
    quantiles = settings.per_layer("activation_sparsity_scale")
    if not isinstance(quantiles, list):
        quantiles = [-math.inf] * settings.num_layers()
    return [round(NormalDist().cdf(quantile), 4) for quantile in quantiles]


GEMMA3N = Family(
    architecture="Gemma3nForCausalLM",
    model_type="gemma3n_text",
    tensors={
        **_BY_LAYER,
        "altup.correct_output_scale": "altup_correct_scale.weight",
        "altup.correction_coefs": "altup_correct_coef",
        "altup.prediction_coefs": "altup_predict_coef",
        "altup.modality_router": "altup_router",
        "altup.router_norm": "altup_router_norm",
        "laurel.linear_left": "laurel_l",
        "laurel.linear_right": "laurel_r",
        "laurel.post_laurel_norm": "laurel_post_norm",
    },
    outside={
        **_BY_LAYER_OUTSIDE,
        "model.altup_projections.{}.weight": "altup_proj.weight",
        "model.altup_unembed_projections.{}.weight": "altup_unembd_proj.weight",
    },
    fields={
        **FIELDS,
        **_CAPS,
        "intermediate_size": lambda settings: settings.list_of("feed_forward_length"),
        "sliding_window": "attention.sliding_window",
        "layer_types": layer_types(5),
        "rope_parameters": two_ropes(theta=1_000_000.0),
        "hidden_size_per_layer_input": "embedding_length_per_layer_input",
        "vocab_size_per_layer_input": _vocab_by_layer,
        "num_kv_shared_layers": lambda settings: settings.count(
            "attention.shared_kv_layers", max(0, settings.num_layers() - 20)
        ),
        "activation_sparsity_pattern": _sparsity,
        "altup_active_idx": optional("altup.active_idx", 0),
        "altup_num_inputs": optional("altup.num_inputs", 4),
        "laurel_rank": lambda settings: settings.rows("blk.0.laurel_l.weight"),
    },
    constants=_GELU,
)


def _windowed_head_dim(settings: GgufSettings) -> int:
    return settings.size("attention.key_length_swa")


def _by_type(key: str, kind: str) -> Any:
    """Return a reader of a setting of the layers of a type."""

    def read(settings: GgufSettings) -> Any:
        kinds = layer_types(6)(settings)
        found = {
            value for value, each in zip(settings.list_of(key), kinds, strict=True) if each == kind
        }
        if len(found) != 1:
            settings.refuse(key, f"{len(found)} values in layers of one type")
        return found.pop()

    return read


def _proportional(settings: GgufSettings) -> dict[str, Any]:
    """Return Gemma 4's rope tables; a divisor without end omits a frequency."""
    width = settings.head_dim()
    settings.get("rope.dimension_count")
    table: dict[str, Any] = {
        "rope_type": "proportional",
        "rope_theta": settings.number("rope.freq_base", 1_000_000.0),
        "partial_rotary_factor": 1.0,
    }
    if FREQUENCIES in settings.tensors:
        divisors = read_vector(settings, FREQUENCIES, width // 2)
        turning = int((divisors == 1).sum())
        if (divisors[:turning] != 1).any() or (divisors[turning:] < _WITHOUT_END).any():
            settings.refuse(FREQUENCIES, "divisors that differ from Gemma 4")
        table["partial_rotary_factor"] = 2 * turning / width
    windowed = {
        "rope_type": "default",
        "rope_theta": settings.number("rope.freq_base_swa", 10_000.0),
    }
    if settings.size("rope.dimension_count_swa", _windowed_head_dim(settings)) != (
        _windowed_head_dim(settings)
    ):
        settings.refuse("rope.dimension_count_swa", "a part of a head")
    return {"full_attention": table, "sliding_attention": windowed}


def _first_full(settings: GgufSettings) -> str:
    """Return the prefix of the first full layer's tensors."""
    kinds = layer_types(6)(settings)
    return f"blk.{kinds.index('full_attention') if 'full_attention' in kinds else 0}."


def _widens(settings: GgufSettings) -> bool:
    return len(set(settings.list_of("feed_forward_length"))) > 1


_WITHOUT_END = 1e20
GEMMA4 = Family(
    architecture="Gemma4ForCausalLM",
    model_type="gemma4_text",
    tensors={
        **_BY_LAYER,
        "layer_scalar": "layer_output_scale.weight",
        "pre_feedforward_layernorm_2": "pre_ffw_norm_2",
        "post_feedforward_layernorm_1": "post_ffw_norm_1",
        "post_feedforward_layernorm_2": "post_ffw_norm_2",
        "router.proj": "ffn_gate_inp",
        "router.scale": "ffn_gate_inp.scale",
        "router.per_expert_scale": "ffn_down_exps.scale",
        "experts.gate_up_proj": GATE_UP,
        "experts.down_proj": "ffn_down_exps.weight",
    },
    outside=_BY_LAYER_OUTSIDE,
    fields={
        **FIELDS,
        **_CAPS,
        "intermediate_size": lambda settings: min(settings.list_of("feed_forward_length")),
        "use_double_wide_mlp": _widens,
        "head_dim": _windowed_head_dim,
        "global_head_dim": GgufSettings.head_dim,
        "num_key_value_heads": _by_type("attention.head_count_kv", "sliding_attention"),
        "num_global_key_value_heads": _by_type("attention.head_count_kv", "full_attention"),
        "attention_k_eq_v": lambda settings: (
            f"{_first_full(settings)}attn_v.weight" not in settings.tensors
        ),
        "sliding_window": "attention.sliding_window",
        "layer_types": layer_types(6),
        "rope_parameters": _proportional,
        "hidden_size_per_layer_input": "embedding_length_per_layer_input",
        "vocab_size_per_layer_input": _vocab_by_layer,
        "num_kv_shared_layers": optional("attention.shared_kv_layers", 0),
        "enable_moe_block": lambda settings: settings.count("expert_count") > 0,
        "num_experts": optional("expert_count"),
        "top_k_experts": optional("expert_used_count"),
        "moe_intermediate_size": optional("expert_feed_forward_length"),
    },
    constants=_GELU,
)
