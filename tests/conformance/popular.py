"""Fifty checkpoints that people run most in 2026, with the settings that decide on serving them.

Their state is asked of the code: `check_supported` by these settings, and the server's abilities.
Settings without an influence on it are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.quantization_config import read_quantization
from yaie.models.architecture.support import check_supported
from yaie.models.architecture.text_backbones import text_config, wrapper_of

_Config = dict[str, Any]


@dataclass(frozen=True)
class Popular:
    """A checkpoint. `others`: quantizations of its further published forms."""

    name: str
    config: _Config
    others: tuple[_Config, ...] = ()
    needs: str = ""  # an ability of the server: embeddings, reranking

    @property
    def architecture(self) -> str:
        """The class that config.json names."""
        return str(self.config["architectures"][0])

    @property
    def form(self) -> str:
        """The published form of its weights."""
        stored = read_quantization(text_config(self.config))
        return "plain" if stored is None else " ".join(sorted({f.kind for _, f in stored.targets}))

    @property
    def refusal(self) -> str:
        """The capability that is missing; empty for a checkpoint that is served."""
        try:
            check_supported(self.config)
        except ModelUnsupported as error:
            return error.message.partition(" cannot be served: ")[2].partition(". ")[0]
        return ""

    @property
    def state(self) -> str:
        """Cell of the table: served or refused, and how."""
        if self.refusal:
            return f"refused: {self.refusal}"
        if self.needs:
            return f"served for [{self.needs}](../guides/{self.needs}.md)"
        widened = "" if self.form == "plain" else f", from {self.form}"
        return f"served{widened}{'' if wrapper_of(self.config) is None else ', text only'}"


def count() -> str:
    """Return the numbers above the table."""
    served = [each for each in POPULAR if not each.refusal]
    text = sum(wrapper_of(each.config) is not None for each in served)
    floats = sum("fp" in each.form for each in served)
    return (
        f"**{len(served)} of these {len(POPULAR)} checkpoints are served as published**, "
        f"{len(served) - floats} in plain or integer weights and {floats} in fp8 or "
        f"mxfp4. Of {text} with images or audio, the text is served."
    )


def _of(architecture: str, model_type: str, **settings: Any) -> _Config:
    return {"architectures": [architecture], "model_type": model_type, **settings}


def _around(architecture: str, model_type: str, text: _Config, **settings: Any) -> _Config:
    """Return the config of a class that takes images or audio besides text."""
    return _of(architecture, model_type, text_config=text, vision_config={}, **settings)


def _mixed(count: int) -> _Config:
    types = ["sliding_attention", "full_attention"] * (count // 2)
    return {"num_hidden_layers": count, "layer_types": types}


_BLOCKS = {
    "quant_method": "fp8",
    "activation_scheme": "dynamic",
    "weight_block_size": [128, 128],
    "fmt": "e4m3",
}
_STATIC = {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None}
_GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
_AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
_MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
_CHANNELS = {
    "quant_method": "compressed-tensors",
    "format": "float-quantized",
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "float", "strategy": "channel", "dynamic": False},
            "input_activations": {"num_bits": 8, "type": "float", "dynamic": True},
        }
    },
}
_INT4_EXPERTS = {
    "quant_method": "compressed-tensors",
    "format": "pack-quantized",
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32},
        }
    },
}
_LLAMA3 = {
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
}
_YARN = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}
_MINISTRAL = {
    "model_type": "ministral3",
    "rope_parameters": {
        "rope_type": "yarn",
        "factor": 16.0,
        "original_max_position_embeddings": 16384,
        "llama_4_scaling_beta": 0.1,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}
_MROPE = {"rope_type": "default", "mrope_section": [24, 20, 20], "mrope_interleaved": True}
_LONGROPE = {"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [1.0] * 48}
_QWEN35 = {
    "model_type": "qwen3_5_text",
    "num_hidden_layers": 2,
    "layer_types": ["linear_attention", "full_attention"],
}
_GEMMA4 = {"model_type": "gemma4_text", **_mixed(30)}

POPULAR: tuple[Popular, ...] = (
    Popular("Qwen3-0.6B", _of("Qwen3ForCausalLM", "qwen3")),
    Popular("Qwen3-4B-2507", _of("Qwen3ForCausalLM", "qwen3"), (_BLOCKS,)),
    Popular("Qwen3-8B", _of("Qwen3ForCausalLM", "qwen3"), (_AWQ, _BLOCKS)),
    Popular("Qwen3-30B-A3B-2507", _of("Qwen3MoeForCausalLM", "qwen3_moe"), (_BLOCKS, _GPTQ)),
    Popular("Qwen3-Coder-30B-A3B", _of("Qwen3MoeForCausalLM", "qwen3_moe"), (_BLOCKS,)),
    Popular("Qwen3-Coder-Next, Qwen3-Next-80B-A3B", _of("Qwen3NextForCausalLM", "qwen3_next")),
    Popular("Qwen2.5-1.5B, 7B, Coder", _of("Qwen2ForCausalLM", "qwen2"), (_AWQ, _GPTQ)),
    Popular(
        "Qwen2.5-VL-7B",
        _of(
            "Qwen2_5_VLForConditionalGeneration",
            "qwen2_5_vl",
            rope_scaling={"type": "mrope", "mrope_section": [16, 24, 24]},
            vision_config={},
        ),
    ),
    Popular(
        "Qwen3-VL-2B, 8B",
        _around(
            "Qwen3VLForConditionalGeneration",
            "qwen3_vl",
            {"model_type": "qwen3_vl_text", "rope_scaling": _MROPE},
        ),
        (_BLOCKS,),
    ),
    Popular(
        "Qwen3.5-0.8B, 4B, 9B",
        _around("Qwen3_5ForConditionalGeneration", "qwen3_5", _QWEN35),
    ),
    Popular(
        "Qwen3.5-35B-A3B, Qwen3.6-35B-A3B",
        _around(
            "Qwen3_5MoeForConditionalGeneration",
            "qwen3_5_moe",
            {**_QWEN35, "model_type": "qwen3_5_moe_text"},
        ),
        (_BLOCKS,),
    ),
    Popular(
        "Qwen3.6-27B, Qwen3.8-27B",
        _around("Qwen3_5ForConditionalGeneration", "qwen3_5", _QWEN35),
        (_BLOCKS,),
    ),
    Popular("gemma-3-270m, 1b", _of("Gemma3ForCausalLM", "gemma3_text", **_mixed(26))),
    Popular(
        "gemma-3-4b, 12b, 27b",
        _around("Gemma3ForConditionalGeneration", "gemma3", {"model_type": "gemma3_text"}),
    ),
    Popular(
        "gemma-3n-E2B, E4B",
        _around(
            "Gemma3nForConditionalGeneration",
            "gemma3n",
            {"model_type": "gemma3n_text", **_mixed(30)},
        ),
    ),
    Popular("gemma-4-E2B, E4B", _around("Gemma4ForConditionalGeneration", "gemma4", _GEMMA4)),
    Popular(
        "gemma-4-12B",
        _around(
            "Gemma4UnifiedForConditionalGeneration",
            "gemma4_unified",
            {
                "model_type": "gemma4_unified_text",
                **_mixed(48),
                "use_bidirectional_attention": "vision",
            },
        ),
    ),
    Popular(
        "gemma-4-26B-A4B",
        _around(
            "Gemma4ForConditionalGeneration",
            "gemma4",
            {**_GEMMA4, "enable_moe_block": True, "use_bidirectional_attention": "vision"},
        ),
    ),
    Popular(
        "gemma-4-31B",
        _around(
            "Gemma4ForConditionalGeneration",
            "gemma4",
            {**_GEMMA4, "use_bidirectional_attention": "vision"},
        ),
    ),
    Popular(
        "gpt-oss-20b",
        _of(
            "GptOssForCausalLM",
            "gpt_oss",
            **_mixed(24),
            rope_scaling=_YARN,
            quantization_config=_MXFP4,
        ),
    ),
    Popular(
        "gpt-oss-120b",
        _of(
            "GptOssForCausalLM",
            "gpt_oss",
            **_mixed(36),
            rope_scaling=_YARN,
            quantization_config=_MXFP4,
        ),
    ),
    Popular("Llama-3.1-8B", _of("LlamaForCausalLM", "llama", **_LLAMA3), (_AWQ, _GPTQ)),
    Popular("Llama-3.2-1B, 3B", _of("LlamaForCausalLM", "llama", **_LLAMA3)),
    Popular("Llama-3.3-70B", _of("LlamaForCausalLM", "llama", **_LLAMA3), (_CHANNELS,)),
    Popular(
        "Llama-4-Scout",
        _around("Llama4ForConditionalGeneration", "llama4", {"model_type": "llama4_text"}),
    ),
    Popular(
        "Muse-Glimmer-30B",
        _around(
            "MuseGlimmerForConditionalGeneration",
            "muse_glimmer",
            {"model_type": "muse_glimmer_text"},
        ),
    ),
    Popular("DeepSeek-R1-Distill-Qwen, Llama", _of("Qwen2ForCausalLM", "qwen2")),
    Popular(
        "DeepSeek-V3, R1",
        _of(
            "DeepseekV3ForCausalLM",
            "deepseek_v3",
            auto_map={"AutoModelForCausalLM": "modeling_deepseek.DeepseekV3ForCausalLM"},
            rope_scaling={**_YARN, "type": "yarn", "factor": 40},
            quantization_config=_BLOCKS,
        ),
    ),
    Popular(
        "DeepSeek-V3.2",
        _of("DeepseekV32ForCausalLM", "deepseek_v32", quantization_config=_BLOCKS),
    ),
    Popular(
        "DeepSeek-V4-Flash",
        _of("DeepseekV4ForCausalLM", "deepseek_v4", quantization_config=_BLOCKS),
    ),
    Popular("Mistral-7B-v0.3, Mistral-Nemo", _of("MistralForCausalLM", "mistral"), (_AWQ,)),
    Popular(
        "Mistral-Small-3.2-24B",
        _around("Mistral3ForConditionalGeneration", "mistral3", {"model_type": "mistral"}),
    ),
    Popular(
        "Ministral-3-3B, 8B, 14B",
        _around(
            "Mistral3ForConditionalGeneration", "mistral3", _MINISTRAL, quantization_config=_STATIC
        ),
    ),
    Popular(
        "Devstral-Small-2-24B",
        _around(
            "Mistral3ForConditionalGeneration", "mistral3", _MINISTRAL, quantization_config=_STATIC
        ),
    ),
    Popular(
        "Phi-4, Phi-4-mini",
        _of(
            "Phi3ForCausalLM",
            "phi3",
            rope_scaling=_LONGROPE,
            max_position_embeddings=131_072,
            original_max_position_embeddings=4096,
            auto_map={"AutoConfig": "configuration_phi3.Phi3Config"},
        ),
    ),
    Popular("GLM-4.5-Air", _of("Glm4MoeForCausalLM", "glm4_moe"), (_CHANNELS,)),
    Popular("GLM-4.7-Flash", _of("Glm4MoeLiteForCausalLM", "glm4_moe_lite")),
    Popular("GLM-5, 5.1, 5.2", _of("GlmMoeDsaForCausalLM", "glm_moe_dsa"), (_BLOCKS,)),
    Popular(
        "Kimi-K2.5, K2.6",
        _around(
            "KimiK25ForConditionalGeneration",
            "kimi_k25",
            {"model_type": "kimi_k2", "quantization_config": _INT4_EXPERTS},
            auto_map={"AutoConfig": "configuration_kimi_k25.KimiK25Config"},
        ),
    ),
    Popular(
        "MiniMax-M2.5",
        _of(
            "MiniMaxM2ForCausalLM",
            "minimax_m2",
            auto_map={"AutoConfig": "configuration_minimax_m2.MiniMaxM2Config"},
            quantization_config=_BLOCKS,
        ),
    ),
    Popular(
        "Granite-4.0-h-micro, tiny",
        _of(
            "GraniteMoeHybridForCausalLM",
            "granitemoehybrid",
            num_hidden_layers=2,
            layer_types=["mamba", "attention"],
        ),
    ),
    Popular(
        "LFM2.5-1.2B, LFM2-8B-A1B",
        _of("Lfm2ForCausalLM", "lfm2", num_hidden_layers=2, layer_types=["conv", "full_attention"]),
    ),
    Popular("Nemotron-3-Nano-30B-A3B", _of("NemotronHForCausalLM", "nemotron_h")),
    Popular("SmolLM3-3B, SmolLM2", _of("SmolLM3ForCausalLM", "smollm3")),
    Popular("Olmo-3-7B", _of("Olmo3ForCausalLM", "olmo3", **_mixed(32))),
    Popular("Hy3", _of("HYV3ForCausalLM", "hy_v3")),
    Popular("Qwen3-Embedding-0.6B", _of("Qwen3ForCausalLM", "qwen3"), needs="embeddings"),
    Popular("bge-m3 in safetensors", _of("XLMRobertaModel", "xlm-roberta"), needs="embeddings"),
    Popular("all-MiniLM-L6-v2", _of("BertModel", "bert"), needs="embeddings"),
    Popular(
        "bge-reranker-v2-m3, Qwen3-Reranker",
        _of("XLMRobertaForSequenceClassification", "xlm-roberta"),
        needs="reranking",
    ),
)
