"""Text backbones: text-only classes for models that also take images or audio.

A text-only class computes a wrapper's text: its config is merged here, its weights are renamed by
`yaie.models.architecture.text_weights`. The conformance suite compares each with the wrapper's own
forward. Torch-free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yaie.base.errors import ModelUnsupported

MLLAMA = "mllama_text_model"
CROSS_LAYERS = "cross_attention_layers"


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A class that takes images or audio besides text."""

    architecture: str  # class named in config.json
    model_type: str
    known_as: str  # its well-known models
    text_type: str  # model type of its text backbone, unless the config names another
    other_names: tuple[str, ...] = ()  # other class names in published files
    thinker: str | None = None  # config that contains the text config
    text_config: str = "text_config"  # its field in config.json
    is_in_transformers: bool = True


@dataclass(frozen=True, slots=True)
class TextClass:
    """The text-only class that computes a wrapper's text."""

    architecture: str
    model_type: str
    settings: Mapping[str, Any] = field(default_factory=dict)  # constants of the text-only class


WRAPPERS: tuple[Wrapper, ...] = (
    Wrapper("AyaVisionForConditionalGeneration", "aya_vision", "Aya Vision", "cohere2"),
    Wrapper("Gemma3ForConditionalGeneration", "gemma3", "Gemma 3 4B, 12B, 27B", "gemma3_text"),
    Wrapper("Gemma3nForConditionalGeneration", "gemma3n", "Gemma 3n E2B, E4B", "gemma3n_text"),
    Wrapper("Gemma4ForConditionalGeneration", "gemma4", "Gemma 4 E2B to 31B", "gemma4_text"),
    Wrapper(
        "Gemma4UnifiedForConditionalGeneration",
        "gemma4_unified",
        "Gemma 4 12B",
        "gemma4_unified_text",
    ),
    Wrapper("Glm46VForConditionalGeneration", "glm46v", "GLM-4.6V-Flash", "glm4v_text"),
    Wrapper("Glm4vForConditionalGeneration", "glm4v", "GLM-4.1V", "glm4v_text"),
    Wrapper(
        "Glm4vMoeForConditionalGeneration", "glm4v_moe", "GLM-4.5V, GLM-4.6V", "glm4v_moe_text"
    ),
    Wrapper("GlmOcrForConditionalGeneration", "glm_ocr", "GLM-OCR", "glm_ocr_text"),
    Wrapper("Idefics3ForConditionalGeneration", "idefics3", "Idefics 3, Granite Docling", "llama"),
    Wrapper("InternVLForConditionalGeneration", "internvl", "InternVL 3, 3.5", "qwen2"),
    Wrapper(
        "InternVLChatModel",
        "internvl_chat",
        "InternVL 2.5, 3, 3.5, as first published",
        "qwen2",
        text_config="llm_config",
        is_in_transformers=False,
    ),
    Wrapper(
        "Kimi_K25ForConditionalGeneration",
        "kimi_k25",
        "Kimi K2.5, K2.6",
        "deepseek_v3",
        other_names=("KimiK25ForConditionalGeneration",),
    ),
    Wrapper("LlavaForConditionalGeneration", "llava", "LLaVA 1.5, Pixtral 12B", "llama"),
    Wrapper("LlavaNextForConditionalGeneration", "llava_next", "LLaVA 1.6", "llama"),
    Wrapper(
        "LlavaOnevisionForConditionalGeneration", "llava_onevision", "LLaVA OneVision", "qwen2"
    ),
    Wrapper(
        "Mistral3ForConditionalGeneration",
        "mistral3",
        "Mistral Small 3.1 to 4, Ministral 3, Devstral 2",
        "mistral",
    ),
    Wrapper(
        "MllamaForConditionalGeneration",
        "mllama",
        "Llama 3.2 Vision, without its layers for images",
        MLLAMA,
    ),
    Wrapper(
        "MuseGlimmerForConditionalGeneration", "muse_glimmer", "Muse Glimmer", "muse_glimmer_text"
    ),
    Wrapper(
        "Qwen2_5OmniForConditionalGeneration",
        "qwen2_5_omni",
        "Qwen2.5-Omni, without speech",
        "qwen2_5_omni_text",
        other_names=("Qwen2_5OmniModel",),
        thinker="thinker_config",
    ),
    Wrapper(
        "Qwen3OmniMoeForConditionalGeneration",
        "qwen3_omni_moe",
        "Qwen3-Omni 30B-A3B, without speech",
        "qwen3_omni_moe_text",
        thinker="thinker_config",
    ),
    Wrapper("Qwen2VLForConditionalGeneration", "qwen2_vl", "Qwen2-VL, QVQ", "qwen2_vl_text"),
    Wrapper("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", "Qwen2.5-VL", "qwen2_5_vl_text"),
    Wrapper("Qwen3VLForConditionalGeneration", "qwen3_vl", "Qwen3-VL 2B to 32B", "qwen3_vl_text"),
    Wrapper(
        "Qwen3VLMoeForConditionalGeneration",
        "qwen3_vl_moe",
        "Qwen3-VL 30B-A3B, 235B-A22B",
        "qwen3_vl_moe_text",
    ),
    Wrapper(
        "Qwen3_5ForConditionalGeneration", "qwen3_5", "Qwen3.5, Qwen3.6, Qwen3.8", "qwen3_5_text"
    ),
    Wrapper(
        "Qwen3_5MoeForConditionalGeneration",
        "qwen3_5_moe",
        "Qwen3.5 and Qwen3.6 mixtures",
        "qwen3_5_moe_text",
    ),
    Wrapper("SmolVLMForConditionalGeneration", "smolvlm", "SmolVLM", "llama"),
)

