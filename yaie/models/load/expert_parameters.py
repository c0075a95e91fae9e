"""Expert parameters: a module's joined weights, read one expert at a time.

transformers joins the experts of a layer in three-dimensional parameters, by conversions of its
own. These are applied here to the tensors of one expert. Quantized weights are not joined by them:
the conversion of numbered rows tells their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from yaie.models.files.checkpoint import DTYPES, StoredTensor
from yaie.models.load.unmapped_tensors import UnmappedTensors, empty_like, matrix_of
from yaie.models.native.packed_experts import ExpertsLayout, UnknownExperts
from yaie.models.quantization.block_weights import BlockWeight, fit_in_q8_0, make_q8_0
from yaie.models.quantization.quantize import RoundedLayer, grouping
from yaie.models.quantization.quantized_layers import QuantizedLayer
from yaie.models.quantization.quantized_weights import QuantizedWeight, join
from yaie.models.quantization.readers import read_dequantized, read_groups, read_kept

_STACKED = ("values", "scales")  # the tensors of a layer that hold a matrix for each expert
_UNKNOWN = "its experts are stored in another way"


@dataclass(frozen=True, slots=True, eq=False)
class Conversion:
    """transformers' way from stored tensors to a parameter."""

    converter: Any  # WeightConverter; None: the tensor is the parameter

    def join(self, parts: Mapping[str, torch.Tensor], shape: tuple[int, ...]) -> torch.Tensor:
        """Return one expert's part of a parameter, of a shape.

        parts: by the converter's source pattern. Raises `UnknownExperts`.
        """
        found: Any = {pattern: [part] for pattern, part in parts.items()}
        if self.converter is not None:
            for operation in self.converter.operations:
                found = operation.convert(
                    found,
                    source_patterns=self.converter.source_patterns,
                    target_patterns=self.converter.target_patterns,
                    full_layer_name="",
                    model=None,
                    config=None,
                    missing_keys=None,
                )
        (joined,) = found.values()
        joined = joined[0] if isinstance(joined, list) else joined
        if joined.shape != (1, *shape):
            raise UnknownExperts(_UNKNOWN)
        part: torch.Tensor = joined[0]
        return part


@dataclass(frozen=True, slots=True, eq=False)
class PlainParameter:
    """A parameter in a plain dtype."""

    shape: tuple[int, ...]  # [experts, ...]
    # By source pattern, in the order of experts; a tensor may hold all experts.
    tensors: Mapping[str, tuple[StoredTensor, ...]]
    conversion: Conversion

    def check(self) -> None:
        """Raise `UnknownExperts` if the tensors do not make up the parameter."""
        if any(tensor.kind not in DTYPES for group in self.tensors.values() for tensor in group):
            raise UnknownExperts("its experts are quantized")
        self._read(0, on_meta=True)

    def read(self, index: int) -> torch.Tensor:
        """Return one expert's part."""
        return self._read(index, on_meta=False)

    def _read(self, index: int, *, on_meta: bool) -> torch.Tensor:
        parts = {}
        for pattern, tensors in self.tensors.items():
            tensor, is_stacked = _of_expert(tensors, index, self.shape[0])
            part = empty_like(tensor, torch.device("meta")) if on_meta else _FILES.read(tensor)
            parts[pattern] = part[None] if is_stacked else part
        return self.conversion.join(parts, self.shape[1:])

    @property
    def names(self) -> set[str]:
        """The checkpoint's names of all tensors."""
        return {tensor.name for group in self.tensors.values() for tensor in group}


@dataclass(frozen=True, slots=True, eq=False)
class QuantizedParameter:
    """A parameter whose weights are quantized in the checkpoint."""

    layers: tuple[tuple[QuantizedLayer, ...], ...]  # of each expert, in the order of their rows
    names: set[str]  # the checkpoint's names of all tensors
    order: torch.Tensor | None  # of the joined rows; None: as they are
    is_rounded: bool  # dequantized, to be rounded again

    def read(self, index: int) -> QuantizedWeight | BlockWeight | torch.Tensor:
        """Return one expert's weights [outputs, inputs], or float32 ones to be rounded.

        Raises `ModelUnsupported` for damaged scales.
        """
        if self.is_rounded:
            parts = [read_dequantized(each, _FILES, torch.float32) for each in self.layers[index]]
            wide = torch.cat(parts)
            return wide if self.order is None else wide[self.order]
        weight = join(_with_points([read_kept(each, _FILES) for each in self.layers[index]]))
        assert weight is not None  # their formats are equal
        values, scales, points = weight.values, weight.scales, weight.zero_points
        if self.order is not None:
            points = None if points is None else points[self.order]
            values, scales = values[self.order], scales[self.order]
        if self.layers[index][0].is_in_q8_0:
            return make_q8_0(values, scales)
        return QuantizedWeight(weight.bits, values, scales, points)

    @property
    def kind(self) -> str | None:
        """The type of the weights that stay as they are stored; None if they are rounded."""
        return None if self.is_rounded else self.layers[0][0].packed_kind

    def nbytes(self, kind: str | None) -> int:
        """Return the bytes of all experts; `kind`: of weights that are rounded."""
        layers = [layer for expert in self.layers for layer in expert]
        if not self.is_rounded:
            return sum(layer.packed_nbytes for layer in layers)
        assert kind is not None
        return sum(rounded_nbytes(each.num_outputs, each.num_inputs, kind) for each in layers)


def rounded_nbytes(outputs: int, inputs: int, kind: str) -> int:
    """Return the packed bytes of a matrix that is rounded to "int8" or "int4"."""
    return RoundedLayer(outputs, inputs, *grouping(inputs, kind), False).nbytes(packed=True)


