"""Support checks by `config.json`: is a model supported, and for which context.

Torch-free: a refusal takes milliseconds.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.architectures import (
    ENCODER_DECODER,
    IMAGES,
    INDEXED,
    LINEAR,
    NO_TEXT,
    OF_WRAPPERS,
    REFUSED,
    RUNNING_STATE,
    SUPPORTED,
    SupportedArchitecture,
)
from yaie.models.architecture.quantization_config import read_quantization
from yaie.models.architecture.text_backbones import RENAMED, is_renamed, text_config
from yaie.models.files.encoder_classes import encoder_config, find_encoder

HOW_TO_ASK = (
    "an architecture is added by adding a case to tests/conformance; please open an issue that "
    "names the model"
)

_BY_ARCHITECTURE = {entry.architecture: entry for entry in (*SUPPORTED, *OF_WRAPPERS)}
# Decoders saved without a head, as embedding models are: MistralModel.
HEADLESS = {
    f"{entry.architecture.removesuffix('ForCausalLM')}Model": entry
    for entry in SUPPORTED
    if entry.architecture.endswith("ForCausalLM")
}
# Decoders with a classification head: rerankers.
CLASSIFIERS = {
    f"{entry.architecture.removesuffix('ForCausalLM')}ForSequenceClassification": entry
    for entry in SUPPORTED
    if entry.architecture.endswith("ForCausalLM")
}
_BY_MODEL_TYPE = {entry.model_type: entry for entry in (*SUPPORTED, *OF_WRAPPERS)}
_ATTENTION_LAYERS = frozenset({"full_attention", "sliding_attention"})
_STATEFUL_LAYERS = frozenset(
    {"linear_attention", "mamba", "conv", "recurrent", "hybrid", "hybrid_sliding"}
)
WITHOUT_STATE = frozenset({"mlp", "moe"})  # Nemotron-H numbers them as layers
_INDEXED_LAYERS = frozenset({"indexed_attention", "compressed_attention"})
# Settings for images or audio, from many years of configs.
_PARTS_OF_WRAPPERS = (
    *("vision_config", "audio_config", "vision_tower", "mm_vision_tower", "img_processor"),
    *("vision_model_config", "vit_config", "audio_processor", "thinker_config"),
)
_WITHOUT_TEXT = (
    *("ForMaskedLM", "ForSequenceClassification", "ForTokenClassification"),
    *("ForQuestionAnswering", "ForEmbedding"),
)
_BIDIRECTIONAL_IMAGES = frozenset({"gemma4_text", "gemma4_unified_text"})
_HUNYUAN = frozenset({"hunyuan_v1_dense", "hunyuan_v1_moe"})
# Rope tables that depend on the position alone. Other tables depend on the batch's longest row, so
# one request would change another's logits.
_STATIC_ROPES = frozenset({"default", "linear", "llama3", "yarn", "proportional"})
LONGROPE = "longrope"
_OTHER_ROPE_NAMES = {"su": LONGROPE, "deepseek_yarn": "yarn"}
_LIMITS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
_ORIGINAL_LIMIT = "original_max_position_embeddings"
# Fields used in calculations before transformers validates them.
_LAYERS = ("num_hidden_layers", "n_layer")
_SIZES = (
    *("hidden_size", "num_attention_heads", "vocab_size"),
    *(*_LAYERS, "n_embd", "n_head", *_LIMITS, _ORIGINAL_LIMIT),
)
_MOST_LAYERS = 4096  # transformers builds each one before it looks for the weights
_LARGEST_SIZE = 2**31 - 1


def check_supported(config: dict[str, Any]) -> SupportedArchitecture:
    """Return a model's entry by its `config.json`. Raises `ModelUnsupported`.

    A wrapper has the entry of its text class.
    """
    _check_defaults(config)
    _check_names(config)  # before they are looked up
    config = text_config(config)
    _check_names(config)
    encoder = find_encoder(config)
    entry = _find(config) if encoder is None else SupportedArchitecture(*encoder)
    _check_numbers(config)
    if encoder is not None:
        encoder_config(config)  # raises for settings that are not computed
    name = entry.architecture
    read_quantization(config)
    if config.get("transformers_weights"):
        raise ModelUnsupported(
            f"{name} cannot be served: config.json names another weight file "
            f"(transformers_weights); rename that file to model.safetensors and remove the setting"
        )
    if config.get("is_encoder_decoder"):
        raise ModelUnsupported(f"{name} cannot be served: {ENCODER_DECODER}")
    if encoder is None and not _is_causal(config, entry):
        raise ModelUnsupported(
            f"{name} with bidirectional attention cannot be served: tokens attend to later tokens"
        )
    known_layers = _ATTENTION_LAYERS.union(entry.recurrent)
    if entry.recurrent:
        known_layers |= WITHOUT_STATE
    odd_layers = sorted(set(_layer_types(config)) - known_layers)
    if odd_layers:
        state = "" if _STATEFUL_LAYERS.isdisjoint(odd_layers) else f"; {RUNNING_STATE}"
        raise ModelUnsupported(
            f"{name} with layers of type {', '.join(odd_layers)} cannot be served: only layers of "
            f"full and sliding-window attention are served{state}. {HOW_TO_ASK}"
        )
    for rope_type, table in rope_tables(config):
        if entry.model_type in _HUNYUAN and rope_type == "dynamic" and table.get("alpha"):
            continue  # its factor is fixed under any name: one table for all lengths
        if rope_type != LONGROPE and rope_type not in _STATIC_ROPES:
            why = f"only {', '.join(sorted(_STATIC_ROPES))} and {LONGROPE} are known"
            if rope_type == "dynamic":
                why = (
                    "its rope table depends on the longest row of a batch, so one request could "
                    "change another request's answer"
                )
            raise ModelUnsupported(f"{name} with rope type {rope_type!r} cannot be served: {why}")
    return entry


def is_recurrent(architecture: str) -> bool:
    """Return True for a supported class that may have recurrent layers."""
    entry = _BY_ARCHITECTURE.get(architecture)
    return entry is not None and bool(entry.recurrent)


def count_recurrent(architecture: str, layer_types: Iterable[str] | None) -> int:
    """Count the recurrent layers of a supported class."""
    entry = _BY_ARCHITECTURE.get(architecture)
    return 0 if entry is None else sum(name in entry.recurrent for name in layer_types or ())


def _check_defaults(config: dict[str, Any]) -> None:
    """Raise if the installed transformers lacks the defaults of a renamed model."""
    if not is_renamed(config):
        return
    renamed = RENAMED[config["model_type"]]
    if renamed.since and not _is_in_transformers(config["model_type"]):
        raise ModelUnsupported(
            f"{renamed.name} requires transformers {renamed.since} or newer, which has its "
            f"defaults; upgrade it: pip install -U transformers"
        )


def _is_causal(config: dict[str, Any], entry: SupportedArchitecture) -> bool:
    """Return False if text tokens see later ones."""
    if config.get("is_causal") is False:
        return False
    setting = config.get("use_bidirectional_attention")
    if setting == "vision":  # among the tokens of an image, in models that know the word
        return entry.model_type in _BIDIRECTIONAL_IMAGES
    return not setting


def _layer_types(config: dict[str, Any]) -> list[str]:
    """Return the layer types; Granite 4.0's word is read as transformers reads it."""
    return [
        "full_attention" if name == "attention" else name
        for name in config.get("layer_types") or ()
    ]


