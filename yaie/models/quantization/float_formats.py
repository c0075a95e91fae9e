"""Weights in floating point of 8 or 4 bits: their settings in `config.json`, and their tensors.

They are widened to the model's dtype while a model is loaded. The scales of activations are unused:
rows keep the model's dtype. Torch-free. Called by `formats` and `layout`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from yaie.models.checkpoint import StoredTensor
from yaie.models.quantization.shapes import damaged

FLOAT8_KINDS = ("F8_E4M3", "F8_E5M2")
USUAL_BLOCK = (128, 128)  # outputs and inputs of a scale
BLOCKS = "_blocks"  # suffix of mxfp4 weights
VALUES_PER_SCALE = 32  # of mxfp4
_SCALES = ("_scale_inv", "_scale")  # suffixes of a weight's name; both are factors of the values
_UNUSED = ("input_scale", "activation_scale")
_SCALE_KINDS = ("F32", "BF16", "F16", "F8_E8M0", "U8")  # the last two hold exponents of two
_Tensors = Mapping[str, StoredTensor]


@dataclass(frozen=True, slots=True)
class FloatWeights:
    """The tensors of one weight, and the shape that its scales describe."""

    weight_name: str  # of the widened tensor
    num_matrices: int | None  # experts in one tensor; None: a single matrix
    num_outputs: int
    num_inputs: int
    num_scales: int
    tensors: Mapping[str, StoredTensor]  # "values", "scales", and unused ones

    def scales_of_row(self, block: tuple[int, int] | None) -> int | None:
        """Return the number of scales of a row of fp8, each for equally many inputs.

        None if the last one has fewer.
        """
        shape = self.tensors["scales"].shape
        if self.num_scales == 1 or (block is None and shape[0] == self.num_outputs):
            return 1
        count, size = shape[-1], (block or USUAL_BLOCK)[1]
        return count if count == 1 or count * size == self.num_inputs else None


def is_float_weight(tensor: StoredTensor) -> bool:
    """Return True for the values of weights in fp8 or mxfp4."""
    is_mxfp4 = tensor.name.endswith(BLOCKS) and tensor.kind == "U8"
    return is_mxfp4 or (tensor.kind in FLOAT8_KINDS and not tensor.name.endswith(_SCALES))


def module_of(weight: str) -> str:
    """Return the module of a weight; for experts in one tensor, the name of the weight."""
    return weight.removesuffix(BLOCKS).removesuffix(".weight")


def find_float8(values: StoredTensor, tensors: _Tensors, block: Any) -> FloatWeights:
    """Describe a weight in fp8. `block`: outputs and inputs of a scale; None: by its shape.

    Raises `ModelUnsupported` if the scales are missing or of another shape.
    """
    module = module_of(values.name)
    if len(values.shape) not in (2, 3):
        raise damaged(module, f"they have the shape {list(values.shape)}")
    scales = [tensors[name] for end in _SCALES if (name := values.name + end) in tensors]
    if not scales:
        raise damaged(module, f"{values.name}{_SCALES[0]} is missing")
    num_matrices = values.shape[0] if len(values.shape) == 3 else None
    outputs, inputs = values.shape[-2:]
    grids = _grids(outputs, inputs, block)
    shape = scales[0].shape
    allowed = {grid if num_matrices is None else (num_matrices, *grid) for grid in grids}
    if scales[0].kind not in _SCALE_KINDS or shape not in allowed:
        raise damaged(
            module,
            f"its scales are of type {scales[0].kind} and shape {list(shape)}, for {outputs} "
            f"outputs and {inputs} inputs",
        )
    owner = module if values.name.endswith(".weight") else module.rpartition(".")[0]
    unused = (f"{owner}.{part}" for part in _UNUSED)
    also = [*unused, *(f"{values.name}_{part}" for part in _UNUSED)]
    return FloatWeights(
        weight_name=values.name,
        num_matrices=num_matrices,
        num_outputs=outputs,
        num_inputs=inputs,
        num_scales=prod(shape),
        tensors={
            "values": values,
            "scales": scales[0],
            **{name: tensors[name] for name in also if name in tensors},
        },
    )


def _grids(outputs: int, inputs: int, block: tuple[int, int] | None) -> set[tuple[int, ...]]:
    """Return the shapes that a matrix's scales may have."""
    if block is not None:
        return {grid_of(outputs, inputs, block)}
    by_output = {(outputs,), (outputs, 1)}
    return {(), (1,), (1, 1), *by_output, grid_of(outputs, inputs, USUAL_BLOCK)}


def grid_of(outputs: int, inputs: int, block: tuple[int, int]) -> tuple[int, int]:
    """Return the shape of block scales; the last blocks may be cut off."""
    return -(-outputs // block[0]), -(-inputs // block[1])


def find_mxfp4(values: StoredTensor, tensors: _Tensors) -> FloatWeights:
    """Describe experts in mxfp4: two values a byte, the exponent of a factor for each 32 inputs.

    Raises `ModelUnsupported` if the scales are missing or of another shape.
    """
    name = values.name.removesuffix(BLOCKS)
    scales = tensors.get(f"{name}_scales")
    if scales is None:
        raise damaged(name, f"{name}_scales is missing")
    shape = values.shape
    is_whole = len(shape) == 4 and shape[3] * 2 == VALUES_PER_SCALE
    if not is_whole or scales.kind != "U8" or scales.shape != shape[:3]:
        raise damaged(
            name,
            f"blocks of shape {list(shape)} have scales of type {scales.kind} and shape "
            f"{list(scales.shape)}",
        )
    return FloatWeights(
        weight_name=name,
        num_matrices=shape[0],
        num_outputs=shape[1],
        num_inputs=shape[2] * VALUES_PER_SCALE,
        num_scales=prod(scales.shape),
        tensors={"values": values, "scales": scales},
    )