# By the text backbone's model type; other types already have a text-only class.
TWINS: dict[str, TextClass] = {
    "glm4v_text": TextClass("Glm4ForCausalLM", "glm4", {"attention_bias": True}),
    "glm4v_moe_text": TextClass("Glm4MoeForCausalLM", "glm4_moe"),
    "glm_ocr_text": TextClass("Glm4ForCausalLM", "glm4", {"attention_bias": False}),
    "kimi_k2": TextClass("DeepseekV3ForCausalLM", "deepseek_v3"),
    MLLAMA: TextClass("LlamaForCausalLM", "llama"),
    "qwen2_5_omni_text": TextClass("Qwen2ForCausalLM", "qwen2"),
    "qwen3_omni_moe_text": TextClass("Qwen3MoeForCausalLM", "qwen3_moe"),
    "qwen2_vl_text": TextClass("Qwen2ForCausalLM", "qwen2"),
    "qwen2_5_vl_text": TextClass("Qwen2ForCausalLM", "qwen2"),
    "qwen3_vl_text": TextClass("Qwen3ForCausalLM", "qwen3"),
    "qwen3_vl_moe_text": TextClass("Qwen3MoeForCausalLM", "qwen3_moe", {"norm_topk_prob": True}),
}


@dataclass(frozen=True, slots=True)
class RenamedModel:
    """A text model that is another family's class with separate settings."""

    twin: TextClass
    name: str  # of the class in files
    since: str = ""  # first transformers with the model's defaults, where they count


_LLAMA = TextClass("LlamaForCausalLM", "llama")
RENAMED: dict[str, RenamedModel] = {  # by model type
    "exaone": RenamedModel(_LLAMA, "ExaoneForCausalLM", "5.24"),
    "internlm3": RenamedModel(_LLAMA, "InternLM3ForCausalLM", "5.21"),
    "iquestcoder": RenamedModel(_LLAMA, "IQuestCoderForCausalLM", "5.21"),
    "kimi_k2": RenamedModel(TWINS["kimi_k2"], "DeepseekV3ForCausalLM"),
    "sarvam_mla": RenamedModel(TWINS["kimi_k2"], "SarvamMLAForCausalLM", "5.24"),
    "sarvam_moe": RenamedModel(TWINS["glm4v_moe_text"], "SarvamMoEForCausalLM", "5.24"),
}

_BY_ARCHITECTURE = {
    name: wrapper for wrapper in WRAPPERS for name in (wrapper.architecture, *wrapper.other_names)
}
_BY_MODEL_TYPE = {wrapper.model_type: wrapper for wrapper in WRAPPERS}
# Settings of the whole model, wherever they are written.
_SHARED = (
    *("quantization_config", "compression_config", "quantization", "transformers_weights"),
    *("eos_token_id", "bos_token_id"),
)
# Of the class, for configs that omit them.
_CROSS_LAYERS = (3, 8, 13, 18, 23, 28, 33, 38)
_MLLAMA_LAYERS = 40
_OF_THE_FILE = ("auto_map", "transformers_version", "_name_or_path", "attn_implementation")
TIES = "tie_word_embeddings"


