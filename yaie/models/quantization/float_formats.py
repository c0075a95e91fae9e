"""Float formats: 8-bit and 4-bit floating-point weights, their settings and tensors.

They are widened to the model's dtype while a model is loaded. The scales of activations are unused:
rows keep the model's dtype. Torch-free. Called by `quantization_config` and `checkpoint_layers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from yaie.base.errors import ModelUnsupported
from yaie.models.files.checkpoint import StoredTensor
from yaie.models.quantization.tensor_shapes import damage_error

FloatLayout = Literal["float8", "mxfp4", "nvfp4"]
FLOAT8_KINDS = ("F8_E4M3", "F8_E5M2")
USUAL_BLOCK = (128, 128)  # outputs and inputs of a scale
BLOCKS = "_blocks"  # suffix of mxfp4 weights
VALUES_PER_SCALE = 32  # mxfp4
VALUES_PER_NVFP4_SCALE = 16
_PACKED = ".weight_packed"  # suffix of nvfp4 weights, as compressed-tensors writes them
_SCALES = ("_scale_inv", "_scale")  # suffixes of a weight's name; both are factors of the values
_UNUSED = ("input_scale", "activation_scale", "input_scale_ub")
_SCALE_KINDS = ("F32", "BF16", "F16", "F8_E8M0", "U8")  # the last two are exponents of two
_Tensors = Mapping[str, StoredTensor]


@dataclass(frozen=True, slots=True)
class FloatWeights:
    """One weight's tensors, and the shape that its scales describe."""

    weight_name: str  # name of the widened tensor
    num_matrices: int | None  # experts in one tensor; None: a single matrix
    num_outputs: int
    num_inputs: int
    tensors: Mapping[str, StoredTensor]  # "values", "scales", "divisor" or "factor", unused ones

    def scales_of_row(self, block: tuple[int, int] | None) -> int | None:
        """Return the number of scales per fp8 row, each for the same number of inputs.

        None if the last one has fewer.
        """
        shape = _flat(self.tensors["scales"].shape)
        if self.num_matrices is not None:
            shape = shape[1:]
        if prod(shape) == 1 or (block is None and shape[0] == self.num_outputs):
            return 1
        count, size = shape[-1], (block or USUAL_BLOCK)[1]
        return count if count == 1 or count * size == self.num_inputs else None


def float_layout(tensor: StoredTensor) -> FloatLayout | None:
    """Return the layout of a floating-point weight; None for other tensors."""
    if tensor.kind == "U8":
        if tensor.name.endswith(BLOCKS):
            return "mxfp4"
        return "nvfp4" if tensor.name.endswith((_PACKED, ".weight")) else None
    is_float8 = tensor.kind in FLOAT8_KINDS and not tensor.name.endswith(_SCALES)
    return "float8" if is_float8 else None


def module_of(weight: str) -> str:
    """Return a weight's module; for experts in one tensor, the weight's name."""
    return weight.removesuffix(BLOCKS).removesuffix(_PACKED).removesuffix(".weight")


