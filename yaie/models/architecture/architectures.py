"""Supported architectures, and model types that are refused by name, with the reason.

The conformance suite (`tests/conformance`) compares each architecture in `SUPPORTED` with
transformers; the table in `docs/reference/model-support.md` is written from here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SupportedArchitecture:
    """An architecture that the conformance suite covers."""

    architecture: str  # class named in config.json
    model_type: str
    known_as: str  # its well-known models
    # Types of layers besides attention: recurrent ones, whose states the tree keeps.
    recurrent: tuple[str, ...] = ()


# "mamba" is the word of older files; "hybrid" has attention too.
_LINEAR = ("linear_attention", "mamba")
_CONVOLUTION = ("conv",)
_HYBRID = ("hybrid",)

SUPPORTED: tuple[SupportedArchitecture, ...] = (
    SupportedArchitecture("AfmoeForCausalLM", "afmoe", "Arcee Trinity"),
    SupportedArchitecture("ApertusForCausalLM", "apertus", "Apertus"),
    SupportedArchitecture("ArceeForCausalLM", "arcee", "Arcee AFM"),
    SupportedArchitecture("BambaForCausalLM", "bamba", "Bamba", recurrent=_LINEAR),
    SupportedArchitecture("Cohere2ForCausalLM", "cohere2", "Command R7B, Command A"),
    SupportedArchitecture("Cohere2MoeForCausalLM", "cohere2_moe", "Command A+"),
    SupportedArchitecture("CohereForCausalLM", "cohere", "Command R, Aya"),
    SupportedArchitecture("DeepseekV2ForCausalLM", "deepseek_v2", "DeepSeek V2 and V2-Lite"),
    SupportedArchitecture(
        "DeepseekV3ForCausalLM", "deepseek_v3", "DeepSeek V3, R1; Kimi K2; Moonlight; Sarvam 105B"
    ),
    SupportedArchitecture("Dots1ForCausalLM", "dots1", "dots.llm1"),
    SupportedArchitecture(
        "Ernie4_5_MoeForCausalLM", "ernie4_5_moe", "ERNIE 4.5 21B-A3B, 300B-A47B"
    ),
    SupportedArchitecture("Ernie4_5ForCausalLM", "ernie4_5", "ERNIE 4.5 0.3B"),
    SupportedArchitecture("Exaone4ForCausalLM", "exaone4", "EXAONE 4"),
    SupportedArchitecture("ExaoneMoeForCausalLM", "exaone_moe", "K-EXAONE"),
    SupportedArchitecture("FalconH1ForCausalLM", "falcon_h1", "Falcon-H1", recurrent=_HYBRID),
    SupportedArchitecture("Gemma2ForCausalLM", "gemma2", "Gemma 2"),
    SupportedArchitecture("Gemma3ForCausalLM", "gemma3_text", "Gemma 3 270M and 1B"),
    SupportedArchitecture("Gemma3nForCausalLM", "gemma3n_text", "Gemma 3n, text-only checkpoints"),
    SupportedArchitecture("Gemma4ForCausalLM", "gemma4_text", "Gemma 4, text-only checkpoints"),
    SupportedArchitecture(
        "Gemma4UnifiedForCausalLM", "gemma4_unified_text", "Gemma 4 12B, text-only checkpoints"
    ),
    SupportedArchitecture("GemmaForCausalLM", "gemma", "Gemma 1"),
    SupportedArchitecture("Glm4ForCausalLM", "glm4", "GLM-4-0414"),
    SupportedArchitecture("Glm4MoeForCausalLM", "glm4_moe", "GLM-4.5, GLM-4.6, Sarvam 30B"),
    SupportedArchitecture("Glm4MoeLiteForCausalLM", "glm4_moe_lite", "GLM-4.7-Flash"),
    SupportedArchitecture("GlmForCausalLM", "glm", "GLM-4 9B"),
    SupportedArchitecture("GPT2LMHeadModel", "gpt2", "GPT-2, DistilGPT-2"),
    SupportedArchitecture("GPTBigCodeForCausalLM", "gpt_bigcode", "StarCoder, SantaCoder"),
    SupportedArchitecture("GPTNeoXForCausalLM", "gpt_neox", "Pythia, GPT-NeoX"),
    SupportedArchitecture("GptOssForCausalLM", "gpt_oss", "gpt-oss"),
    SupportedArchitecture("GraniteForCausalLM", "granite", "Granite 3, dense"),
    SupportedArchitecture("GraniteMoeForCausalLM", "granitemoe", "Granite 3 1B-A400M, 3B-A800M"),
    SupportedArchitecture(
        "GraniteMoeHybridForCausalLM", "granitemoehybrid", "Granite 4.0", recurrent=_LINEAR
    ),
    SupportedArchitecture(
        "GraniteMoeSharedForCausalLM", "granitemoeshared", "Granite mixtures with a shared expert"
    ),
    SupportedArchitecture(
        "HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", "Hunyuan 0.5B to 7B, HY-MT"
    ),
    SupportedArchitecture("HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", "Hunyuan A13B"),
    SupportedArchitecture("HYV3ForCausalLM", "hy_v3", "Hy3"),
    SupportedArchitecture("KimiLinearForCausalLM", "kimi_linear", "Kimi Linear", recurrent=_LINEAR),
    SupportedArchitecture("LagunaForCausalLM", "laguna", "Laguna"),
    SupportedArchitecture("Lfm2ForCausalLM", "lfm2", "LFM2", recurrent=_CONVOLUTION),
    SupportedArchitecture("Lfm2MoeForCausalLM", "lfm2_moe", "LFM2 8B-A1B", recurrent=_CONVOLUTION),
    SupportedArchitecture("Lfm3ForCausalLM", "lfm3", "LFM3", recurrent=_CONVOLUTION),
    SupportedArchitecture(
        "LlamaForCausalLM", "llama", "Llama 2 and 3, SmolLM2, TinyLlama, Yi, IQuest-Coder, EXAONE 3"
    ),
    SupportedArchitecture("MellumForCausalLM", "mellum", "Mellum 2"),
    SupportedArchitecture("MiniMaxM2ForCausalLM", "minimax_m2", "MiniMax-M2, M2.5"),
    SupportedArchitecture("MiMoV2FlashForCausalLM", "mimo_v2_flash", "MiMo-V2-Flash"),
    SupportedArchitecture(
        "Ministral3ForCausalLM", "ministral3", "Ministral 3, text-only checkpoints"
    ),
    SupportedArchitecture(
        "Mistral4ForCausalLM", "mistral4", "Mistral Small 4, text-only checkpoints"
    ),
    SupportedArchitecture("MistralForCausalLM", "mistral", "Mistral 7B, Mistral Nemo"),
    SupportedArchitecture("MixtralForCausalLM", "mixtral", "Mixtral 8x7B, 8x22B"),
    SupportedArchitecture("NanoChatForCausalLM", "nanochat", "nanochat"),
    SupportedArchitecture(
        "NemotronHForCausalLM", "nemotron_h", "Nemotron-H, Nemotron 3", recurrent=_LINEAR
    ),
    SupportedArchitecture("NemotronForCausalLM", "nemotron", "Nemotron 4, Minitron"),
    SupportedArchitecture("Olmo2ForCausalLM", "olmo2", "OLMo 2"),
    SupportedArchitecture("Olmo3ForCausalLM", "olmo3", "OLMo 3"),
    SupportedArchitecture("OlmoHybridForCausalLM", "olmo_hybrid", "OLMo hybrid", recurrent=_LINEAR),
    SupportedArchitecture("OlmoeForCausalLM", "olmoe", "OLMoE"),
    SupportedArchitecture("OlmoForCausalLM", "olmo", "OLMo 1"),
    SupportedArchitecture("OPTForCausalLM", "opt", "OPT"),
    SupportedArchitecture("Phi3ForCausalLM", "phi3", "Phi-3, Phi-3.5, Phi-4"),
    SupportedArchitecture("PhiForCausalLM", "phi", "Phi-1.5, Phi-2"),
    SupportedArchitecture("PhimoeForCausalLM", "phimoe", "Phi-3.5-MoE"),
    SupportedArchitecture("Qwen2ForCausalLM", "qwen2", "Qwen 2 and 2.5, DeepSeek R1 Distill"),
    SupportedArchitecture("Qwen2MoeForCausalLM", "qwen2_moe", "Qwen1.5-MoE, Qwen2 57B-A14B"),
    SupportedArchitecture(
        "Qwen3_5ForCausalLM",
        "qwen3_5_text",
        "Qwen3.5, text-only checkpoints",
        recurrent=_LINEAR,
    ),
    SupportedArchitecture(
        "Qwen3_5MoeForCausalLM",
        "qwen3_5_moe_text",
        "Qwen3.5 mixtures, text-only checkpoints",
        recurrent=_LINEAR,
    ),
    SupportedArchitecture(
        "Qwen3NextForCausalLM", "qwen3_next", "Qwen3-Next 80B-A3B", recurrent=_LINEAR
    ),
    SupportedArchitecture("Qwen3ForCausalLM", "qwen3", "Qwen 3; the built-in model"),
    SupportedArchitecture("Qwen3MoeForCausalLM", "qwen3_moe", "Qwen 3 30B-A3B, 235B-A22B"),
    SupportedArchitecture("SeedOssForCausalLM", "seed_oss", "Seed-OSS"),
    SupportedArchitecture("SmolLM3ForCausalLM", "smollm3", "SmolLM3"),
    SupportedArchitecture("SolarOpenForCausalLM", "solar_open", "Solar Open"),
    SupportedArchitecture("Starcoder2ForCausalLM", "starcoder2", "StarCoder 2"),
)

# Text backbones whose class exists only in `yaie.models.architecture.text_classes`.
OF_WRAPPERS: tuple[SupportedArchitecture, ...] = (
    SupportedArchitecture("MuseGlimmerForCausalLM", "muse_glimmer_text", "Muse Glimmer"),
)

RUNNING_STATE = (
    "a running state (linear attention or state space) is held for the tested classes only"
)
LINEAR = f"it mixes attention with other layers, and {RUNNING_STATE}"
_SHARED = "its layers share attention weights, and each layer needs separate keys and values"
_STATE = "it has no attention layers, and a model without any is not served yet"
_CHUNKED = (
    "its chunked attention is expressed in a mask only, and its attention temperature "
    "depends on the index in the batch instead of the position"
)
_MASK = "its attention (ALiBi, or its own layout) bypasses transformers' attention interface"
ENCODER_DECODER = "it is an encoder-decoder: its decoder also attends to the encoder's output"
INDEXED = (
    "its layers select keys by a separate index (sparse attention), which the KV cache does "
    "not store yet"
)
IMAGES = "it takes images or audio, and its text is not in the conformance suite"
NO_TEXT = "it does not generate text"
_PREFIX = "its attention is bidirectional over the prompt"

# Popular model types that would be computed wrongly or cannot run, with the reason.
REFUSED: dict[str, str] = {
    "jamba": LINEAR,
    "minimax": LINEAR,
    "recurrent_gemma": LINEAR,
    "zamba": _SHARED,
    "zamba2": _SHARED,
    "mamba": _STATE,
    "mamba2": _STATE,
    "falcon_mamba": _STATE,
    "rwkv": _STATE,
    "xlstm": _STATE,
    "llama4": _CHUNKED,
    "llama4_text": _CHUNKED,
    "bloom": _MASK,
    "falcon": _MASK,
    "gptj": _MASK,
    "mpt": _MASK,
    "stablelm": _MASK,
    "bart": ENCODER_DECODER,
    "t5": ENCODER_DECODER,
    "t5gemma": ENCODER_DECODER,
    "whisper": ENCODER_DECODER,
    "deepseek_v32": INDEXED,
    "deepseek_v4": INDEXED,
    "glm_moe_dsa": INDEXED,
    "paligemma": _PREFIX,
    "phi4_multimodal": IMAGES,
    "phi4mm": IMAGES,
}