def _check_names(config: dict[str, Any]) -> None:
    if not isinstance(config.get("model_type") or "", str):
        raise _damage_error("model_type", config["model_type"], "not a name")
    for field in ("architectures", "layer_types"):
        names = config.get(field) or []
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise _damage_error(field, names, "not a list of names")


def _check_numbers(config: dict[str, Any]) -> None:
    for field in _SIZES:
        size = config.get(field)
        largest = _MOST_LAYERS if field in _LAYERS else _LARGEST_SIZE
        if size is not None and (type(size) is not int or not 0 < size <= largest):
            raise _damage_error(field, size, "not a size")
    for _, table in rope_tables(config):
        for field in ("factor", _ORIGINAL_LIMIT):
            number = table.get(field)
            if number is not None and not (type(number) in (int, float) and 0 < number < inf):
                raise _damage_error(field, number, "not a positive number")


def _damage_error(field: str, value: object, why: str) -> ModelUnsupported:
    return ModelUnsupported(
        f"config.json is damaged: {field} is {str(value)[:80]!r}, which is {why}; "
        f"download it again",
        code="model_damaged",
    )


def _find(config: dict[str, Any]) -> SupportedArchitecture:
    named = list(config.get("architectures") or ())
    model_type = config.get("model_type") or ""
    for name in named:
        entry = _BY_ARCHITECTURE.get(name) or HEADLESS.get(name) or CLASSIFIERS.get(name)
        if entry is None:
            continue
        if model_type and model_type != entry.model_type:
            raise ModelUnsupported(
                f"{name} with model_type {model_type} cannot be served: the conformance suite "
                f"covers {name} with model_type {entry.model_type} only, and transformers goes by "
                f"the model type"
            )
        return entry
    if model_type in REFUSED:
        raise ModelUnsupported(
            f"{named[0] if named else model_type} cannot be served: {REFUSED[model_type]}"
        )
    if not named and model_type in _BY_MODEL_TYPE:
        return _BY_MODEL_TYPE[model_type]
    if not named and not model_type:
        raise ModelUnsupported(
            "config.json has neither architectures nor model_type: it is not a transformers model"
        )
    name = named[0] if named else model_type
    if capability := _missing_capability(config, name):
        raise ModelUnsupported(f"{name} cannot be served: {capability}")
    why = "the conformance suite does not cover it, and untested models are not served"
    near = _nearest(name)
    if config.get("auto_map") and not _is_in_transformers(model_type):
        why = "it needs its own Python code (trust_remote_code), which YAIE does not run"
    elif named and model_type in _BY_MODEL_TYPE:
        near = []  # the reason names the right one
        why = f"only {_BY_MODEL_TYPE[model_type].architecture} of that family generates text"
    hint = f" The nearest that is served: {near[0]}." if near else ""
    raise ModelUnsupported(f"{name} cannot be served: {why}.{hint} {HOW_TO_ASK.capitalize()}")


