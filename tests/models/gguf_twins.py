"""Twins of GGUF files: tiny random models, written as llama.cpp's converter writes them.

Names come from the tables of the `gguf` package. What the converter does to weights and settings is
described here a second time, apart from the reader's tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from numpy.typing import NDArray

from tests.conformance.case import Case
from tests.conformance.recurrent import RECURRENT
from tests.conformance.zoo import CASES
from tests.models.gguf_files import write_gguf
from tests.models.gguf_recurrent import multiplied, recurrent_parts, restorable

_Array = NDArray[np.float32]
_BY_NAME = {case.name: case for case in (*CASES, *RECURRENT)}
_ARCHITECTURES = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}

# Fields of a config -> keys, of all families.
_KEYS = {
    "max_position_embeddings": "context_length",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "layer_norm_eps": "attention.layer_norm_epsilon",
    "norm_epsilon": "attention.layer_norm_epsilon",
    "num_experts": "expert_count",
    "num_local_experts": "expert_count",
    "n_routed_experts": "expert_count",
    "num_experts_per_tok": "expert_used_count",
    "n_group": "expert_group_count",
    "topk_group": "expert_group_used_count",
    "moe_intermediate_size": "expert_feed_forward_length",
    "logit_scale": "logit_scale",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
}
_YARN = {
    "factor": "factor",
    "original_max_position_embeddings": "original_context_length",
    "beta_fast": "yarn_beta_fast",
    "beta_slow": "yarn_beta_slow",
}


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A tiny model and its GGUF file.

    `settings` change the model of the conformance suite; `keys` are metadata beyond the usual,
    None leaves one out; `names` are (pattern, replacement) for names of transformers that are not
    the published ones.
    """

    case: str
    architecture: str  # in the file
    settings: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[tuple[str, str], ...] = ()
    permuted: bool = False  # rows of queries and keys are in llama.cpp's order
    added: str = ""  # pattern of the norms that are stored with 1 added
    named_as: str = ""  # an architecture with the same names, for one that the package lacks
    width: int | None = None  # rope.dimension_count
    unlike: tuple[str, ...] = ()  # fields of the config that files do not hold
    tiled: bool = False  # value heads are in llama.cpp's order
    multiplied: bool = False  # weights are stored times the factors of their layers

    @property
    def name(self) -> str:
        """The name of the test."""
        return f"{self.case}-as-{self.architecture}"

    def as_case(self) -> Case:
        """Return the model."""
        base = _BY_NAME[self.case]
        settings = {**base.settings, **self.settings}
        return replace(base, settings=settings)

    def build(self) -> torch.nn.Module:
        """Build the model, with weights that the converter's arithmetic leaves as they are."""
        model = self.as_case().build()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if re.search(self.added or "$^", name):
                    parameter.copy_(parameter.bfloat16())
                if name.endswith("A_log"):
                    parameter.copy_(restorable(parameter))
        return model

    def write(self, path: Path, model: Any, **changes: Any) -> Path:
        """Write the model; `changes` are of the tensors, None leaves one out."""
        tensors = {**self.tensors(model), **changes}
        return write_gguf(
            path,
            self.whole_metadata(model.config),
            {name: each for name, each in tensors.items() if each is not None},
        )

    def whole_metadata(self, config: Any) -> dict[str, Any]:
        """Return the settings and a tokenizer."""
        return self.metadata(config) | _vocabulary(config.vocab_size)

    def metadata(self, config: Any) -> dict[str, Any]:
        """Return the settings as the converter writes them."""
        found: dict[str, Any] = {}
        for name, key in _KEYS.items():
            if key not in self.keys and getattr(config, name, None) is not None:
                found[key] = getattr(config, name)
        lengths = ("attention.key_length", "attention.value_length")
        if lengths[0] not in self.keys and getattr(config, "head_dim", None) is not None:
            found |= dict.fromkeys(lengths, config.head_dim)
        found |= _rope(config)
        if self.width is not None:
            found["rope.dimension_count"] = self.width
        found |= {
            key: value(config) if callable(value) else value for key, value in self.keys.items()
        }
        own = {f"{self.architecture}.{k}": v for k, v in found.items() if v is not None}
        return {"general.architecture": self.architecture, **own}

    def tensors(self, model: Any) -> dict[str, Any]:
        """Return the tensors by the names of the `gguf` package, as the converter writes them."""
        config = model.config
        known = gguf.get_tensor_name_map(
            _ARCHITECTURES[self.named_as or self.architecture], config.num_hidden_layers
        )
        found: dict[str, Any] = {}
        for name, tensor in model.state_dict().items():
            if name == "lm_head.weight" and config.tie_word_embeddings:
                continue
            values: _Array = tensor.detach().to(torch.float32).numpy()
            for published, part in self._parts(name, values, config):
                stored = published
                if published.startswith(("model.", "lm_head.", "backbone.")):
                    stored = known.get_name(published, try_suffixes=(".weight", ".bias"))
                assert stored is not None, f"{published} has no name in {self.architecture}"
                found[stored] = part
        for name in ("altup_proj.weight", "altup_unembd_proj.weight"):
            parts = [each for each in found if each.startswith(name)]
            if parts:
                found[name] = np.stack([found.pop(each) for each in sorted(parts)])
        return found | _frequencies(config)

    def _has_experts(self, config: Any) -> bool:
        return bool(getattr(config, "num_local_experts", 0))

    def _parts(self, name: str, values: _Array, config: Any) -> list[tuple[str, _Array]]:
        """Return the published names of a tensor or its parts, and what is stored of each."""
        if self.permuted and (found := re.search(r"self_attn\.([qk])_proj", name)):
            heads = "num_attention_heads" if found[1] == "q" else "num_key_value_heads"
            values = permuted(values, getattr(config, heads))
        if self.added and re.search(self.added, name):
            values = values + np.float32(1)
        if self.multiplied:
            values = multiplied(name, values, config)
        for pattern, replacement in self.names:
            name = re.sub(pattern, replacement, name)
        if re.search(r"\.(linear_attn|mamba|mixer|conv)\.", name):
            return recurrent_parts(name, values, config, tiled=self.tiled)
        if name.endswith("kv_b_proj.weight"):
            return _latent(name, values, config)
        if "shared_mlp.input_linear" in name:
            gates, rest = np.split(values, 2)
            shared = "mlp.shared_expert." if self._has_experts(config) else "mlp."
            stored = name.replace("shared_mlp.input_linear", shared + "{}_proj")
            return [(stored.format("gate"), gates), (stored.format("up"), rest)]
        if re.search(r"(?<!shared_)experts\.gate_up_proj", name):
            return _gate_up(name, values, interleaved=self.architecture == "gpt-oss")
        if re.search(r"(?<!shared_)experts\.down_proj", name):
            transposed = self.architecture == "gpt-oss" and values.ndim == 3
            return [(_experts(name), values.swapaxes(1, 2) if transposed else values)]
        return [(name, values)]


