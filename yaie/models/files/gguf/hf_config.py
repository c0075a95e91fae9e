"""transformers' config of the model in a GGUF file. Torch-free.

Each setting that would change the computation is either translated or refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from yaie.base.errors import ModelUnsupported
from yaie.models.files.gguf.families import find_family
from yaie.models.files.gguf.gguf_settings import GgufSettings
from yaie.models.files.gguf.header import GgufFile

# Settings that change the computation -> the values without an effect. A family that reads one of
# them translates it.
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "expert_count": (0,),
    "expert_gating_func": (0,),
    "expert_group_count": (0, 1),
    "expert_weights_scale": (0.0, 1.0),
    "expert_shared_count": (0,),
    "logit_scale": (0.0, 1.0),
    "residual_scale": (0.0, 1.0),
    "embedding_scale": (0.0, 1.0),
    "attention.scale": (0.0,),
    "attention.value_scale": (0.0, 1.0),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attention.sliding_window": (0,),
    "attention.temperature_scale": (0.0,),
    "attention.causal": (True,),
    "attn_logit_softcapping": (0.0,),
    "final_logit_softcapping": (0.0,),
    "use_parallel_residual": (False,),
    "pooling_type": (0,),
    "rope.scale_linear": (1.0,),
    "rope.scaling.attn_factor": (1.0,),
    "rope.scaling.yarn_attn_factor": (),
    "rope.scaling.yarn_beta_fast": (),
    "rope.scaling.yarn_beta_slow": (),
    "rope.scaling.yarn_ext_factor": (),
    "rope.scaling.yarn_log_multiplier": (),
    "ssm.dt_b_c_rms": (False,),
}


def read_gguf_config(file: GgufFile) -> dict[str, Any]:
    """Return the model's `config.json`. Raises `ModelUnsupported`."""
    settings = GgufSettings(file)
    family = find_family(settings)
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None:
        raise ModelUnsupported(
            f"{file.path} holds no token_embd.weight, so it has no model; name another file",
            code="model_damaged",
        )
    config: dict[str, Any] = {
        "architectures": [family.architecture],
        "model_type": family.model_type,
        "vocab_size": embedding.shape[0],
        "tie_word_embeddings": "output.weight" not in file.tensors,
        **family.constants,
    }
    for field, read in family.fields.items():
        config[field] = read(settings) if callable(read) else settings.value(read)
    for key, neutral in _NEUTRAL.items():
        expected = family.expected.get(key, neutral)
        value = settings.get(key) if key not in settings.used or key in family.expected else None
        if value is not None and value not in expected:
            settings.refuse(key, str(value))
    for name in ("bos", "eos"):
        token = file.metadata.get(f"tokenizer.ggml.{name}_token_id")
        config[f"{name}_token_id"] = token if type(token) is int else None
    return config


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
