"""A tiny random model for the suite, and settings that several of them share.

Its weights are scaled so that attention is far from uniform and every logit depends on the whole
prefix; with the usual initialisation a wrong mask or a lost sink would hardly show.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

VOCAB_SIZE = 128
WINDOW = 8
LAYERS = 4
MIXED_LAYERS = ["sliding_attention", "full_attention"] * (LAYERS // 2)

COMMON = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": VOCAB_SIZE,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@dataclass(frozen=True)
class Case:
    """One tiny model; `note` names its attention features for the support table."""

    name: str
    architecture: str
    note: str
    settings: dict[str, Any] = field(default_factory=dict)
    reach: int | None = None  # number of last tokens with a clear effect on a logit; None: all
    gain: float = 1.0  # of the matrices; less for a model that amplifies rounding

    def config(self) -> Any:
        """Build the transformers config.

        A config writes into nested settings, which cases share: it gets a copy.
        """
        config_class = getattr(transformers, self.architecture).config_class
        return config_class(**copy.deepcopy({**COMMON, **self.settings}))

    def build(self) -> torch.nn.Module:
        """Build the model in float32 with eager attention: the oracle."""
        return random_model(self.architecture, self.config())


def random_model(architecture: str, config: Any) -> torch.nn.Module:
    """Build a model of random weights in float32, with eager attention."""
    torch.manual_seed(1)
    model_class = getattr(transformers, architecture)
    model: torch.nn.Module = model_class._from_config(config, attn_implementation="eager")
    model = model.float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() < 2:
                parameter.add_(torch.randn_like(parameter) * 0.1)
            else:
                wide = "q_proj" in name or "k_proj" in name or "qkv" in name
                parameter.normal_(0, 0.25 if wide else 0.15)
    return model


def rope(rope_type: str, **parameters: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": rope_type, "rope_theta": 10000.0, **parameters}}


SCALED_POSITIONS = rope(
    "yarn",
    factor=16.0,
    original_max_position_embeddings=16,
    llama_4_scaling_beta=0.1,
    mscale=1.0,
    mscale_all_dim=1.0,
)


def save(case: Case, model: torch.nn.Module, folder: Path) -> None:
    """Write the model as a model folder that the loader reads."""
    model.save_pretrained(folder)  # type: ignore[operator]
