"""Quantization at load: rounds a model's linear layers for `--quantization int8` or `int4`.

Rounding to nearest, without calibration. int8 has a scale for each output. int4 has a scale and a
zero point for every 64 inputs, the candidates with the least squared error. The head and the value
projections stay int8: their errors cost the most, and they are a small share of the weights. Called
by the loader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import nn

from yaie.models.quantization.device.packed_layout import PACKING_BYTES, PackedLayout
from yaie.models.quantization.quantized_layers import DEQUANTIZING_BYTES, scale_nbytes
from yaie.models.quantization.quantized_weights import (
    DEQUANTIZED_AT_ONCE,
    ROUTERS,
    QuantizedLinear,
    QuantizedModule,
    QuantizedWeight,
)
from yaie.models.quantization.weight_rounding import ROWS_AT_ONCE, round_weight
from yaie.process.progress import report_each

INT4_GROUP_SIZE = 64
_SENSITIVE = "v_proj"  # suffix of the layers that int4 leaves at int8
_PART_BYTES = {8: 16, 4: 20}  # by bits: per weight of these rows, in several copies


def quantize_weight(weight: torch.Tensor, kind: str) -> QuantizedWeight:
    """Round weights [outputs, inputs] to "int8" or "int4".

    int4 falls back to a smaller group if 64 does not divide the inputs, and to int8 if 4 does not.
    """
    return round_weight(weight, *grouping(int(weight.shape[1]), kind))


def grouping(inputs: int, kind: str) -> tuple[int, int]:
    """Return the bits, and the inputs per scale."""
    groups = [g for g in (INT4_GROUP_SIZE, 32, 16, 8, 4) if inputs % g == 0]
    return (4, groups[0]) if kind == "int4" and groups else (8, inputs)


def _is_rounded(name: str, module: nn.Module) -> bool:
    """Return whether a module is quantized; other classes may store weights differently."""
    return type(module) is nn.Linear and not name.endswith(ROUTERS)


def _kind_for(name: str, linear: nn.Module, head: nn.Module | None, kind: str) -> str:
    return "int8" if linear is head or is_sensitive(name) else kind


def is_sensitive(name: str) -> bool:
    """Return True for a value projection, which int4 leaves at int8."""
    return name.endswith(_SENSITIVE)


def quantize_model(
    model: nn.Module,
    kind: str,
    device: torch.device | None = None,
    *,
    finish: Callable[[QuantizedLinear], nn.Module] | None = None,
) -> int:
    """Replace a decoder's linear layers and its head; return their number.

    Only `nn.Linear` is quantized: mixtures' experts are packed as they are read, and GPT-2 stores
    its weights transposed. Each original is freed before the next layer. An embedding tied
    to the head takes the head's quantized weights. With a `device`, weights are quantized there and
    stay there; plain weights do not move. `finish` makes the module that a layer becomes, before
    the next one is quantized.
    """
    embedding = model.get_input_embeddings()  # type: ignore[operator]
    head = model.get_output_embeddings()  # type: ignore[operator]
    tied = head is not None and head.weight.data_ptr() == embedding.weight.data_ptr()
    named = [(name, m) for name, m in model.named_modules() if _is_rounded(name, m)]
    for name, linear in report_each(named, f"quantizing to {kind}", len(named)):
        is_head = linear is head
        weight = quantize_weight(linear.weight.to(device), _kind_for(name, linear, head, kind))
        bias = None if linear.bias is None else linear.bias.detach()
        rounded = QuantizedLinear(weight, bias, is_tied=is_head and tied)
        if is_head and tied:
            embedding.weight.data = weight.dequantize(embedding.weight.dtype).to(
                embedding.weight.device
            )
        parent, _, attribute = name.rpartition(".")
        replacement = rounded if finish is None else finish(rounded)
        setattr(model.get_submodule(parent), attribute, replacement)
        if not (is_head and tied):  # a tied weight is the embedding's own
            linear.weight.data = linear.weight.data.new_empty(0)
    return len(named)


def kind_of(model: nn.Module) -> str | None:
    """Return the format of the quantized layers: "int8", "int4+int8", "Q4_K+Q6_K" ..., or None.

    The head, and value projections in int8, count only if there are no other layers: int4 has them
    in int8.
    """
    head = model.get_output_embeddings()  # type: ignore[operator]
    named = [(n, m) for n, m in model.named_modules() if isinstance(m, QuantizedModule)]
    shown = [m for n, m in named if m is not head and not (is_sensitive(n) and m.kind == "int8")]
    shown = shown or [m for _, m in named]
    kinds = {kind for m in shown if m.kind is not None for kind in m.kind.split("+")}
    return "+".join(sorted(kinds)) or None


@dataclass(frozen=True, slots=True)
class RoundedLayer:
    """A linear layer after quantization."""

    num_outputs: int
    num_inputs: int
    bits: int
    group_size: int
    is_tied: bool  # to the embedding, which takes its dequantized weights

    @property
    def num_weights(self) -> int:
        """Number of weights."""
        return self.num_outputs * self.num_inputs

    def nbytes(self, *, packed: bool) -> int:
        """Return its bytes in memory; unpacked 4-bit weights take a byte each."""
        groups = self.num_outputs * (self.num_inputs // self.group_size)
        points = 1 if self.bits == 4 else 0
        scales = groups * (scale_nbytes(self.bits, packed=packed) + points)
        return self.num_outputs * self.num_inputs * (self.bits if packed else 8) // 8 + scales

    def device_nbytes(self) -> int:
        """Return its bytes in a GPU's memory."""
        packing = PackedLayout(self.bits, self.num_inputs, self.num_inputs // self.group_size)
        scale_bytes = scale_nbytes(self.bits, packed=True)
        return packing.nbytes(self.num_outputs, scale_bytes=scale_bytes, has_points=self.bits == 4)

    @property
    def rounding_nbytes(self) -> int:
        """Bytes to quantize it: the joined weights, and several copies of one weight."""
        part = min(self.num_outputs, ROWS_AT_ONCE) * self.num_inputs
        dequantized = DEQUANTIZING_BYTES * self.num_weights if self.is_tied else 0
        return self.nbytes(packed=False) + max(_PART_BYTES[self.bits] * part, dequantized)


@dataclass(frozen=True, slots=True)
class RoundingEstimate:
    """An estimate for `quantize_model`."""

    layers: tuple[RoundedLayer, ...]
    num_embedded: int  # weights of the embedding, which stays plain
    num_left: int  # other weights that stay plain
    num_packed: int = 0  # weights of experts, which are packed as they are read

    @property
    def share_left(self) -> float:
        """Share of plain weights outside the embedding."""
        rounded = self.num_packed + sum(layer.num_weights for layer in self.layers)
        return self.num_left / max(1, self.num_left + rounded)

    def nbytes(self, wide: int, *, packed: bool) -> int:
        """Return the model's bytes without packed experts, with `wide` bytes per plain weight."""
        stays = (self.num_embedded + self.num_left) * wide
        return stays + sum(layer.nbytes(packed=packed) for layer in self.layers)

    @property
    def dequantizing_nbytes(self) -> int:
        """Bytes to dequantize the largest layer, or a part of it."""
        held = max((layer.num_weights for layer in self.layers), default=0)
        return DEQUANTIZING_BYTES * min(held, DEQUANTIZED_AT_ONCE)

    def device_nbytes(self, wide: int) -> int:
        """Return the model's bytes in a GPU's memory, with `wide` bytes per plain weight."""
        stays = (self.num_embedded + self.num_left) * wide
        return stays + sum(layer.device_nbytes() for layer in self.layers)

    def device_packing_nbytes(self, wide: int) -> int:
        """Return the GPU bytes that rounding and packing the largest layer takes."""
        return max(
            (
                layer.rounding_nbytes + (wide + PACKING_BYTES) * layer.num_weights
                for layer in self.layers
            ),
            default=0,
        )

    def loading_nbytes(self, wide: int, *, mapped: bool, calibrating: int = 0) -> int:
        """Return the peak bytes while the originals are read, quantized and run once.

        mapped: the originals are file pages, which the system can drop. calibrating: bytes that
        calibration takes besides the weights.
        """
        held = peak = self.nbytes(wide, packed=False) - sum(
            layer.nbytes(packed=False) for layer in self.layers
        )

        def originals(layer: RoundedLayer) -> int:
            return 0 if mapped or layer.is_tied else layer.num_weights * wide

        held += sum(map(originals, self.layers))
        for layer in self.layers:
            rounded = layer.nbytes(packed=False)
            peak = max(peak, held + rounded + layer.rounding_nbytes)
            held += rounded - originals(layer)
        return max(peak + calibrating, held + self.dequantizing_nbytes)


def estimate_rounding(
    model: nn.Module, kind: str, experts: Mapping[str, int] | None = None
) -> RoundingEstimate:
    """Estimate `quantize_model`'s result. The model may be on the meta device.

    experts: the modules of experts that are packed as they are read, and their numbers of weights.
    """
    embedding = model.get_input_embeddings().weight  # type: ignore[operator]
    head = model.get_output_embeddings()  # type: ignore[operator]
    stays = {id(parameter): parameter.numel() for parameter in model.parameters()}
    layers = []
    experts = experts or {}
    for name in experts:
        for parameter in model.get_submodule(name).parameters():
            del stays[id(parameter)]
    for name, linear in model.named_modules():
        if not isinstance(linear, nn.Linear) or not _is_rounded(name, linear):
            continue
        outputs, inputs = linear.weight.shape
        bits, group = grouping(inputs, _kind_for(name, linear, head, kind))
        is_tied = linear.weight is embedding
        layers.append(RoundedLayer(outputs, inputs, bits, group, is_tied))
        if not is_tied:
            del stays[id(linear.weight)]
    num_embedded = stays.pop(id(embedding))
    num_left, num_packed = sum(stays.values()), sum(experts.values())
    return RoundingEstimate(tuple(layers), num_embedded, num_left, num_packed)


def is_calibrated(name: str, module: nn.Module) -> bool:
    """Return True if int4 rounds this decoder submodule to 4 bits."""
    if not isinstance(module, nn.Linear) or not _is_rounded(name, module):
        return False
    return grouping(int(module.weight.shape[1]), _kind_for(name, module, None, "int4"))[0] == 4
