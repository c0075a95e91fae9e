"""Checkpoint layers: quantized layers, their shapes, and whether each stays quantized.

Read from the headers of the weight files, so that a missing or damaged tensor is refused, and the
memory is known, before weights are read. Torch-free. Called by the loader and `yaie models`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.quantization_config import (
    LayerFormat,
    Layout,
    StoredQuantization,
    read_quantization,
)
from yaie.models.files.checkpoint import Checkpoint, StoredTensor, without_layers_beyond
from yaie.models.quantization.float_formats import (
    FloatWeights,
    find_float8,
    find_mxfp4,
    find_nvfp4,
    float_layout,
    module_of,
)
from yaie.models.quantization.layer_policy import (
    why_dequantized,
    why_no_float_kernel,
    why_no_kernel,
    why_widened,
)
from yaie.models.quantization.quantized_layers import QuantizedLayer, QuantizedLayout
from yaie.models.quantization.tensor_shapes import damage_error, group_of_input, shape_of_layer

_NUMBERS = ("F16", "BF16", "F32", "F64")
_WEIGHTS = ("weight", "weight_packed", "_proj")  # suffixes; experts lack ".weight"
_SCALES_OF_CACHE = ("k_scale", "v_scale", "kv_scale")  # unused: the KV pool computes its scales

log = logging.getLogger(__name__)

# The tensors of a layer: quantized values, required tensors and optional ones.
_MARKERS: dict[Layout, str] = {
    "int-quantized": "weight",
    "pack-quantized": "weight_packed",
    "gptq": "qweight",
    "gptq_v2": "qweight",
    "awq": "qweight",
}
_NEEDED: dict[Layout, tuple[str, ...]] = {
    "int-quantized": ("weight_scale",),
    "pack-quantized": ("weight_scale", "weight_shape"),
    "gptq": ("qzeros", "scales"),
    "gptq_v2": ("qzeros", "scales"),
    "awq": ("qzeros", "scales"),
}
_OPTIONAL: dict[Layout, tuple[str, ...]] = {
    "int-quantized": ("weight_zero_point", "weight_g_idx"),
    "pack-quantized": ("weight_zero_point", "weight_g_idx"),
    "gptq": ("g_idx",),
    "gptq_v2": ("g_idx",),
    "awq": (),
}
_FLOATS = ("F16", "BF16", "F32")


def read_stored_layout(
    config: Mapping[str, Any],
    checkpoint: Checkpoint,
    *,
    on_gpu: bool = False,
    keeps_float8: bool = False,
) -> QuantizedLayout | None:
    """Return a checkpoint's quantized layers by its `config.json`; None if it is plain.

    on_gpu: more formats stay quantized on a GPU than on a CPU. keeps_float8: fp8 stays as it is, as
    on a GPU.
    Raises `ModelUnsupported` for unsupported settings, as `read_layout` does, and for quantized
    weights without a quantization in the config.
    """
    quantization = read_quantization(config)
    if quantization is not None:
        own = without_layers_beyond(config, checkpoint)
        return read_layout(own, quantization, on_gpu=on_gpu, keeps_float8=keeps_float8)
    if checkpoint.gguf is not None:
        return None  # its blocks are decoded to plain weights
    for tensor in checkpoint.tensors.values():
        check_plain(tensor, checkpoint.tensors)
    return None


def read_layout(
    checkpoint: Checkpoint,
    quantization: StoredQuantization,
    *,
    on_gpu: bool = False,
    keeps_float8: bool = False,
) -> QuantizedLayout:
    """Return a checkpoint's quantized layers; see `read_stored_layout`.

    Reads headers, and the small tensors with shapes and input order. Raises `ModelUnsupported` if a
    layer lacks a tensor, or if its tensors contradict each other.
    """
    layers = []
    used: set[str] = set()
    for name, tensor in checkpoint.tensors.items():
        if float_layout(tensor) is not None:
            keeps = on_gpu or keeps_float8
            layers.append(_float_layer(checkpoint, quantization, tensor, keeps_float8=keeps))
            used |= {each.name for each in layers[-1].tensors.values()}
            continue
        module, _, part = name.rpartition(".")
        if not _holds_integers(part, tensor):
            continue
        found = quantization.format_of(module, tensor.name_in_file.rpartition(".")[0])
        if found is None or _MARKERS.get(found.layout) != part:
            raise damage_error(
                module, f"the config names no quantization for {name} ({tensor.kind})"
            )
        tensors = _tensors_of(checkpoint, module, found)
        used |= {each.name for each in tensors.values()}
        layers.append(_layer(module, found, tensors, on_gpu=on_gpu))
    plain = tuple(tensor for name, tensor in checkpoint.tensors.items() if name not in used)
    if not layers:
        raise ModelUnsupported(
            f"config.json has a quantization_config ({quantization.method}), but the weights are "
            f"plain; remove it, or download the model again",
            code="model_damaged",
        )
    for tensor in plain:
        _check_not_left_over(tensor, checkpoint.tensors)
    return QuantizedLayout(quantization, tuple(layers), plain)


def _float_layer(
    checkpoint: Checkpoint,
    quantization: StoredQuantization,
    values: StoredTensor,
    *,
    keeps_float8: bool,
) -> QuantizedLayer:
    """Describe weights in fp8, mxfp4 or nvfp4."""
    module = module_of(values.name)
    found = quantization.format_of(module, module_of(values.name_in_file))
    if found is None or found.layout != float_layout(values):
        raise damage_error(
            module, f"the config names no quantization for {values.name} ({values.kind})"
        )
    weights: FloatWeights
    if found.layout == "mxfp4":
        weights = find_mxfp4(values, checkpoint.tensors)
    elif found.layout == "nvfp4":
        weights = find_nvfp4(values, checkpoint.tensors)
    else:
        weights = find_float8(values, checkpoint.tensors, found.block)
    because = why_widened(module, found, weights, keeps_float8=keeps_float8)
    return QuantizedLayer(
        name=module,
        format=found,
        num_outputs=weights.num_outputs,
        num_inputs=weights.num_inputs,
        num_groups=_groups_of_row(found, weights),
        tensors=weights.tensors,
        group_of_input=None,
        dequantized_because=because,
        num_matrices=weights.num_matrices,
        no_kernel_because=why_no_float_kernel(found, weights),
    )


def _groups_of_row(found: LayerFormat, weights: FloatWeights) -> int:
    if found.group_size is not None:
        return weights.num_inputs // found.group_size
    return weights.scales_of_row(found.block) or 1


def _holds_integers(part: str, tensor: StoredTensor) -> bool:
    if part == "weight":
        return tensor.kind not in _FLOATS
    return part in _MARKERS.values()


def _tensors_of(checkpoint: Checkpoint, module: str, found: LayerFormat) -> dict[str, StoredTensor]:
    needed = [_MARKERS[found.layout], *_NEEDED[found.layout]]
    if found.layout == "pack-quantized" and not found.is_symmetric:
        needed.append("weight_zero_point")
    missing = [part for part in needed if f"{module}.{part}" not in checkpoint.tensors]
    if missing:
        raise damage_error(module, f"{missing[0]} is missing")
    parts = {*needed, *_OPTIONAL[found.layout]}
    named = {part: checkpoint.tensors.get(f"{module}.{part}") for part in sorted(parts)}
    return {part: tensor for part, tensor in named.items() if tensor is not None}


def _check_not_left_over(tensor: StoredTensor, tensors: Mapping[str, StoredTensor]) -> None:
    """Refuse scales without their quantized weights: a file is incomplete."""
    module, _, part = tensor.name.rpartition(".")
    if part in ("weight_scale", "weight_scale_inv", "weight_shape", "qzeros", "scales"):
        if part.startswith("weight_scale") and f"{module}.weight" in tensors:
            return  # the layer is in floating point
        if part == "scales" and module.endswith(".act"):
            raise ModelUnsupported(
                f"the activations of {module} are scaled, as AutoAWQ does for this architecture, "
                "which is not supported; use the original model with --quantization int4"
            )
        raise damage_error(module, f"{part} is present, but its quantized weights are missing")


def _layer(
    name: str, found: LayerFormat, tensors: dict[str, StoredTensor], *, on_gpu: bool
) -> QuantizedLayer:
    outputs, inputs, groups = shape_of_layer(name, found, tensors)
    of_input = group_of_input(name, found, tensors, inputs, groups)
    return QuantizedLayer(
        name=name,
        format=found,
        num_outputs=outputs,
        num_inputs=inputs,
        num_groups=groups,
        tensors=tensors,
        group_of_input=of_input,
        dequantized_because=why_dequantized(name, found, inputs, groups, of_input, on_gpu=on_gpu),
        no_kernel_because=why_no_kernel(found, inputs, groups, of_input),
    )


def check_plain(tensor: StoredTensor, tensors: Mapping[str, StoredTensor]) -> None:
    """Refuse a quantized tensor that would be loaded as a plain weight, without its scales.

    Other integers, such as masks, pass.
    """
    is_fp8 = tensor.kind.startswith("F8")
    are_integers = tensor.kind not in _NUMBERS and tensor.name.endswith(_WEIGHTS)
    if is_fp8 or are_integers or _scales_weights(tensor.name, tensors):
        raise ModelUnsupported(
            f"{tensor.name} ({tensor.kind}) belongs to quantized weights, but config.json has no "
            f"quantization_config to read them by; download the folder again, or use a checkpoint "
            f"in bfloat16, float16 or float32",
            code="model_damaged",
        )


def _scales_weights(name: str, tensors: Mapping[str, StoredTensor]) -> bool:
    """Return True if a tensor's name means a weight's scale in the same module."""
    module, _, part = name.rpartition(".")
    if part in _SCALES_OF_CACHE or not ("scale" in part or part == "SCB"):
        return False
    of_experts, found, _ = name.rpartition("_scale")
    return f"{module}.weight" in tensors or (bool(found) and of_experts in tensors)
