"""`PeftConfig`: the `adapter_config.json` that PEFT writes, as far as it changes the arithmetic.

What would change an answer and is not computed here is refused by its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yaie.base.errors import ModelUnsupported

MAX_RANK = 256
_MERGE = "merge the adapter into its base model"
# Fields that change the arithmetic, when they have a value, and what they stand for.
_REFUSED = {
    "use_dora": "DoRA",
    "modules_to_save": "whole layers next to the low-rank ones (modules_to_save)",
    "target_parameters": "parameters that are no linear layers (target_parameters)",
    "trainable_token_indices": "rows of the embedding (trainable_token_indices)",
    "layer_replication": "repeated layers (layer_replication)",
    "lora_bias": "biases of the low-rank layers (lora_bias)",
    "alora_invocation_tokens": "an activated LoRA (alora_invocation_tokens)",
    "use_qalora": "QALoRA",
}
_CHANGES_THE_BASE = ("pissa", "olora", "corda", "loftq")  # initializations


@dataclass(frozen=True, slots=True)
class PeftConfig:
    """An adapter's scale, and the model that it was trained for."""

    rank: int
    alpha: float
    is_rank_stabilized: bool
    base_model: str
    alphas: Mapping[str, float] = field(default_factory=dict)  # by pattern of layer names

    def scale_of(self, layer: str, rank: int) -> float:
        """Return the factor on a layer's low-rank product."""
        alpha = next(
            (value for key, value in self.alphas.items() if _matches(key, layer)), self.alpha
        )
        return alpha / (math.sqrt(rank) if self.is_rank_stabilized else rank)


def make_peft_config(path: Path, found: Mapping[str, Any]) -> PeftConfig:
    """Return the config that a file holds.

    Raises `ModelUnsupported` for one that cannot be computed.
    """
    kind = found.get("peft_type")
    if kind != "LORA":
        raise ModelUnsupported(f"{path} has the peft_type {kind!r}; LORA alone is supported")
    for name, meaning in _REFUSED.items():
        if found.get(name):
            raise ModelUnsupported(f"{path} uses {meaning}, which is not computed; {_MERGE}")
    if found.get("bias", "none") != "none":
        raise ModelUnsupported(f"{path} trains biases (bias={found['bias']!r}); {_MERGE}")
    start = found.get("init_lora_weights")
    if isinstance(start, str) and start.lower().startswith(_CHANGES_THE_BASE):
        raise ModelUnsupported(
            f"{path} changes the base model's weights too (init_lora_weights={start!r}); "
            "convert the adapter to plain LoRA with PEFT, or merge it"
        )
    rank = _number(path, found, "r")
    if rank != int(rank) or not 1 <= rank <= MAX_RANK:
        raise ModelUnsupported(f"{path} has the rank {rank:g}; ranks are 1 to {MAX_RANK}")
    alphas = found.get("alpha_pattern") or {}
    if not isinstance(alphas, dict):
        raise ModelUnsupported(f"{path}: alpha_pattern is not a JSON object")
    return PeftConfig(
        rank=int(rank),
        alpha=_number(path, found, "lora_alpha"),
        is_rank_stabilized=bool(found.get("use_rslora")),
        base_model=str(found.get("base_model_name_or_path") or ""),
        alphas={str(key): _number(path, alphas, key) for key in alphas},
    )


def _number(path: Path, found: Mapping[str, Any], name: str) -> float:
    value = found.get(name)
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ModelUnsupported(
            f"{path}: {name} is {repr(value)[:40]}, which is not a number in range"
        )
    return number


def _matches(pattern: str, layer: str) -> bool:
    """Return True if a pattern of PEFT means a layer: the end of its name."""
    try:
        return re.fullmatch(rf"(.*\.)?({pattern})", layer) is not None
    except re.error:
        return False
