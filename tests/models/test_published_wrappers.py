"""Configs of wrappers as published: our reading of them agrees with transformers'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yaie.models.architecture.support import check_supported, longest_context
from yaie.models.architecture.text_backbones import text_config, wrapper_of
from yaie.models.load.hf_model import read_hf_config

# config.json as published: settings at the top, or a text_config that leaves defaults out.
PUBLISHED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "olmOCR 7B (Qwen2-VL)": (
        {
            "architectures": ["Qwen2VLForConditionalGeneration"],
            "model_type": "qwen2_vl",
            "bos_token_id": 151643,
            "eos_token_id": 151645,
            "hidden_size": 3584,
            "intermediate_size": 18944,
            "max_position_embeddings": 32768,
            "max_window_layers": 28,
            "num_attention_heads": 28,
            "num_hidden_layers": 28,
            "num_key_value_heads": 4,
            "rope_scaling": {"rope_type": "mrope", "mrope_section": [16, 24, 24]},
            "rope_theta": 1000000.0,
            "sliding_window": 32768,
            "tie_word_embeddings": False,
            "use_sliding_window": False,
            "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 3584},
            "vocab_size": 152064,
        },
        {
            "model_type": "qwen2",
            "num_hidden_layers": 28,
            "vocab_size": 152064,
            "eos_token_id": 151645,
            "max_position_embeddings": 32768,
        },
    ),
    "Gemma 3 4B": (
        {
            "architectures": ["Gemma3ForConditionalGeneration"],
            "model_type": "gemma3",
            "eos_token_id": [1, 106],
            "text_config": {
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "model_type": "gemma3_text",
                "num_hidden_layers": 34,
                "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                "sliding_window": 1024,
            },
            "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"},
        },
        {
            "model_type": "gemma3_text",
            "num_attention_heads": 8,
            "vocab_size": 262208,
            "tie_word_embeddings": True,
            "eos_token_id": [1, 106],
            "max_position_embeddings": 131072,
        },
    ),
    "Llama 3.2 11B Vision": (
        {
            "architectures": ["MllamaForConditionalGeneration"],
            "model_type": "mllama",
            "text_config": {
                "model_type": "mllama_text_model",
                "hidden_size": 4096,
                "num_hidden_layers": 40,
                "eos_token_id": [128001, 128008, 128009],
                "max_position_embeddings": 131072,
                "rope_theta": 500000.0,
                "rope_scaling": {
                    "factor": 8.0,
                    "high_freq_factor": 4.0,
                    "low_freq_factor": 1.0,
                    "original_max_position_embeddings": 8192,
                    "rope_type": "llama3",
                },
                "vocab_size": 128256,
            },
            "vision_config": {},
        },
        {"model_type": "llama", "num_hidden_layers": 32, "tie_word_embeddings": False},
    ),
    "Kimi K2.5": (
        {
            "architectures": ["KimiK25ForConditionalGeneration"],
            "auto_map": {"AutoConfig": "configuration_kimi_k25.KimiK25Config"},
            "model_type": "kimi_k25",
            "text_config": {
                "architectures": ["DeepseekV3ForCausalLM"],
                "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"},
                "model_type": "kimi_k2",
                "num_hidden_layers": 61,
                "kv_lora_rank": 512,
                "max_position_embeddings": 262144,
                "n_group": 1,
                "topk_group": 1,
            },
            "tie_word_embeddings": False,
        },
        {"model_type": "deepseek_v3", "num_hidden_layers": 61, "tie_word_embeddings": False},
    ),
    "Qwen3-VL 2B": (
        {
            "architectures": ["Qwen3VLForConditionalGeneration"],
            "model_type": "qwen3_vl",
            "text_config": {
                "model_type": "qwen3_vl_text",
                "hidden_size": 2048,
                "num_hidden_layers": 28,
                "num_attention_heads": 16,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "intermediate_size": 6144,
                "max_position_embeddings": 262144,
                "rope_scaling": {
                    "mrope_interleaved": True,
                    "mrope_section": [24, 20, 20],
                    "rope_type": "default",
                },
                "rope_theta": 5000000,
                "tie_word_embeddings": True,
                "vocab_size": 151936,
            },
            "tie_word_embeddings": True,
        },
        {"model_type": "qwen3", "tie_word_embeddings": True, "max_position_embeddings": 262144},
    ),
    "InternVL3 8B": (
        {
            "architectures": ["InternVLChatModel"],
            "auto_map": {"AutoConfig": "configuration_internvl_chat.InternVLChatConfig"},
            "model_type": "internvl_chat",
            "downsample_ratio": 0.5,
            "llm_config": {
                "_attn_implementation_autoset": True,
                "_name_or_path": "./pretrained/Qwen2.5-32B-Instruct",
                "architectures": ["Qwen2ForCausalLM"],
                "attn_implementation": "flash_attention_2",
                "eos_token_id": 151643,
                "hidden_size": 3584,
                "intermediate_size": 18944,
                "max_position_embeddings": 32768,
                "model_type": "qwen2",
                "num_attention_heads": 28,
                "num_hidden_layers": 28,
                "num_key_value_heads": 4,
                "pruned_heads": {},
                "rope_scaling": None,
                "rope_theta": 1000000.0,
                "torch_dtype": "bfloat16",
                "use_bfloat16": True,
                "vocab_size": 151674,
            },
            "template": "internvl2_5",
            "torch_dtype": "bfloat16",
            "vision_config": {"model_type": "intern_vit_6b", "hidden_size": 1024},
        },
        {
            "model_type": "qwen2",
            "num_hidden_layers": 28,
            "vocab_size": 151674,
            "tie_word_embeddings": False,
            "max_position_embeddings": 32768,
        },
    ),
    "Ministral 3 (without fp8)": (
        {
            "architectures": ["Mistral3ForConditionalGeneration"],
            "model_type": "mistral3",
            "text_config": {
                "model_type": "ministral3",
                "hidden_size": 3072,
                "num_hidden_layers": 26,
                "max_position_embeddings": 262144,
                "rope_parameters": {
                    "rope_type": "yarn",
                    "type": "yarn",
                    "rope_theta": 1000000.0,
                    "factor": 16.0,
                    "original_max_position_embeddings": 16384,
                    "llama_4_scaling_beta": 0.1,
                    "beta_fast": 32.0,
                    "beta_slow": 1.0,
                    "mscale": 1.0,
                    "mscale_all_dim": 1.0,
                },
            },
            "tie_word_embeddings": True,
        },
        {"model_type": "ministral3", "tie_word_embeddings": True},
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_configs(name: str, tmp_path: Path) -> None:
    """transformers' reading of them agrees with ours, which fills in no defaults."""
    config, wanted = PUBLISHED[name]
    entry = check_supported(config)
    (tmp_path / "config.json").write_text(json.dumps(config))
    read = read_hf_config(tmp_path, wrapper_of(config)).to_dict()
    assert {key: read[key] for key in wanted if key != "eos_token_id"} == {
        key: value for key, value in wanted.items() if key != "eos_token_id"
    }
    assert read["model_type"] == entry.model_type
    light = text_config(config)
    if "eos_token_id" in wanted:
        assert light["eos_token_id"] == wanted["eos_token_id"]
    for key in ("num_hidden_layers", "hidden_size", "vocab_size"):
        assert light.get(key, read[key]) == read[key]
    assert check_supported(read) is entry
    if longest_context(light) is not None:
        assert longest_context(read) == longest_context(light)
    assert "mrope_section" not in str(read["rope_parameters"])
