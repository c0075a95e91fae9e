"""A kind of layer, with chosen fields."""

from __future__ import annotations

import torch

from yaie.attention.flashinfer.wrappers import LayerKind


def kind_with(**fields: object) -> LayerKind:
    usual = LayerKind(
        num_heads=4,
        num_kv_heads=2,
        key_width=64,
        value_width=64,
        scale=0.125,
        softcap=None,
        sliding_window=None,
        dtype=torch.bfloat16,
        kv_dtype=torch.bfloat16,
    )
    return usual._replace(**fields)  # type: ignore[arg-type]