def wrapper_of(config: Mapping[str, Any]) -> Wrapper | None:
    """Return the wrapper that a `config.json` describes; None for other models."""
    named = config.get("architectures") or ()
    for name in named if isinstance(named, list | tuple) else ():
        if name in _BY_ARCHITECTURE:
            return _BY_ARCHITECTURE[name]
    model_type = config.get("model_type")
    return None if named or not isinstance(model_type, str) else _BY_MODEL_TYPE.get(model_type)


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return a wrapper's text config, and other models' config unchanged.

    A renamed model's config has transformers' names. Class defaults are absent. Raises
    `ModelUnsupported` for a damaged one.
    """
    wrapper = wrapper_of(config)
    if wrapper is None:
        return as_renamed(config) if is_renamed(config) else config
    found = _of_thinker(config, wrapper).get(wrapper.text_config)
    if found is None:  # early configs have the text settings at the top
        own = ("model_type", "architectures", "vision_config", "audio_config")
        found = {name: value for name, value in config.items() if name not in own}
    if not isinstance(found, dict):
        raise ModelUnsupported(
            f"config.json is damaged: {wrapper.text_config} is {str(found)[:80]!r}, which is not "
            f"an object; download it again",
            code="model_damaged",
        )
    text = as_twin(found, wrapper)
    for name in _SHARED:
        if text.get(name) is None and config.get(name) is not None:
            text[name] = config[name]
    return text


def is_renamed(config: Mapping[str, Any]) -> bool:
    """Return True if a text model's class has another model type than its config."""
    model_type, named = config.get("model_type"), config.get("architectures")
    if not isinstance(model_type, str) or model_type not in RENAMED:
        return False
    renamed = RENAMED[model_type]
    return not named or named in ([renamed.twin.architecture], [renamed.name])


def as_renamed(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a renamed model's config under its class's names."""
    return {**config, **_names_of(RENAMED[config["model_type"]].twin)}


def _names_of(twin: TextClass) -> dict[str, Any]:
    return {"model_type": twin.model_type, "architectures": [twin.architecture]}


def _of_thinker(config: dict[str, Any], wrapper: Wrapper) -> dict[str, Any]:
    found = config.get(wrapper.thinker) if wrapper.thinker else None
    return found if isinstance(found, dict) else config


def as_twin(settings: Mapping[str, Any], wrapper: Wrapper) -> dict[str, Any]:
    """Return text settings under the text-only class's names."""
    text = {name: value for name, value in settings.items() if name not in _OF_THE_FILE}
    text_type = str(text.get("model_type") or wrapper.text_type)
    text["model_type"] = text_type
    text.pop("architectures", None)
    if text_type in TWINS:
        twin = TWINS[text_type]
        text |= {**_names_of(twin), **twin.settings}
        hidden, heads = text.get("hidden_size"), text.get("num_attention_heads")
        if text.get("head_dim") is None and isinstance(hidden, int) and isinstance(heads, int):
            text["head_dim"] = hidden // max(heads, 1)  # the twin's class has another default
    if text_type == MLLAMA:
        text |= _without_cross_attention(text)
    for name in ("rope_parameters", "rope_scaling"):
        if isinstance(text.get(name), Mapping):
            text[name] = _plain_rope(text[name])
    return text


def _without_cross_attention(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return Llama 3.2 Vision's layers that text passes: those without cross-attention."""
    cross = settings.get(CROSS_LAYERS, _CROSS_LAYERS)
    count = settings.get("num_hidden_layers", _MLLAMA_LAYERS)
    if not isinstance(cross, list | tuple) or not isinstance(count, int):
        return {}  # refused by others
    return {CROSS_LAYERS: list(cross), "num_hidden_layers": count - len(set(cross))}


def _plain_rope(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rope table without the sections for images.

    A text token has one position in all sections, so that they equal the plain rope.
    """
    plain = {
        name: "default" if name in ("type", "rope_type") and value == "mrope" else value
        for name, value in table.items()
    }
    return {name: plain[name] for name in plain if not name.startswith("mrope_")}
