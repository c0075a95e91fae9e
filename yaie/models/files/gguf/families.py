"""The families of GGUF files, by the architecture that a file names. Torch-free."""

from __future__ import annotations

from pathlib import Path

from yaie.base.errors import ModelUnsupported
from yaie.models.files.gguf import delta_net_families as delta_nets
from yaie.models.files.gguf import dense_families as dense
from yaie.models.files.gguf import gemma_families as gemma
from yaie.models.files.gguf import latent_families as latent
from yaie.models.files.gguf import mamba_families as mamba
from yaie.models.files.gguf import mixture_families as mixtures
from yaie.models.files.gguf import short_convolution_families as convolutions
from yaie.models.files.gguf.family import Family
from yaie.models.files.gguf.gguf_settings import HOW_TO_HELP, GgufSettings

# The first family that applies to a file counts.
FAMILIES: dict[str, tuple[Family, ...]] = {
    "arcee": (dense.ARCEE,),
    "chatglm": (dense.GLM,),
    "cohere2": (dense.COHERE2,),
    "command-r": (dense.COHERE,),
    "deepseek2": (latent.DEEPSEEK2, latent.DEEPSEEK3),
    "dots1": (mixtures.DOTS1,),
    "ernie4_5": (dense.ERNIE,),
    "ernie4_5-moe": (mixtures.ERNIE_MOE,),
    "exaone-moe": (mixtures.EXAONE_MOE,),
    "exaone4": (dense.EXAONE4,),
    "falcon-h1": (mamba.FALCON_H1,),
    "gemma": (gemma.GEMMA,),
    "gemma2": (gemma.GEMMA2,),
    "gemma3": (gemma.GEMMA3,),
    "gemma3n": (gemma.GEMMA3N,),
    "gemma4": (gemma.GEMMA4,),
    "glm4": (dense.GLM4,),
    "glm4moe": (mixtures.GLM4_MOE,),
    "gpt-oss": (mixtures.GPT_OSS,),
    "granite": (dense.GRANITE,),
    "granitehybrid": (mamba.GRANITE_HYBRID_MOE, mamba.GRANITE_HYBRID),
    "granitemoe": (mixtures.GRANITE_MOE_SHARED, mixtures.GRANITE_MOE),
    "hunyuan-dense": (dense.HUNYUAN,),
    "hunyuan-moe": (mixtures.HUNYUAN_MOE,),
    "hy_v3": (mixtures.HY_V3,),
    "lfm2": (convolutions.LFM2,),
    "lfm2moe": (convolutions.LFM2_MOE,),
    "llama": (mixtures.MIXTRAL, dense.LLAMA),
    "mellum": (mixtures.MELLUM,),
    "minimax-m2": (mixtures.MINIMAX_M2,),
    "mistral3": (dense.MINISTRAL3, dense.MISTRAL),
    "nemotron": (dense.NEMOTRON,),
    "nemotron_h": (mamba.NEMOTRON_H,),
    "nemotron_h_moe": (mamba.NEMOTRON_H_MOE,),
    "olmo": (dense.OLMO,),
    "olmo2": (dense.OLMO3, dense.OLMO2),
    "olmoe": (mixtures.OLMOE,),
    "phi2": (dense.PHI2,),
    "phi3": (dense.PHI3,),
    "phimoe": (mixtures.PHIMOE,),
    "qwen2": (dense.QWEN2,),
    "qwen2moe": (mixtures.QWEN2_MOE,),
    "qwen2vl": (dense.QWEN2,),
    "qwen3": (dense.QWEN3,),
    "qwen35": (delta_nets.QWEN35,),
    "qwen35moe": (delta_nets.QWEN35_MOE,),
    "qwen3moe": (mixtures.QWEN3_MOE,),
    "qwen3next": (delta_nets.QWEN3_NEXT,),
    "qwen3vl": (dense.QWEN3,),
    "qwen3vlmoe": (mixtures.QWEN3_MOE,),
    "seed_oss": (dense.SEED_OSS,),
    "smollm3": (dense.SMOLLM3,),
    "starcoder2": (dense.STARCODER2,),
}


def find_family(settings: GgufSettings) -> Family:
    """Return the family of a file. Raises `ModelUnsupported` if there is none."""
    kind = str(settings.metadata.get("general.type", "model"))
    if kind != "model":
        raise ModelUnsupported(
            f"{settings.path} holds a GGUF of type {kind[:80]!r}; name the file of a model"
        )
    for family in FAMILIES.get(settings.name, ()):
        if family.applies is None or family.applies(settings):
            return family
    raise refuse_architecture(settings.name, settings.path)


def refuse_architecture(name: str, holder: Path | str) -> ModelUnsupported:
    """Return the error for a file's or repository's architecture that no family has."""
    return ModelUnsupported(
        f"{holder} holds a model of architecture {name[:80]!r}, which is not read from GGUF; "
        f"{HOW_TO_HELP}"
    )
