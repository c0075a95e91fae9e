"""transformers' config of the model in a GGUF file. Torch-free.

Each setting that would change the computation is either translated or refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from yaie.base.errors import ModelUnsupported
from yaie.models.files.gguf.header import GgufFile

HOW_TO_HELP = "use the model's safetensors folder instead"

# Settings of other models of the same name in llama.cpp -> the values without an effect.
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "expert_count": (0,),
    "logit_scale": (0.0, 1.0),
    "residual_scale": (0.0, 1.0),
    "embedding_scale": (0.0, 1.0),
    "attention.scale": (0.0,),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attention.sliding_window": (0,),
    "attention.causal": (True,),
    "attn_logit_softcapping": (0.0,),
    "final_logit_softcapping": (0.0,),
    "use_parallel_residual": (False,),
    "pooling_type": (0,),
    "rope.scale_linear": (1.0,),
    "rope.scaling.attn_factor": (1.0,),
}
# The constants of Llama 3's rope that all published models share. The file holds the outcome.
_LLAMA3 = {
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
ROPE_FREQUENCIES = "rope_freqs.weight"


@dataclass(frozen=True, slots=True)
class GgufFamily:
    """An architecture of GGUF files, and the class that computes it."""

    architecture: str  # transformers' class
    model_type: str
    permutes: bool  # the rows of q and k are in llama.cpp's order
    has_qkv_bias: bool  # in every model, without a setting in the config
    has_qk_norm: bool


FAMILIES = {
    "llama": GgufFamily("LlamaForCausalLM", "llama", True, False, False),
    "qwen2": GgufFamily("Qwen2ForCausalLM", "qwen2", False, True, False),
    "qwen3": GgufFamily("Qwen3ForCausalLM", "qwen3", False, False, True),
}


def refuse_architecture(name: str, holder: Path | str) -> ModelUnsupported:
    """Return the error for a file's or repository's architecture that no family has."""
    return ModelUnsupported(
        f"{holder} holds a model of architecture {name[:80]!r}, and GGUF files of "
        f"{', '.join(FAMILIES)} are supported; {HOW_TO_HELP}"
    )


class GgufSettings:
    """The metadata of a file's architecture, with checks of their types."""

    def __init__(self, file: GgufFile) -> None:
        self.path = file.path
        self.metadata = file.metadata
        self.name = str(file.metadata.get("general.architecture"))

    def family(self) -> GgufFamily:
        """Return the family. Raises `ModelUnsupported` for an unsupported one."""
        kind = self.metadata.get("general.type", "model")
        if kind != "model":
            raise ModelUnsupported(
                f"{self.path} holds a GGUF of type {str(kind)[:80]!r}; name the file of a model"
            )
        if (
            number := int(self.metadata.get("split.count", 1) or 1)
        ) > 1:  # later parts have no more
            part = int(self.metadata.get("split.no", 0)) + 1
            raise ModelUnsupported(
                f"{self.path} is part {part} of a model in {number} parts; join them by "
                f"`llama-gguf-split --merge` and name the whole file"
            )
        if self.name not in FAMILIES:
            raise refuse_architecture(self.name, self.path)
        return FAMILIES[self.name]

    def get(self, key: str, default: Any = None) -> Any:
        """Return a setting of the architecture; equal values of all layers as one."""
        value = self.metadata.get(f"{self.name}.{key}", default)
        if isinstance(value, np.ndarray):
            unique = set(value.tolist())
            if len(unique) != 1:
                self.refuse(key, "a value for each layer")
            return unique.pop()
        return value

    def size(self, key: str, default: int | None = None) -> int:
        """Return a positive integer."""
        value = self.get(key, default)
        if type(value) is not int or not 0 < value < 2**31:
            raise ModelUnsupported(
                f"{self.path} is damaged: {self.name}.{key} is {str(value)[:80]!r}, which is not a "
                f"size; download it again",
                code="model_damaged",
            )
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Return a positive float, in the fewest digits of float32: 1e-05, not 9.99e-06."""
        value = self.get(key, default)
        if type(value) not in (int, float) or not 0 < value < math.inf:
            raise ModelUnsupported(
                f"{self.path} is damaged: {self.name}.{key} is {str(value)[:80]!r}, which is not a "
                f"positive number; download it again",
                code="model_damaged",
            )
        return float(str(np.float32(value)))

    def refuse(self, key: str, what: str) -> None:
        """Raise `ModelUnsupported` for a setting."""
        raise ModelUnsupported(
            f"{self.path} has {what[:80]} in {self.name}.{key}, which is not supported; "
            f"{HOW_TO_HELP}"
        )


def read_gguf_config(file: GgufFile) -> dict[str, Any]:
    """Return the model's `config.json`. Raises `ModelUnsupported`."""
    settings = GgufSettings(file)
    family = settings.family()
    for key, neutral in _NEUTRAL.items():
        value = settings.get(key)
        if value is not None and value not in neutral:
            settings.refuse(key, str(value))
    hidden = settings.size("embedding_length")
    heads = settings.size("attention.head_count")
    head_dim = settings.size("attention.key_length", hidden // heads)
    for key in ("attention.value_length", "rope.dimension_count"):
        if settings.size(key, head_dim) != head_dim:
            settings.refuse(key, f"{settings.get(key)} with heads of {head_dim}")
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None:
        raise ModelUnsupported(
            f"{file.path} holds no token_embd.weight, so it has no model; name another file",
            code="model_damaged",
        )
    context = settings.size("context_length")
    has_bias = "blk.0.attn_q.bias" in file.tensors
    config: dict[str, Any] = {
        "architectures": [family.architecture],
        "model_type": family.model_type,
        "hidden_size": hidden,
        "intermediate_size": settings.size("feed_forward_length"),
        "num_hidden_layers": settings.size("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": settings.size("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": settings.number("attention.layer_norm_rms_epsilon"),
        "rope_parameters": _rope(file, settings, head_dim),
        "max_position_embeddings": context,
        "vocab_size": embedding.shape[0],
        "tie_word_embeddings": "output.weight" not in file.tensors,
    }
    if not family.has_qkv_bias:
        config["attention_bias"] = has_bias
    for name in ("bos", "eos"):
        token = file.metadata.get(f"tokenizer.ggml.{name}_token_id")
        config[f"{name}_token_id"] = token if type(token) is int else None
    return config


def _rope(file: GgufFile, settings: GgufSettings, head_dim: int) -> dict[str, Any]:
    """Return the settings of the rope table."""
    theta = settings.number("rope.freq_base", 10_000.0)
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": theta}
    kind = settings.get("rope.scaling.type", "none")
    if kind in ("linear", "yarn"):
        rope |= {"rope_type": kind, "factor": settings.number("rope.scaling.factor")}
        if kind == "yarn":
            original = settings.size("rope.scaling.original_context_length")
            rope["original_max_position_embeddings"] = original
    elif kind != "none":
        settings.refuse("rope.scaling.type", str(kind))
    tuned = next((key for key in file.metadata if ".rope.scaling.yarn_" in key), None)
    if tuned is not None:
        settings.refuse(tuned.partition(".")[2], str(file.metadata[tuned]))
    if ROPE_FREQUENCIES in file.tensors:
        if kind != "none":
            settings.refuse("rope.scaling.type", f"{kind} with {ROPE_FREQUENCIES}")
        rope |= _llama3_rope(file, settings, theta, head_dim)
    return rope


def _llama3_rope(
    file: GgufFile, settings: GgufSettings, theta: float, head_dim: int
) -> dict[str, Any]:
    """Return Llama 3's settings, if they give the divisors of the frequencies in the file."""
    tensor = file.tensors[ROPE_FREQUENCIES]
    if tensor.kind != "F32" or tensor.shape != (head_dim // 2,):
        settings.refuse(ROPE_FREQUENCIES, f"{tensor.kind} of shape {tensor.shape}")
    stored = np.fromfile(file.path, "<f4", head_dim // 2, offset=tensor.first_byte)
    factor = float(stored.max())
    waves = 2 * np.pi * theta ** (np.arange(0, head_dim, 2) / head_dim)
    original = _LLAMA3["original_max_position_embeddings"]
    low, high = _LLAMA3["low_freq_factor"], _LLAMA3["high_freq_factor"]
    smooth = ((original / waves - low) / (high - low)).clip(0, 1)
    expected = 1 / ((1 - smooth) / factor + smooth)
    if not (math.isfinite(factor) and np.allclose(stored, expected, rtol=1e-3)):
        settings.refuse(ROPE_FREQUENCIES, "divisors that differ from Llama 3")
    return {"rope_type": "llama3", "factor": factor, **_LLAMA3}


def read_gguf_generation(file: GgufFile, ends: list[int]) -> dict[str, Any]:
    """Return the model's `generation_config.json`; `ends` are its end-of-text tokens."""
    found: dict[str, Any] = {"eos_token_id": ends}
    names: Mapping[str, str] = {
        "temp": "temperature",
        "top_k": "top_k",
        "top_p": "top_p",
        "min_p": "min_p",
        "penalty_repeat": "repetition_penalty",
    }
    for stored, name in names.items():
        value = file.metadata.get(f"general.sampling.{stored}")
        if isinstance(value, float) and math.isfinite(value):
            found[name] = float(str(np.float32(value)))
        elif type(value) is int:
            found[name] = value
    return found
