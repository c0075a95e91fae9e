"""Quantizes the linear layers of a loaded model: `--quantization int8` or `int4`.

Rounding to nearest, nothing to calibrate. int8 has a scale for each output. int4 has one for every
64 inputs, chosen among a few as the one with the least squared error, and leaves the head at int8:
its errors go straight into the logits. Called by the loader.
"""

from __future__ import annotations

import torch
from torch import nn

from yaie.models.quantization.weights import QuantizedLinear, QuantizedWeight

INT4_GROUP_SIZE = 64
_LEAST = {8: -127, 4: -8}  # int8 is symmetric; -8 is worth using where there are only 16 steps
_MOST = {8: 127, 4: 7}
# The step at which the largest number of a group lies: nearer to 0 clips it, for the others' good.
_INT4_PEAKS = (-8.0, -8.8, -7.4)
_ROWS_AT_ONCE = 1024  # bounds the memory of the intermediate float32 numbers


def quantize_weight(weight: torch.Tensor, kind: str) -> QuantizedWeight:
    """Round weights [outputs, inputs] to `kind`, "int8" or "int4".

    int4 falls back to a smaller group where 64 does not divide the inputs, and to int8 where no
    multiple of 4 does.
    """
    inputs = int(weight.shape[1])
    groups = [g for g in (INT4_GROUP_SIZE, 32, 16, 8, 4) if inputs % g == 0]
    bits, group = (4, groups[0]) if kind == "int4" and groups else (8, inputs)
    parts = [_round(part, bits, group) for part in torch.split(weight.detach(), _ROWS_AT_ONCE)]
    values = torch.cat([values for values, _ in parts])
    return QuantizedWeight(bits, values, torch.cat([scales for _, scales in parts]), None)


def _round(weight: torch.Tensor, bits: int, group: int) -> tuple[torch.Tensor, torch.Tensor]:
    grouped = weight.float().view(weight.shape[0], -1, group)
    if bits == 8:
        scales = grouped.abs().amax(-1) / _MOST[8]
        return _values(grouped, scales, bits).view_as(weight), scales
    at = grouped.abs().argmax(-1, keepdim=True)
    peak = grouped.gather(-1, at)[..., 0]  # with its sign: it becomes the most negative integer
    best_scales = torch.zeros_like(peak)
    best_errors = torch.full_like(peak, torch.inf)
    for step in _INT4_PEAKS:
        scales = peak / step
        error = (_values(grouped, scales, bits) * scales[..., None] - grouped).square().sum(-1)
        is_better = error < best_errors
        best_scales = torch.where(is_better, scales, best_scales)
        best_errors = torch.where(is_better, error, best_errors)
    return _values(grouped, best_scales, bits).view_as(weight), best_scales


def _values(grouped: torch.Tensor, scales: torch.Tensor, bits: int) -> torch.Tensor:
    factors = torch.where(scales != 0, 1 / scales, torch.zeros(()))
    return (grouped * factors[..., None]).round_().clamp_(_LEAST[bits], _MOST[bits]).to(torch.int8)


def quantize_model(model: nn.Module, kind: str) -> int:
    """Replace the linear layers below a decoder's head, and the head; returns how many.

    Each original is freed before the next is rounded. An embedding that is tied to the head takes
    the head's rounded weights.
    """
    embedding = model.get_input_embeddings()  # type: ignore[operator]
    head = model.get_output_embeddings()  # type: ignore[operator]
    tied = head is not None and head.weight.data_ptr() == embedding.weight.data_ptr()
    named = [(name, m) for name, m in model.named_modules() if type(m) is nn.Linear]
    for name, linear in named:
        is_head = linear is head
        weight = quantize_weight(linear.weight, "int8" if is_head else kind)
        bias = None if linear.bias is None else linear.bias.detach()
        replacement = QuantizedLinear(weight, bias, is_tied=is_head and tied)
        if is_head and tied:
            embedding.weight.data = weight.widened(embedding.weight.dtype)
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, replacement)
        if not (is_head and tied):  # a tied weight is the embedding's own
            linear.weight.data = linear.weight.data.new_empty(0)
    return len(named)


def estimate_bytes(num_parameters: int, num_embedded: int, kind: str, dtype: torch.dtype) -> int:
    """Bytes of a model after `quantize_model`, of which `num_embedded` numbers are an embedding."""
    others = max(0, num_parameters - num_embedded)
    if kind == "int8":
        return others + num_embedded * dtype.itemsize
    return others // 2 + others // INT4_GROUP_SIZE * 4 + num_embedded * dtype.itemsize