def _vocabulary(size: int) -> dict[str, Any]:
    """Return the metadata of a tokenizer that has a token for each of the first characters."""
    texts = ["<unk>", "<s>", "</s>", *(chr(0x2581 + place) for place in range(size - 3))]
    entries = {
        "model": "llama",
        "tokens": texts,
        "token_type": [2, 3, 3, *[1] * (size - 3)],
        "scores": [0.0] * size,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in entries.items()}


def permuted(values: _Array, heads: int) -> _Array:
    """Return rows in llama.cpp's order: both halves of each head take turns."""
    halves = values.reshape(heads, 2, -1, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)


def _experts(name: str) -> str:
    return name.replace("_proj_bias", "_proj.bias") if "bias" in name else f"{name}.weight"


def _gate_up(name: str, values: _Array, *, interleaved: bool) -> list[tuple[str, _Array]]:
    if interleaved:
        halves = [values[..., 0::2], values[..., 1::2]]
        halves = [half.swapaxes(1, 2) if half.ndim == 3 else half for half in halves]
    else:
        halves = np.split(values, 2, axis=1)
    name = _experts(name)
    return [
        (name.replace("gate_up_proj", part), np.ascontiguousarray(half))
        for part, half in zip(("gate_proj", "up_proj"), halves, strict=True)
    ]


def _latent(name: str, values: _Array, config: Any) -> list[tuple[str, _Array]]:
    by_head = values.reshape(config.num_attention_heads, -1, values.shape[-1])
    keys, rest = np.split(by_head, [config.qk_nope_head_dim], axis=1)
    return [
        (name.replace("kv_b_proj", "k_b_proj"), np.ascontiguousarray(keys.swapaxes(1, 2))),
        (name.replace("kv_b_proj", "v_b_proj"), np.ascontiguousarray(rest)),
    ]


def _rope(config: Any) -> dict[str, Any]:
    """Return the keys of the rope table; of two tables, both bases and the full one's scaling."""
    table = getattr(config, "rope_parameters", None) or {}
    windowed = table.get("sliding_attention")
    table = table.get("full_attention", table)
    found = {"rope.freq_base": table.get("rope_theta")}
    if windowed:
        found["rope.freq_base_swa"] = windowed["rope_theta"]
    if table.get("rope_type") in ("linear", "yarn"):
        found["rope.scaling.type"] = table["rope_type"]
        for name, key in _YARN.items():
            if table.get(name) is not None:
                found[f"rope.scaling.{key}"] = table[name]
    return found


def _frequencies(config: Any) -> dict[str, _Array]:
    """Return the tensors of rope tables whose frequencies have divisors."""
    rope = getattr(config, "rope_parameters", None) or {}
    rope = rope.get("full_attention", rope)
    kind = rope.get("rope_type")
    if kind == "llama3":
        return {"rope_freqs.weight": llama3_divisors(rope, config.head_dim)}
    if kind == "longrope":
        return {
            f"rope_factors_{length}.weight": np.array(rope[f"{length}_factor"], np.float32)
            for length in ("long", "short")
        }
    if kind == "proportional":  # of full layers: 32 wide, a quarter of it turns
        return {"rope_freqs.weight": np.array([1.0] * 4 + [1e30] * 12, np.float32)}
    return {}


def llama3_divisors(rope: Mapping[str, Any], width: int) -> _Array:
    """Return the divisor of each frequency."""
    waves = 2 * np.pi * rope["rope_theta"] ** (np.arange(0, width, 2) / width)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    smooth = (rope["original_max_position_embeddings"] / waves - low) / (high - low)
    smooth = smooth.clip(0, 1)
    divisors = 1 / ((1 - smooth) / rope["factor"] + smooth)
    return divisors.astype(np.float32)


def period(count: int) -> Callable[[Any], list[str]]:
    """Return layer types of which each last one of `count` is full."""
    return lambda layers: [
        "sliding_attention" if layer % count < count - 1 else "full_attention"
        for layer in range(layers)
    ]
