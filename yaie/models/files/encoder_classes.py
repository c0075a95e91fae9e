"""Encoder classes: models whose tokens attend to all tokens of their text. Torch-free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


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
    EncoderClass("Gemma3TextModel", "gemma3_text", "EmbeddingGemma"),
)
BY_ARCHITECTURE = {entry.architecture: entry for entry in ENCODERS}
# Classes of decoders, which this setting makes encoders.
_OF_DECODERS = frozenset({"gemma3_text"})
_BIDIRECTIONAL = "use_bidirectional_attention"
# Their positions begin after the padding token's.
_OFFSET_TYPES = frozenset({"roberta", "xlm-roberta"})


def find_encoder(config: Mapping[str, Any]) -> EncoderClass | None:
    """Return the entry of an encoder by its `config.json`; None for another model."""
    named = config.get("architectures") or ()
    found = [BY_ARCHITECTURE[name] for name in named if name in BY_ARCHITECTURE]
    if not found or config.get("model_type") != found[0].model_type or config.get("is_decoder"):
        return None
    is_decoder_class = found[0].model_type in _OF_DECODERS
    return None if is_decoder_class and not config.get(_BIDIRECTIONAL) else found[0]


def first_position(config: Mapping[str, Any]) -> int:
    """Return the position of a text's first token."""
    if config.get("model_type") not in _OFFSET_TYPES:
        return 0
    padding = config.get("pad_token_id")
    return 1 + (padding if isinstance(padding, int) else 1)