def _nearest(name: str) -> list[str]:
    """Return the supported class whose name without its ending is nearest, if one is near."""
    stems = {known.partition("For")[0].lower(): known for known in _BY_ARCHITECTURE}
    stem = name.partition("For")[0].lower()
    return [stems[each] for each in difflib.get_close_matches(stem, stems, n=1, cutoff=0.8)]


def _missing_capability(config: dict[str, Any], name: str) -> str:
    """Return the capability that an unknown class lacks, as its config shows it; else empty."""
    layers = {*_layer_types(config), *_layer_types(_inner(config))}
    if layers & _STATEFUL_LAYERS:
        return LINEAR
    if layers & _INDEXED_LAYERS:
        return INDEXED
    if config.get("is_encoder_decoder"):
        return ENCODER_DECODER
    if any(config.get(part) for part in _PARTS_OF_WRAPPERS):
        return IMAGES
    known = config.get("model_type") in _BY_MODEL_TYPE  # another reason names the right class
    return NO_TEXT if name.endswith(_WITHOUT_TEXT) and not known else ""


def _inner(config: dict[str, Any]) -> dict[str, Any]:
    found = config.get("text_config") or config.get("llm_config")
    if not isinstance(found, dict) or not isinstance(found.get("layer_types") or [], list):
        return {}
    return found


def _is_in_transformers(model_type: str) -> bool:
    """Return True if the installed transformers has this family; it is not imported."""
    spec = find_spec("transformers")
    folders = () if spec is None else spec.submodule_search_locations or ()
    return bool(model_type) and any(
        (Path(folder) / "models" / model_type).is_dir() for folder in folders
    )


def rope_tables(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every rope table's type and parameters: one, or one for each type of layer."""
    for key in ("rope_parameters", "rope_scaling"):
        found = config.get(key)
        if not isinstance(found, dict):
            continue
        nested = [value for value in found.values() if isinstance(value, dict)]
        for table in nested or [found]:
            rope_type = table.get("rope_type", table.get("type", "default"))
            yield _OTHER_ROPE_NAMES.get(str(rope_type), str(rope_type)), table


def longest_context(config: dict[str, Any]) -> int | None:
    """Return the context length that the model was trained for, in tokens; None: unlimited."""
    limit: int | None = None
    for name in _LIMITS:
        if isinstance(config.get(name), int):
            limit = config[name]
            break
    for rope_type, table in rope_tables(config):
        original = table.get(_ORIGINAL_LIMIT) or config.get(_ORIGINAL_LIMIT)
        if rope_type == "yarn" and isinstance(original, int) and limit is not None:
            limit = max(limit, int(original * float(table.get("factor") or 1)))
        elif rope_type == "linear" and limit is not None:
            # Vicuna states both lengths; elsewhere the first one is scaled already.
            scaled = config.get("max_sequence_length")
            if isinstance(scaled, int):
                limit = max(limit, min(scaled, int(limit * float(table.get("factor") or 1))))
    return limit


def longrope_switch(config: dict[str, Any]) -> int | None:
    """Return the length in tokens up to which LongRoPE's first table counts; None: no LongRoPE."""
    for rope_type, table in rope_tables(config):
        if rope_type == LONGROPE:
            original = table.get(_ORIGINAL_LIMIT) or config.get(_ORIGINAL_LIMIT)
            return int(original or longest_context(config) or 0)
    return None
