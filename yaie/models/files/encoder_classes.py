"""Encoder classes: models whose tokens attend to all tokens of their text. Torch-free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from yaie.base.errors import ModelUnsupported


class EncoderClass(NamedTuple):
    """A class that is served for embeddings or scores."""

    architecture: str  # named in config.json
    model_type: str
    known_as: str  # its well-known models


ENCODERS: tuple[EncoderClass, ...] = (
    EncoderClass("BertModel", "bert", "all-MiniLM, bge-en, e5, mxbai-embed"),
    EncoderClass("BertForSequenceClassification", "bert", "ms-marco-MiniLM"),
    EncoderClass("RobertaModel", "roberta", "all-distilroberta"),
    EncoderClass("RobertaForSequenceClassification", "roberta", "stsb-roberta"),
    EncoderClass("XLMRobertaModel", "xlm-roberta", "bge-m3, multilingual-e5"),
    EncoderClass(
        "XLMRobertaForSequenceClassification", "xlm-roberta", "bge-reranker-v2-m3, bge-reranker"
    ),
    EncoderClass("ModernBertModel", "modernbert", "gte-modernbert, modernbert-embed"),
    EncoderClass("ModernBertForSequenceClassification", "modernbert", "gte-reranker-modernbert"),
    EncoderClass("MPNetModel", "mpnet", "all-mpnet-base-v2, multi-qa-mpnet"),
    EncoderClass("NomicBertModel", "nomic_bert", "nomic-embed-text-v1, v1.5"),
    EncoderClass("DistilBertModel", "distilbert", "msmarco-distilbert, multi-qa-distilbert"),
    EncoderClass("AlbertModel", "albert", "paraphrase-albert"),
    EncoderClass("Gemma3TextModel", "gemma3_text", "EmbeddingGemma"),
)
BY_ARCHITECTURE = {entry.architecture: entry for entry in ENCODERS}
# Classes of decoders, which this setting makes encoders.
_OF_DECODERS = frozenset({"gemma3_text"})
_BIDIRECTIONAL = "use_bidirectional_attention"
# Their positions begin after the padding token's.
_OFFSET_TYPES = frozenset({"roberta", "xlm-roberta"})
_MPNET_PADDING = 1  # whatever the config says
# NomicBERT's fields as published, and as transformers names them.
_OF_NOMIC = {
    "n_embd": "hidden_size",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_layer": "num_hidden_layers",
    "n_positions": "max_position_embeddings",
    "layer_norm_epsilon": "layer_norm_eps",
}
# Published settings that change what NomicBERT computes: the values that are computed here.
_NOMIC_SETTINGS: dict[str, tuple[object, ...]] = {
    "activation_function": ("swiglu",),
    "rotary_emb_fraction": (1, 1.0),
    "rotary_emb_interleaved": (False,),
    "rotary_emb_scale_base": (None,),
    "rotary_scaling_factor": (None,),
    "qkv_proj_bias": (False,),
    "mlp_fc1_bias": (False,),
    "mlp_fc2_bias": (False,),
    "prenorm": (False,),
    "parallel_block": (False,),
    "use_rms_norm": (False, None),
    "causal": (False,),
    "num_experts": (None, 0),
}


def find_encoder(config: Mapping[str, Any]) -> EncoderClass | None:
    """Return the entry of an encoder by its `config.json`; None for another model."""
    named = config.get("architectures") or ()
    found = [BY_ARCHITECTURE[name] for name in named if name in BY_ARCHITECTURE]
    if not found or config.get("model_type") != found[0].model_type or config.get("is_decoder"):
        return None
    is_decoder_class = found[0].model_type in _OF_DECODERS
    return None if is_decoder_class and not config.get(_BIDIRECTIONAL) else found[0]


def encoder_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return an encoder's config with transformers' names.

    Raises `ModelUnsupported` for a NomicBERT whose settings change what it computes.
    """
    if config.get("model_type") != "nomic_bert" or "n_embd" not in config:
        return dict(config)
    for name, known in _NOMIC_SETTINGS.items():
        if name in config and config[name] not in known:
            raise ModelUnsupported(
                f"NomicBertModel with {name} {config[name]!r} cannot be served: YAIE computes it "
                f"with {known[0]!r}, as nomic-embed-text-v1 and v1.5 are"
            )
    fields = {_OF_NOMIC.get(name, name): value for name, value in config.items()}
    theta = config.get("rotary_emb_base", 1000)
    rope = {"rope_type": "default", "rope_theta": float(theta)}
    return {**fields, "hidden_act": "silu", "rope_parameters": rope}


def first_position(config: Mapping[str, Any]) -> int:
    """Return the position of a text's first token."""
    if config.get("model_type") == "mpnet":
        return 1 + _MPNET_PADDING
    if config.get("model_type") not in _OFFSET_TYPES:
        return 0
    padding = config.get("pad_token_id")
    return 1 + (padding if isinstance(padding, int) else 1)
