"""Tensor shapes: a quantized layer's tensors in each packing, and consistency checks.

Read from headers, and from the small tensors with a shape. Torch-free. Called by
`yaie.models.quantization.checkpoint_layers`.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping
from functools import cache
from math import prod

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.quantization_config import LayerFormat, Layout
from yaie.models.files.checkpoint import StoredTensor

_WORD_BITS = 32
_FLOATS = ("F16", "BF16", "F32")
_Tensors = Mapping[str, StoredTensor]  # a layer's tensors, by the last component of their names


def shape_of_layer(name: str, found: LayerFormat, tensors: _Tensors) -> tuple[int, int, int]:
    """Return (outputs, inputs, groups). Raises `ModelUnsupported` for contradicting tensors."""
    outputs, inputs, groups = _SHAPES[found.layout](name, found, tensors)
    if not outputs or not inputs or not 1 <= groups <= inputs:
        raise damage_error(name, f"it has {groups} groups of {inputs} inputs, {outputs} outputs")
    return outputs, inputs, groups


def _int_shape(name: str, found: LayerFormat, tensors: _Tensors) -> tuple[int, int, int]:
    weight = tensors["weight"]
    _require(name, weight, ("I8",), 2)
    outputs, inputs = weight.shape
    groups = _groups_of_scale(name, tensors["weight_scale"], outputs)
    points = tensors.get("weight_zero_point")
    if points is not None and (
        points.kind != "I8" or prod(points.shape) not in (1, outputs * groups)
    ):
        raise damage_error(name, f"weight_zero_point has the shape {list(points.shape)}")
    return outputs, inputs, groups


def _read_packed_shape(name: str, found: LayerFormat, tensors: _Tensors) -> tuple[int, int, int]:
    packed, shape = tensors["weight_packed"], tensors["weight_shape"]
    _require(name, packed, ("I32",), 2)
    _require(name, shape, ("I64", "I32"), 1)
    stated = [int(n) for n in read_integers(shape)]
    if len(stated) != 2 or stated[0] != packed.shape[0]:
        raise damage_error(name, f"weight_shape says {stated}, weight_packed {list(packed.shape)}")
    outputs, inputs = stated
    if packed.shape[1] != -(-inputs * found.bits // _WORD_BITS):
        raise damage_error(
            name,
            f"{packed.shape[1]} words a row do not hold {inputs} values of {found.bits} bits",
        )
    groups = _groups_of_scale(name, tensors["weight_scale"], outputs)
    points = tensors.get("weight_zero_point")
    if points is not None:
        words = -(-outputs * found.bits // _WORD_BITS)
        if (points.kind, points.shape) not in {
            ("I32", (words, groups)),
            ("I8", (outputs, groups)),  # older files, which do not pack them
        }:
            raise damage_error(name, f"weight_zero_point has the shape {list(points.shape)}")
    return outputs, inputs, groups


def _gptq_shape(name: str, found: LayerFormat, tensors: _Tensors) -> tuple[int, int, int]:
    packed, scales, zeros = (tensors[part] for part in ("qweight", "scales", "qzeros"))
    _require(name, packed, ("I32",), 2)
    _require(name, scales, _FLOATS, 2)
    per_word = _WORD_BITS // found.bits
    inputs, outputs = packed.shape[0] * per_word, packed.shape[1]
    groups = scales.shape[0]
    if scales.shape[1] != outputs:
        raise damage_error(
            name, f"scales has the shape {list(scales.shape)}, for {outputs} outputs"
        )
    _require(name, zeros, ("I32",), 2)
    if zeros.shape != (groups, -(-outputs // per_word)):
        raise damage_error(
            name,
            f"qzeros has the shape {list(zeros.shape)}, for {groups} groups of {outputs} "
            f"outputs with {found.bits} bits",
        )
    order = tensors.get("g_idx")
    if order is not None:
        _require(name, order, ("I32", "I64"), 1)
        if order.shape[0] != inputs:
            raise damage_error(name, f"g_idx orders {order.shape[0]} inputs, qweight has {inputs}")
    return outputs, inputs, groups


def _awq_shape(name: str, found: LayerFormat, tensors: _Tensors) -> tuple[int, int, int]:
    packed, scales, zeros = (tensors[part] for part in ("qweight", "scales", "qzeros"))
    _require(name, packed, ("I32",), 2)
    _require(name, scales, _FLOATS, 2)
    _require(name, zeros, ("I32",), 2)
    inputs, outputs = packed.shape[0], packed.shape[1] * (_WORD_BITS // found.bits)
    groups = scales.shape[0]
    if scales.shape[1] != outputs or zeros.shape != (groups, packed.shape[1]):
        raise damage_error(
            name,
            f"qweight {list(packed.shape)}, qzeros {list(zeros.shape)} and scales "
            f"{list(scales.shape)} do not fit each other",
        )
    return outputs, inputs, groups


_SHAPES: dict[Layout, Callable[[str, LayerFormat, _Tensors], tuple[int, int, int]]] = {
    "int-quantized": _int_shape,
    "pack-quantized": _read_packed_shape,
    "gptq": _gptq_shape,
    "gptq_v2": _gptq_shape,
    "awq": _awq_shape,
}


def _groups_of_scale(name: str, scale: StoredTensor, outputs: int) -> int:
    if scale.kind not in _FLOATS:
        raise damage_error(name, f"weight_scale is of type {scale.kind}")
    if prod(scale.shape) == 1 or scale.shape == (outputs,):
        return 1
    if len(scale.shape) != 2 or scale.shape[0] != outputs:
        raise damage_error(
            name, f"weight_scale has the shape {list(scale.shape)}, of {outputs} outputs"
        )
    return scale.shape[1]


def read_integers(tensor: StoredTensor) -> array[int]:
    """Read a small integer tensor."""
    numbers: array[int] = array("i" if tensor.kind == "I32" else "q")
    with tensor.file.open("rb") as file:
        file.seek(tensor.first_byte)
        numbers.fromfile(file, prod(tensor.shape))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def group_of_input(
    name: str, found: LayerFormat, tensors: _Tensors, inputs: int, groups: int
) -> array[int] | None:
    """Return each input's group, or None for contiguous, equally large groups.

    Raises `ModelUnsupported` for an order that contradicts the other tensors, or lacks its tensor.
    """
    order = tensors.get("g_idx") or tensors.get("weight_g_idx")
    of_input = array("i") if order is None else read_integers(order)
    if order is None and found.needs_order and groups > 1:
        raise damage_error(
            name, "its inputs are ordered by activation, but the order (g_idx) is missing"
        )
    if not any(of_input) or set(of_input) == {-1}:  # absent, or not filled in
        size = inputs if groups == 1 else found.group_size
        if size is None or -(-inputs // size) != groups:
            raise damage_error(
                name, f"{groups} groups do not divide {inputs} inputs into groups of {size}"
            )
        of_input = _runs(inputs, size)
    elif len(of_input) != inputs or min(of_input) < 0 or max(of_input) >= groups:
        raise damage_error(name, "its order of inputs (g_idx) names unknown groups")
    is_even = inputs % groups == 0 and of_input == _runs(inputs, inputs // groups)
    return None if is_even else of_input


@cache
def _runs(inputs: int, size: int) -> array[int]:
    return array("i", [index // size for index in range(inputs)])


def _require(name: str, tensor: StoredTensor, kinds: tuple[str, ...], dimensions: int) -> None:
    if tensor.kind not in kinds or len(tensor.shape) != dimensions:
        part = tensor.name.rpartition(".")[2]
        raise damage_error(
            name,
            f"{part} is of type {tensor.kind} and shape {list(tensor.shape)}, not "
            f"{' or '.join(kinds)} with {dimensions} dimensions",
        )


def damage_error(module: str, why: str) -> ModelUnsupported:
    """Return the error for damaged quantized weights."""
    return ModelUnsupported(
        f"the quantized weights of {module} are damaged: {why}; download the model again",
        code="model_damaged",
    )