def _flat(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the scale grid that ModelOpt writes as [rows, 1, columns, 1]."""
    return shape[::2] if len(shape) == 4 and shape[1] == shape[3] == 1 else shape


def find_float8(values: StoredTensor, tensors: _Tensors, block: Any) -> FloatWeights:
    """Describe a weight in fp8. `block`: outputs and inputs per scale; None: by its shape.

    Raises `ModelUnsupported` if the scales are missing or of another shape.
    """
    module = module_of(values.name)
    if len(values.shape) not in (2, 3):
        raise damage_error(module, f"they have the shape {list(values.shape)}")
    scales = [tensors[name] for end in _SCALES if (name := values.name + end) in tensors]
    if not scales:
        raise damage_error(module, f"{values.name}{_SCALES[0]} is missing")
    num_matrices = values.shape[0] if len(values.shape) == 3 else None
    outputs, inputs = values.shape[-2:]
    grids = _grids(outputs, inputs, block)
    shape = scales[0].shape
    allowed = {grid if num_matrices is None else (num_matrices, *grid) for grid in grids}
    if scales[0].kind not in _SCALE_KINDS or _flat(shape) not in allowed:
        raise _unfit(module, scales[0], outputs, inputs)
    owner = module if values.name.endswith(".weight") else module.rpartition(".")[0]
    unused = (f"{owner}.{part}" for part in _UNUSED)
    also = [*unused, *(f"{values.name}_{part}" for part in _UNUSED)]
    return FloatWeights(
        weight_name=values.name,
        num_matrices=num_matrices,
        num_outputs=outputs,
        num_inputs=inputs,
        tensors={
            "values": values,
            "scales": scales[0],
            **{name: tensors[name] for name in also if name in tensors},
        },
    )


def _unfit(module: str, scales: StoredTensor, outputs: int, inputs: int) -> ModelUnsupported:
    return damage_error(
        module,
        f"its scales are of type {scales.kind} and shape {list(scales.shape)}, for {outputs} "
        f"outputs and {inputs} inputs",
    )


def _grids(outputs: int, inputs: int, block: tuple[int, int] | None) -> set[tuple[int, ...]]:
    """Return the shapes that a matrix's scales may have."""
    if block is not None:
        return {grid_of(outputs, inputs, block)}
    by_output = {(outputs,), (outputs, 1)}
    return {(), (1,), (1, 1), *by_output, grid_of(outputs, inputs, USUAL_BLOCK)}


def grid_of(outputs: int, inputs: int, block: tuple[int, int]) -> tuple[int, int]:
    """Return the block scales' shape; the last blocks may be cut off."""
    return -(-outputs // block[0]), -(-inputs // block[1])


def find_mxfp4(values: StoredTensor, tensors: _Tensors) -> FloatWeights:
    """Describe experts in mxfp4: two values a byte, the exponent of a factor for each 32 inputs.

    Raises `ModelUnsupported` if the scales are missing or of another shape.
    """
    name = values.name.removesuffix(BLOCKS)
    scales = tensors.get(f"{name}_scales")
    if scales is None:
        raise damage_error(name, f"{name}_scales is missing")
    shape = values.shape
    is_whole = len(shape) == 4 and shape[3] * 2 == VALUES_PER_SCALE
    if not is_whole or scales.kind != "U8" or scales.shape != shape[:3]:
        raise damage_error(
            name,
            f"blocks of shape {list(shape)} have scales of type {scales.kind} and shape "
            f"{list(scales.shape)}",
        )
    return FloatWeights(
        weight_name=name,
        num_matrices=shape[0],
        num_outputs=shape[1],
        num_inputs=shape[2] * VALUES_PER_SCALE,
        tensors={"values": values, "scales": scales},
    )


def find_nvfp4(values: StoredTensor, tensors: _Tensors) -> FloatWeights:
    """Describe a weight in nvfp4: two values a byte, a scale in e4m3 for each 16 inputs.

    One more scale for the whole tensor divides these (compressed-tensors) or multiplies them
    (ModelOpt). Raises `ModelUnsupported` if a scale is missing or of another shape.
    """
    module = module_of(values.name)
    if len(values.shape) != 2:
        raise damage_error(module, f"they have the shape {list(values.shape)}")
    of_all = "divisor" if values.name.endswith(_PACKED) else "factor"
    whole = f"{module}.weight_{'global_scale' if of_all == 'divisor' else 'scale_2'}"
    name = f"{module}.weight_scale"
    missing = [each for each in (name, whole) if each not in tensors]
    if missing:
        raise damage_error(module, f"{missing[0]} is missing")
    outputs, inputs = values.shape[0], 2 * values.shape[1]
    scales = tensors[name]
    grid = grid_of(outputs, inputs, (1, VALUES_PER_NVFP4_SCALE))
    if scales.kind != "F8_E4M3" or scales.shape != grid or inputs % VALUES_PER_NVFP4_SCALE:
        raise _unfit(module, scales, outputs, inputs)
    if tensors[whole].kind != "F32" or prod(tensors[whole].shape) != 1:
        raise _unfit(module, tensors[whole], outputs, inputs)
    unused = (f"{module}.{part}" for part in ("input_scale", "input_global_scale"))
    return FloatWeights(
        weight_name=f"{module}.weight",
        num_matrices=None,
        num_outputs=outputs,
        num_inputs=inputs,
        tensors={
            "values": values,
            "scales": scales,
            of_all: tensors[whole],
            **{each: tensors[each] for each in unused if each in tensors},
        },
    )
