"""Tiny wrappers of the suite: models that take images or audio, whose text part is served."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.conformance.case import (
    COMMON,
    MIXED_LAYERS,
    SCALED_POSITIONS,
    VOCAB_SIZE,
    WINDOW,
    Case,
    random_model,
    rope,
)
from tests.conformance.mixtures import LATENT, MIXTURE

_SIX_MIXED = {
    "sliding_window": WINDOW,
    "num_hidden_layers": 6,
    "layer_types": ["sliding_attention", "full_attention"] * 3,
}
_VISION = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "depth": 1,
    "num_heads": 2,
    "out_hidden_size": 64,
}
_PATCHES = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}
_CLIP = {"vision_config": {**_PATCHES, "model_type": "clip_vision_model"}}
_SIGLIP = {"vision_config": {**_PATCHES, "model_type": "siglip_vision_model"}}
_PIXTRAL = {"vision_config": {**_PATCHES, "model_type": "pixtral"}}


def _sections(*sizes: int, **parameters: Any) -> dict[str, Any]:
    """Return rope whose frequencies are divided among the three positions of an image."""
    return rope("default", mrope_section=list(sizes), **parameters)


@dataclass(frozen=True)
class WrapperCase(Case):
    """A wrapper; `settings` are those of its text part."""

    parts: dict[str, Any] = field(default_factory=lambda: {"vision_config": _VISION})

    def config(self) -> Any:
        """Build the transformers config."""
        text = {**COMMON, **self.settings}
        config_class = getattr(transformers, self.architecture).config_class
        return config_class(**copy.deepcopy({"text_config": text, **self.parts}))

    def build(self) -> torch.nn.Module:
        """Build the wrapper. Gemma 3n's encoders need libraries of their own: it has none."""
        if self.architecture != "Gemma3nForConditionalGeneration":
            return super().build()
        make = transformers.AutoModel.from_config

        def make_text(config: Any, **options: Any) -> torch.nn.Module:
            is_text = config.model_type == "gemma3n_text"
            return make(config, **options) if is_text else torch.nn.Identity()

        with mock.patch.object(transformers.AutoModel, "from_config", make_text):
            return super().build()


class _Whole(torch.nn.Module):
    """A model with its thinker alone: the part that reads and writes text."""

    def __init__(self, thinker: torch.nn.Module, config: Any) -> None:
        super().__init__()
        self.thinker = thinker
        self.config = config

    def forward(self, input_ids: torch.Tensor, **keywords: Any) -> Any:
        return self.thinker(input_ids=input_ids, **keywords)

    def save_pretrained(self, folder: Path) -> None:
        """Write the model, with the names of tensors as published."""
        self.thinker.save_pretrained(folder)  # type: ignore[operator]
        weights = load_file(folder / "model.safetensors")
        whole = {f"thinker.{name}": weight for name, weight in weights.items()}
        whole["talker.model.norm.weight"] = torch.full((8,), torch.nan)
        save_file(whole, folder / "model.safetensors", metadata={"format": "pt"})
        config = {**self.config.to_dict(), "architectures": [_OMNI[self.config.model_type]]}
        (folder / "config.json").write_text(json.dumps(config, default=str))


@dataclass(frozen=True)
class ThinkerCase(WrapperCase):
    """A wrapper whose text part lies in its thinker."""

    def config(self) -> Any:
        """Build the transformers config."""
        thinker = {"text_config": {**COMMON, **self.settings}, **self.parts}
        config_class = getattr(transformers, self.architecture).config_class
        return config_class(thinker_config=copy.deepcopy(thinker))

    def build(self) -> torch.nn.Module:
        """Build the thinker."""
        config = self.config()
        thinker = self.architecture.replace("ForCond", "ThinkerForCond")
        return _Whole(random_model(thinker, config.thinker_config), config)