def find_quantized(
    layout: ExpertsLayout,
    layers: Mapping[str, Sequence[QuantizedLayer]],
    conversion: Conversion,
    *,
    is_gated: bool,
    rounds: bool,
) -> QuantizedParameter:
    """Describe a parameter by its quantized layers, which are given by source pattern.

    rounds: fp8, and weights that no kernel computes with, are rounded again. Raises
    `UnknownExperts` for layers that do not make it up, and for weights without a kernel;
    `ModelUnsupported` for damaged scales.
    """
    joined = [each for group in layers.values() for each in group]
    first = joined[0]
    reason = next((why for why in map(_why_no_kernel, joined) if why is not None), None)
    is_rounded = rounds and (reason is not None or first.format.kind in ("fp8", "nvfp4"))
    if reason is not None and not rounds:
        raise UnknownExperts(
            f"no kernel computes in their weights ({reason}); with --quantization int8 or int4 "
            f"they are rounded again"
        )
    formats = {(each.format.layout, each.format.bits, each.num_groups) for each in joined}
    if len(formats) > 1 and not is_rounded:
        raise UnknownExperts("its experts are quantized in different ways")
    by_expert = [_layers_of(group, layout.num_experts) for group in layers.values()]
    experts = tuple(zip(*by_expert, strict=True))
    of_first = dict(zip(layers, experts[0], strict=True))
    is_stacked = first.num_matrices is not None
    order = _order_of(layout, of_first, conversion, is_gated=is_gated, is_stacked=is_stacked)
    names = {tensor.name for each in joined for tensor in each.tensors.values()}
    return QuantizedParameter(experts, names, order, is_rounded)


def _why_no_kernel(layer: QuantizedLayer) -> str | None:
    """Return the reason that no kernel computes with an expert's weights.

    Scales and zero points of 8 bits are read: a config may say symmetric and not be true, and
    Q8_0 has scales in float16.
    """
    if layer.no_kernel_because is not None and not layer.is_in_q8_0:
        return layer.no_kernel_because
    if layer.format.bits != 8 or layer.format.layout == "float8":
        return None
    scales, points = read_groups(layer, _FILES)
    if points is not None:
        return "8 bits with zero points"
    if layer.is_in_q8_0 and not fit_in_q8_0(scales):
        return "8 bits in groups with scales beyond float16"
    return None


def _order_of(
    layout: ExpertsLayout,
    layers: Mapping[str, QuantizedLayer],
    conversion: Conversion,
    *,
    is_gated: bool,
    is_stacked: bool,
) -> torch.Tensor | None:
    """Return the order of an expert's joined rows, by joining numbers instead of weights."""
    outputs = sum(each.num_outputs for each in layers.values())
    inputs = {each.num_inputs for each in layers.values()}
    sizes = (2 * layout.inner, layout.hidden) if is_gated else (layout.hidden, layout.inner)
    if (outputs, *inputs) != sizes:
        raise UnknownExperts(_UNKNOWN)
    numbers = torch.arange(2 * outputs).view(outputs, 2)  # of two inputs
    parts, first = {}, 0
    for pattern, layer in layers.items():
        part = numbers[first : first + layer.num_outputs]
        # gpt-oss is read transposed, and its mxfp4 is not.
        part = part.T if layer.format.layout == "mxfp4" and layout.is_transposed else part
        parts[pattern] = part[None] if is_stacked else part
        first += layer.num_outputs
    narrow = (2, outputs) if layout.is_transposed else (outputs, 2)
    joined = layout.matrix(conversion.join(parts, narrow), is_gated=is_gated)
    order = joined[:, 0] // 2
    if not torch.equal(joined, numbers[order]):
        raise UnknownExperts(_UNKNOWN)
    return None if torch.equal(joined, numbers) else order


def _layers_of(group: Sequence[QuantizedLayer], num_experts: int) -> list[QuantizedLayer]:
    """Return a layer for each expert, also if they are stored in one tensor."""
    if len(group) == num_experts and all(each.num_matrices is None for each in group):
        return list(group)
    if len(group) == 1 and group[0].num_matrices == num_experts:
        return [_layer_of_expert(group[0], index) for index in range(num_experts)]
    raise UnknownExperts(f"{len(group)} tensors are stored for {num_experts} experts")


def _layer_of_expert(layer: QuantizedLayer, index: int) -> QuantizedLayer:
    tensors = {part: matrix_of(layer.tensors[part], index) for part in _STACKED}
    return replace(layer, tensors=tensors, num_matrices=None)


def _with_points(weights: list[QuantizedWeight]) -> list[QuantizedWeight]:
    """Give all weights zero points if one has them."""
    if all(each.zero_points is None for each in weights):
        return weights
    return [
        replace(each, zero_points=torch.zeros(each.scales.shape, dtype=torch.int8))
        if each.zero_points is None
        else each
        for each in weights
    ]


def _of_expert(
    tensors: Sequence[StoredTensor], index: int, num_experts: int
) -> tuple[StoredTensor, bool]:
    """Return an expert's own tensor, or its matrix in one of all experts, and True."""
    if len(tensors) == num_experts and num_experts > 1:
        return tensors[index], False
    if len(tensors) == 1 and tensors[0].shape[:1] == (num_experts,):
        return matrix_of(tensors[0], index), True
    raise UnknownExperts(f"{len(tensors)} tensors are stored for {num_experts} experts")


_FILES = UnmappedTensors()
