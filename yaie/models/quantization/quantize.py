"""Quantizes the linear layers of a loaded model: `--quantization int8` or `int4`.

Rounding to nearest, nothing to calibrate. int8 has a scale for each output. int4 has one for every
64 inputs, chosen among a few as the one with the least squared error, and leaves the head at int8:
its errors go straight into the logits. Called by the loader.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from yaie.models.quantization.layout import WIDENING_BYTES, scale_nbytes
from yaie.models.quantization.weights import QuantizedLinear, QuantizedWeight

INT4_GROUP_SIZE = 64
_LEAST = {8: -127, 4: -8}  # int8 is symmetric; -8 is worth using where there are only 16 steps
_MOST = {8: 127, 4: 7}
# The step at which the largest number of a group lies: nearer to 0 clips it, for the others' good.
_INT4_PEAKS = (-8.0, -8.8, -7.4)
_ROWS_AT_ONCE = 1024  # bounds the memory of the intermediate float32 numbers
_PART_BYTES = 16  # that a number of these rows takes meanwhile, in four copies


def quantize_weight(weight: torch.Tensor, kind: str) -> QuantizedWeight:
    """Round weights [outputs, inputs] to `kind`, "int8" or "int4".

    int4 falls back to a smaller group where 64 does not divide the inputs, and to int8 where no
    multiple of 4 does.
    """
    bits, group = _grouping(int(weight.shape[1]), kind)
    parts = [_round(part, bits, group) for part in torch.split(weight.detach(), _ROWS_AT_ONCE)]
    values = torch.cat([values for values, _ in parts])
    return QuantizedWeight(bits, values, torch.cat([scales for _, scales in parts]), None)


def _grouping(inputs: int, kind: str) -> tuple[int, int]:
    """Bits, and inputs that share a scale."""
    groups = [g for g in (INT4_GROUP_SIZE, 32, 16, 8, 4) if inputs % g == 0]
    return (4, groups[0]) if kind == "int4" and groups else (8, inputs)


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
        scales = (peak / step).bfloat16().float()  # as they are held: the integers fit them
        error = (_values(grouped, scales, bits) * scales[..., None] - grouped).square().sum(-1)
        is_better = error < best_errors
        best_scales = torch.where(is_better, scales, best_scales)
        best_errors = torch.where(is_better, error, best_errors)
    return _values(grouped, best_scales, bits).view_as(weight), best_scales


def _values(grouped: torch.Tensor, scales: torch.Tensor, bits: int) -> torch.Tensor:
    factors = torch.where(scales != 0, 1 / scales, torch.zeros(()))
    return (grouped * factors[..., None]).round_().clamp_(_LEAST[bits], _MOST[bits]).to(torch.int8)


def _is_rounded(module: nn.Module) -> bool:
    """Other classes may compute something else, or hold their weights in another order."""
    return type(module) is nn.Linear


def _kind_for(linear: nn.Module, head: nn.Module | None, kind: str) -> str:
    return "int8" if linear is head else kind


def quantize_model(model: nn.Module, kind: str, device: torch.device | None = None) -> int:
    """Replace the linear layers below a decoder's head, and the head; returns how many.

    Only `nn.Linear` is rounded: not the experts of mixtures, which are parameters of three
    dimensions, nor GPT-2's layers, which hold their weights transposed. Each original is freed
    before the next is rounded. An embedding that is tied to the head takes the head's rounded
    weights. With a `device`, the weights are rounded there and stay there, so that a model passes
    to it as integers; what is not rounded stays where it is.
    """
    embedding = model.get_input_embeddings()  # type: ignore[operator]
    head = model.get_output_embeddings()  # type: ignore[operator]
    tied = head is not None and head.weight.data_ptr() == embedding.weight.data_ptr()
    named = [(name, m) for name, m in model.named_modules() if _is_rounded(m)]
    for name, linear in named:
        is_head = linear is head
        weight = quantize_weight(linear.weight.to(device), _kind_for(linear, head, kind))
        bias = None if linear.bias is None else linear.bias.detach()
        replacement = QuantizedLinear(weight, bias, is_tied=is_head and tied)
        if is_head and tied:
            embedding.weight.data = weight.widened(embedding.weight.dtype).to(
                embedding.weight.device
            )
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, replacement)
        if not (is_head and tied):  # a tied weight is the embedding's own
            linear.weight.data = linear.weight.data.new_empty(0)
    return len(named)


def kind_of(model: nn.Module) -> str | None:
    """What linear layers hold: "int8", "int4", "int4+int8", or None where none holds integers.

    The head counts where it is alone: beside int4 it is at int8 as a matter of course.
    """
    head = model.get_output_embeddings()  # type: ignore[operator]
    held = [m for m in model.modules() if isinstance(m, QuantizedLinear)]
    shown = [m for m in held if m is not head] or held
    bits = sorted({m.quantized.bits for m in shown if m.quantized is not None})
    return "+".join(f"int{each}" for each in bits) or None


@dataclass(frozen=True, slots=True)
class RoundedLayer:
    """What a linear layer will be once it is rounded."""

    num_outputs: int
    num_inputs: int
    bits: int
    group_size: int
    is_tied: bool  # to the embedding, which takes its numbers, widened

    @property
    def num_weights(self) -> int:
        """Numbers in its matrix."""
        return self.num_outputs * self.num_inputs

    def nbytes(self, *, packed: bool) -> int:
        """What it takes in memory: integers of 4 bits take a byte where they are not packed."""
        groups = self.num_outputs * (self.num_inputs // self.group_size)
        scales = groups * scale_nbytes(self.bits, packed=packed)
        return self.num_weights * (self.bits if packed else 8) // 8 + scales

    @property
    def rounding_nbytes(self) -> int:
        """What it takes to round it: parts that are joined, and one part several times over."""
        part = min(self.num_outputs, _ROWS_AT_ONCE) * self.num_inputs
        widened = WIDENING_BYTES * self.num_weights if self.is_tied else 0
        return self.nbytes(packed=False) + max(_PART_BYTES * part, widened)


@dataclass(frozen=True, slots=True)
class Rounding:
    """What `quantize_model` will make of a model."""

    layers: tuple[RoundedLayer, ...]
    num_embedded: int  # numbers in the embedding, which stays
    num_left: int  # in all else that stays

    @property
    def share_left(self) -> float:
        """Of the numbers that are not the embedding's, those that stay as they are."""
        rounded = sum(layer.num_weights for layer in self.layers)
        return self.num_left / max(1, self.num_left + rounded)

    def nbytes(self, wide: int, *, packed: bool) -> int:
        """Bytes of the model, where a number that stays takes `wide` bytes."""
        stays = (self.num_embedded + self.num_left) * wide
        return stays + sum(layer.nbytes(packed=packed) for layer in self.layers)

    @property
    def widening_nbytes(self) -> int:
        """What it takes to widen the largest layer."""
        return WIDENING_BYTES * max((layer.num_weights for layer in self.layers), default=0)

    def loading_nbytes(self, wide: int, *, mapped: bool) -> int:
        """The same at its most, while the originals are read and rounded, and run once.

        `mapped`: the originals are pages of their files, which the system lets go when it must.
        """
        held = most = self.nbytes(wide, packed=False) - sum(
            layer.nbytes(packed=False) for layer in self.layers
        )
        originals = 0 if mapped else wide
        held += sum(layer.num_weights * originals for layer in self.layers if not layer.is_tied)
        for layer in self.layers:
            rounded = layer.nbytes(packed=False)
            most = max(most, held + rounded + layer.rounding_nbytes)
            held += rounded - (0 if layer.is_tied else layer.num_weights * originals)
        return max(most, held + self.widening_nbytes)


def foresee_rounding(model: nn.Module, kind: str) -> Rounding:
    """What `quantize_model` will make of a model, which needs no memory behind its weights."""
    embedding = model.get_input_embeddings().weight  # type: ignore[operator]
    head = model.get_output_embeddings()  # type: ignore[operator]
    stays = {id(parameter): parameter.numel() for parameter in model.parameters()}
    layers = []
    for linear in model.modules():
        if not isinstance(linear, nn.Linear) or not _is_rounded(linear):
            continue
        outputs, inputs = linear.weight.shape
        bits, group = _grouping(inputs, _kind_for(linear, head, kind))
        is_tied = linear.weight is embedding
        layers.append(RoundedLayer(outputs, inputs, bits, group, is_tied))
        if not is_tied:
            del stays[id(linear.weight)]
    num_embedded = stays.pop(id(embedding))
    return Rounding(tuple(layers), num_embedded, sum(stays.values()))