class _Chat(torch.nn.Module):
    """InternVL as first published, with code of its own: transformers' has other names."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.config = model.config

    def forward(self, input_ids: torch.Tensor, **keywords: Any) -> Any:
        return self.model(input_ids=input_ids, **keywords)

    def save_pretrained(self, folder: Path) -> None:
        """Write the model, with the names of tensors and settings as published."""
        self.model.save_pretrained(folder)
        weights = {}
        for name, weight in load_file(folder / "model.safetensors").items():
            inner = name.removeprefix("model.").removeprefix("language_model.")
            is_text = "language_model." in name or inner.startswith("lm_head.")
            plain = inner if inner.startswith(("model.", "lm_head.")) else f"model.{inner}"
            weights[f"language_model.{plain}" if is_text else f"vision_model.{inner}"] = weight
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        config = json.loads((folder / "config.json").read_text())
        text = {**config.pop("text_config"), "attn_implementation": "flash_attention_2"}
        published = {
            "architectures": ["InternVLChatModel"],
            "auto_map": {"AutoConfig": "configuration_internvl_chat.InternVLChatConfig"},
            "model_type": "internvl_chat",
            "llm_config": text | {"architectures": ["Qwen3ForCausalLM"]},
            "tie_word_embeddings": False,
        }
        (folder / "config.json").write_text(json.dumps(config | published))


@dataclass(frozen=True)
class ChatCase(WrapperCase):
    """InternVL as first published."""

    def config(self) -> Any:
        """Build transformers' config of it."""
        text = {**COMMON, **self.settings}
        return transformers.InternVLConfig(**copy.deepcopy({"text_config": text, **self.parts}))

    def build(self) -> torch.nn.Module:
        """Build transformers' model of it."""
        return _Chat(random_model("InternVLForConditionalGeneration", self.config()))


def _case(
    name: str,
    prefix: str,
    settings: dict[str, Any],
    parts: dict[str, Any] | None = None,
    reach: int | None = None,
) -> WrapperCase:
    architecture = f"{prefix}ForConditionalGeneration"
    return WrapperCase(
        name, architecture, "", settings, reach, parts=parts or {"vision_config": _VISION}
    )


_OMNI = {  # class in published files
    "qwen2_5_omni": "Qwen2_5OmniModel",
    "qwen3_omni_moe": "Qwen3OmniMoeForConditionalGeneration",
}
_HEARING = {
    "vision_config": {**_VISION, "deepstack_visual_indexes": [0]},
    "audio_config": {
        "d_model": 32,
        "encoder_layers": 1,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 32,
        "output_dim": 64,
    },
}

