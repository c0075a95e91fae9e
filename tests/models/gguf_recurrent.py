"""Weights of recurrent layers as llama.cpp's converter writes them, apart from the reader."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

_Array = NDArray[np.float32]


def restorable(rates: torch.Tensor) -> torch.Tensor:
    """Return logarithms near `rates` that remain the same as exponentials of float32."""
    for _ in range(4):
        rates = rates.float().exp().double().log().float()
    return rates


def recurrent_parts(
    name: str, values: _Array, config: Any, *, tiled: bool
) -> list[tuple[str, _Array]]:
    """Return the names of a tensor or its parts, and what is stored of each.

    `tiled`: the first value head of each key head comes first.
    """
    if tiled and "linear_attn." in name:
        values = _tiled(name, values, config)
    if "in_proj_qkvz" in name:
        return _unmixed(name, values, config)
    if name.endswith(("conv1d.weight", "conv.conv.weight")):
        values = values[:, 0, :]
    if name.endswith("A_log"):
        values = -np.exp(values)
    is_scan = "linear_attn" not in name
    if is_scan and name.endswith((".A_log", ".D")):
        values = values[:, None]
    groups = getattr(config, "mamba_n_groups", None) or getattr(config, "n_groups", 1)
    if name.endswith((".mamba.norm.weight", ".mixer.norm.weight")):
        values = values.reshape(groups, -1)
    return [(re.sub(r"\.dt_bias$", ".dt_proj.bias", name), values)]


def _tiled(name: str, values: _Array, config: Any) -> _Array:
    keys, heads = config.linear_num_key_heads, config.linear_num_value_heads
    each, width = heads // keys, config.linear_value_head_dim
    order = [key * each + number for number in range(each) for key in range(keys)]
    wide = [head * width + place for head in order for place in range(width)]
    if "out_proj" in name:
        return values[:, wide]
    if "in_proj_z" in name:
        return values[wide]
    if "in_proj_qkv" in name or "conv1d" in name:
        first = len(values) - heads * width
        return np.concatenate([values[:first], values[first:][wide]])
    return values if "norm" in name else values[order]


def _unmixed(name: str, values: _Array, config: Any) -> list[tuple[str, _Array]]:
    """Qwen3-Next: queries, keys and values of all heads, and the gates."""
    keys, width = config.linear_num_key_heads, config.linear_key_head_dim
    inner = config.linear_value_head_dim * (config.linear_num_value_heads // keys)
    parts: list[list[_Array]] = [[], [], [], []]
    for one in np.split(values, keys):
        for part, rows in zip(parts, np.split(one, np.cumsum([width, width, inner])), strict=True):
            part.append(rows)
    *qkv, gates = (np.concatenate(part) for part in parts)
    block = re.sub(r"model\.layers\.(\d+)\..*", r"blk.\1", name)
    return [(f"{block}.attn_qkv.weight", np.concatenate(qkv)), (f"{block}.attn_gate.weight", gates)]


def multiplied(name: str, values: _Array, config: Any) -> _Array:
    """Return a tensor of Falcon-H1 times the factors of its layer."""
    for pattern, factor in (
        ("down_proj", config.mlp_multipliers[1]),
        ("gate_proj", config.mlp_multipliers[0]),
        ("k_proj", config.key_multiplier * config.attention_in_multiplier),
        ("q_proj|v_proj", config.attention_in_multiplier),
        ("o_proj", config.attention_out_multiplier),
        ("out_proj", config.ssm_out_multiplier),
        ("lm_head", config.lm_head_multiplier),
        ("embed_tokens", config.embedding_multiplier),
    ):
        if re.search(pattern, name):
            return values * np.float32(factor)
    if "in_proj" in name:
        inner, state = config.mamba_d_ssm, config.mamba_n_groups * config.mamba_d_state
        sizes = [inner, inner, state, state, config.mamba_n_heads]
        rows = np.repeat(config.ssm_multipliers, sizes).astype(np.float32)
        return values * rows[:, None] * np.float32(config.ssm_in_multiplier)
    return values
