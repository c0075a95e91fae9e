"""Packed attention: within each text of a step whose texts are one row of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch
from torch.nn import functional

from yaie.base.errors import ModelUnsupported
from yaie.process.heartbeat import beat

_LENGTHS: ContextVar[list[int]] = ContextVar("yaie_lengths")


@contextmanager
def of_lengths(lengths: list[int]) -> Iterator[None]:
    """Cut rows into texts of these lengths."""
    token = _LENGTHS.set(lengths)
    try:
        yield
    finally:
        _LENGTHS.reset(token)


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    sliding_window: int | None = None,
    bias: torch.Tensor | None = None,
    **others: object,
) -> tuple[torch.Tensor, None]:
    """Attend within each text; [1, heads, rows, width] in, [1, rows, heads, width] out.

    `bias`: added to the scores, [1, heads, length, length] for the longest text or longer. Raises
    `ModelUnsupported` for a mask, which may hide any key.
    """
    if attention_mask is not None:
        raise ModelUnsupported(f"{type(module).__name__} passes its own attention mask")
    beat()
    found, first = [], 0
    for length in _LENGTHS.get():
        q, k, v = (each[:, :, first : first + length] for each in (query, key, value))
        mask = _window(length, sliding_window, query.device)
        if bias is not None:
            mask = bias[..., :length, :length]
        found.append(
            functional.scaled_dot_product_attention(
                q, k, v, mask, scale=scaling, enable_gqa=q.shape[1] != k.shape[1]
            )
        )
        first += length
    return torch.cat(found, dim=2).transpose(1, 2), None


def pack_biased(base: Any) -> None:
    """Have an MPNet attend within texts, with the bias of each distance between two tokens."""
    encoder = base.encoder
    whole_bias = encoder.compute_position_bias

    def bias(rows: torch.Tensor) -> torch.Tensor:
        longest: torch.Tensor = whole_bias(rows[:, : max(_LENGTHS.get())])
        return longest

    encoder.compute_position_bias = bias
    for layer in encoder.layer:
        layer.attention.attn.forward = partial(_attend_biased, layer.attention.attn)


def _attend_biased(
    attention: Any,
    rows: torch.Tensor,
    attention_mask: torch.Tensor | None,
    bias: torch.Tensor,
    **others: object,
) -> tuple[torch.Tensor]:
    """Return an MPNet layer's attention, [1, rows, hidden]."""
    shape = (*rows.shape[:-1], -1, attention.attention_head_size)
    parts = (attention.q, attention.k, attention.v)
    query, key, value = (part(rows).view(shape).transpose(1, 2) for part in parts)
    attended, _ = attend(attention, query, key, value, attention_mask, bias=bias)
    return (attention.o(attended.reshape(rows.shape)),)


def _window(length: int, size: int | None, device: torch.device) -> torch.Tensor | None:
    """Return the mask [length, length] of keys nearer than `size`; None for all keys."""
    if size is None or length <= size:
        return None
    at = torch.arange(length, device=device)
    return (at[:, None] - at[None, :]).abs() < size