WRAPPED: tuple[WrapperCase, ...] = (
    ThinkerCase(
        "qwen2.5-omni",
        "Qwen2_5OmniForConditionalGeneration",
        "",
        _sections(4, 2, 2),
        parts=_HEARING,
    ),
    ThinkerCase(
        "qwen3-omni",
        "Qwen3OmniMoeForConditionalGeneration",
        "",
        {**MIXTURE, **_sections(4, 2, 2)},
        parts=_HEARING,
    ),
    _case("qwen2-vl", "Qwen2VL", _sections(4, 2, 2)),
    _case("qwen2.5-vl", "Qwen2_5_VL", _sections(4, 2, 2)),
    _case("qwen3-vl", "Qwen3VL", _sections(4, 2, 2)),
    # Unequal widths: the wrapper stores its experts transposed.
    _case(
        "qwen3-vl-moe",
        "Qwen3VLMoe",
        {**MIXTURE, "moe_intermediate_size": 48, **_sections(4, 2, 2)},
    ),
    _case(
        "gemma3-vision",
        "Gemma3",
        {"sliding_window": WINDOW, "query_pre_attn_scalar": 16, "layer_types": MIXED_LAYERS},
        {"vision_config": _PATCHES},
    ),
    _case(
        "gemma3n-vision",
        "Gemma3n",
        {
            **_SIX_MIXED,
            "num_kv_shared_layers": 2,
            "hidden_size_per_layer_input": 8,
            "vocab_size_per_layer_input": VOCAB_SIZE,
            "laurel_rank": 8,
            "altup_num_inputs": 2,
            "activation_sparsity_pattern": [0.0] * 6,
            "intermediate_size": [96] * 6,
        },
        {"audio_soft_tokens_per_image": 1},
    ),
    _case(
        "gemma4-vision",
        "Gemma4",
        {
            **_SIX_MIXED,
            "num_kv_shared_layers": 2,
            "hidden_size_per_layer_input": 8,
            "vocab_size_per_layer_input": VOCAB_SIZE,
            "global_head_dim": 32,
        },
        {
            "vision_config": {**_PATCHES, "num_key_value_heads": 2, "head_dim": 16},
            "audio_config": None,
        },
    ),
    _case(
        "gemma4-vision-moe",
        "Gemma4",
        {
            **_SIX_MIXED,
            "num_kv_shared_layers": 0,
            "hidden_size_per_layer_input": 0,
            "global_head_dim": 32,
            "num_global_key_value_heads": 1,
            "attention_k_eq_v": True,
            "enable_moe_block": True,
            "num_experts": 4,
            "top_k_experts": 2,
            "moe_intermediate_size": 32,
            "use_bidirectional_attention": "vision",
        },
        {
            "vision_config": {**_PATCHES, "num_key_value_heads": 2, "head_dim": 16},
            "audio_config": None,
        },
    ),
    _case(
        "gemma4-unified-vision",
        "Gemma4Unified",
        {"sliding_window": WINDOW, "layer_types": MIXED_LAYERS, "global_head_dim": 32},
        {"audio_config": None},
    ),
    _case("mistral3", "Mistral3", {"model_type": "mistral", "sliding_window": None}, _PIXTRAL),
    _case(
        "mistral3-scaled",
        "Mistral3",
        {"model_type": "ministral3", **SCALED_POSITIONS},
        {**_PIXTRAL, "tie_word_embeddings": False},
    ),
    _case("mistral3-mla", "Mistral3", {"model_type": "mistral4", **LATENT}, _PIXTRAL),
    _case("kimi-k25", "Kimi_K25", {**LATENT, "n_group": 1}),
    _case(
        "muse-glimmer",
        "MuseGlimmer",
        {"sliding_window": WINDOW, "layer_types": None},
        reach=2 * (WINDOW - 1),
    ),
    _case("glm4v", "Glm4v", _sections(4, 2, 2, partial_rotary_factor=1.0)),
    _case(
        "glm46v",
        "Glm46V",
        {"model_type": "glm4v_text", **_sections(2, 1, 1, partial_rotary_factor=0.5)},
        {"vision_config": {**_VISION, "model_type": "glm4v_vision"}},
    ),
    _case(
        "glm4v-moe",
        "Glm4vMoe",
        {
            **MIXTURE,
            "first_k_dense_replace": 1,
            "n_shared_experts": 1,
            **_sections(2, 1, 1, partial_rotary_factor=0.5),
        },
    ),
    _case("glm-ocr", "GlmOcr", _sections(4, 2, 2, partial_rotary_factor=1.0)),
    _case("llava", "Llava", {"model_type": "llama"}, _CLIP),
    _case("llava-next", "LlavaNext", {"model_type": "mistral", "sliding_window": None}, _CLIP),
    _case("llava-onevision", "LlavaOnevision", {"model_type": "qwen2"}, _SIGLIP),
    _case(
        "internvl",
        "InternVL",
        {"model_type": "qwen3"},
        {"vision_config": {**_PATCHES, "image_size": [28, 28], "patch_size": [14, 14]}},
    ),
    ChatCase(
        "internvl-chat",
        "InternVLChatModel",
        "",
        {"model_type": "qwen3"},
        parts={
            "vision_config": {**_PATCHES, "image_size": [28, 28], "patch_size": [14, 14]},
            "tie_word_embeddings": False,
        },
    ),
    _case(
        "aya-vision",
        "AyaVision",
        {
            "model_type": "cohere2",
            "sliding_window": WINDOW,
            "layer_types": MIXED_LAYERS,
            "logit_scale": 1.0,
        },
        _SIGLIP,
    ),
    _case("idefics3", "Idefics3", {"model_type": "llama"}, {"vision_config": _PATCHES}),
    _case("smolvlm", "SmolVLM", {"model_type": "llama"}, {"vision_config": _PATCHES}),
    _case(
        "mllama",
        "Mllama",
        {"num_hidden_layers": 6, "cross_attention_layers": [1, 4]},
        {
            "vision_config": {
                **_PATCHES,
                "attention_heads": 2,
                "num_global_layers": 1,
                "vision_output_dim": 32,
                "intermediate_layers_indices": [0],
                "max_num_tiles": 1,
                "supported_aspect_ratios": [[1, 1]],
            }
        },
    ),
)
