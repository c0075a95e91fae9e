"""Checkpoint layers: quantized layers, their shapes, and whether each stays quantized.

Read from the headers of the weight files, so that a missing or damaged tensor is refused, and the
memory is known, before weights are read. Torch-free. Called by the loader and `yaie models`.
"""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.quantization_config import (
    LayerFormat,
    Layout,
    StoredQuantization,
    read_quantization,
)
from yaie.models.files.checkpoint import Checkpoint, StoredTensor, without_layers_beyond
from yaie.models.quantization.device.packed_layout import (
    ORDER_BYTES,
    PACKING_BYTES,
    PackedLayout,
)
from yaie.models.quantization.float_formats import (
    FloatWeights,
    find_float8,
    find_mxfp4,
    find_nvfp4,
    float_layout,
    module_of,
)
from yaie.models.quantization.layer_policy import why_dequantized, why_widened
from yaie.models.quantization.tensor_shapes import damage_error, group_of_input, shape_of_layer

_NUMBERS = ("F16", "BF16", "F32", "F64")
_WEIGHTS = ("weight", "weight_packed", "_proj")  # suffixes; experts lack ".weight"
_SCALES_OF_CACHE = ("k_scale", "v_scale", "kv_scale")  # unused: the KV pool computes its scales

log = logging.getLogger(__name__)

DEQUANTIZING_BYTES = 12  # peak for one weight while it is dequantized: three float32

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
_SCALE_PARTS = ("weight_scale", "scales")


@dataclass(frozen=True, slots=True, eq=False)
class QuantizedLayer:
    """A linear layer with quantized weights in a checkpoint."""

    name: str  # module name in the checkpoint
    format: LayerFormat
    num_outputs: int
    num_inputs: int
    num_groups: int
    tensors: Mapping[str, StoredTensor]  # by the last component of their names
    group_of_input: array[int] | None  # [inputs]; None: contiguous groups of equal size
    dequantized_because: str | None  # None: it stays quantized
    num_matrices: int | None = None  # experts in one tensor; None: a single matrix

    @property
    def weight_name(self) -> str:
        """The dequantized weights' name; experts in one tensor are a parameter themselves."""
        return f"{self.name}.weight" if self.num_matrices is None else self.name

    @property
    def num_weights(self) -> int:
        """Number of weights."""
        return (self.num_matrices or 1) * self.num_at_once

    @property
    def num_at_once(self) -> int:
        """Number of weights that are dequantized together."""
        return self.num_outputs * self.num_inputs

    def nbytes(self, wide: int, *, packed: bool) -> int:
        """Return its bytes in memory, with `wide` bytes per dequantized weight.

        packed: by the kernel library; otherwise a 4-bit weight takes a byte.
        """
        if self.dequantized_because is not None:
            return self.num_weights * wide
        points = 0 if self.format.is_symmetric else 1
        each = scale_nbytes(self.format.bits, packed=packed) + points
        scales = self.num_outputs * self.num_groups * each
        return self.num_weights * (self.format.bits if packed else 8) // 8 + scales

    def device_nbytes(self, wide: int) -> int:
        """Return its bytes in GPU memory, where the scales keep their stored dtype."""
        if self.dequantized_because is not None:
            return self.num_weights * wide
        packing = PackedLayout(self.format.bits, self.num_inputs, self.num_groups)
        order = 0 if self.group_of_input is None else ORDER_BYTES * self.num_inputs
        scale = next(tensor for part, tensor in self.tensors.items() if part in _SCALE_PARTS)
        return order + packing.nbytes(
            self.num_outputs,
            scale_bytes=4 if scale.kind == "F32" else 2,
            has_points=not self.format.is_symmetric,
        )


@dataclass(frozen=True, slots=True)
class QuantizedLayout:
    """A quantized checkpoint's layers and plain tensors."""

    stored: StoredQuantization
    layers: tuple[QuantizedLayer, ...]
    plain: tuple[StoredTensor, ...]  # all other tensors

    @property
    def num_parameters(self) -> int:
        """Number of parameters in the unquantized model."""
        weights = sum(layer.num_weights for layer in self.layers)
        return weights + sum(prod(tensor.shape) for tensor in self.plain)

    @property
    def kept(self) -> list[QuantizedLayer]:
        """Layers that stay quantized."""
        return [layer for layer in self.layers if layer.dequantized_because is None]

    def nbytes(self, wide: int, *, packed: bool) -> int:
        """Return the weights' bytes in memory, `wide` for each that is not quantized."""
        plain = sum(prod(tensor.shape) for tensor in self.plain) * wide
        return plain + sum(layer.nbytes(wide, packed=packed) for layer in self.layers)

    def device_nbytes(self, wide: int) -> int:
        """Return the weights' bytes in a GPU's memory."""
        plain = sum(prod(tensor.shape) for tensor in self.plain) * wide
        return plain + sum(layer.device_nbytes(wide) for layer in self.layers)

    def device_packing_nbytes(self, wide: int) -> int:
        """Return the GPU bytes that packing the largest layer takes; a weight has `wide`."""
        return PACKING_BYTES * max((layer.num_weights for layer in self.kept), default=0)

    def loading_nbytes(self, wide: int) -> int:
        """Return the peak bytes during loading on a CPU.

        Until they are packed, 4-bit weights take a byte each, and a layer that is dequantized, for
        the model or to run it once, passes through float32.
        """
        return self.nbytes(wide, packed=False) + self.dequantizing_nbytes

    @property
    def dequantizing_nbytes(self) -> int:
        """Bytes to dequantize the largest layer."""
        return DEQUANTIZING_BYTES * max(layer.num_at_once for layer in self.layers)

    @property
    def is_widened(self) -> bool:
        """True if all layers are dequantized: the loaded model is a plain one."""
        return not self.kept

    @property
    def dequantized(self) -> Counter[str]:
        """Number of dequantized layers by reason."""
        reasons = (layer.dequantized_because for layer in self.layers)
        return Counter(reason for reason in reasons if reason is not None)

    @property
    def kind(self) -> str | None:
        """Format of the quantized layers: int8, int4 or int4+int8, if any stays quantized."""
        return _kind(self.kept) or None

    @property
    def stored_kind(self) -> str:
        """Format of the checkpoint's layers."""
        return _kind(self.layers)


def scale_nbytes(bits: int, *, packed: bool) -> int:
    """Return the bytes per scale: 4 for float32, or 2 for bfloat16 with packed 4-bit weights.

    A float32 scale for 64 4-bit weights would be an eighth of the bytes read. Rounding it to
    bfloat16 adds an error up to 2^-9; the weights' own is several hundredths.
    """
    return 2 if packed and bits == 4 else 4


def _kind(layers: Iterable[QuantizedLayer]) -> str:
    return "+".join(sorted({layer.format.kind for layer in layers}))


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
        num_groups=weights.num_scales if because else weights.scales_of_row(found.block) or 1,
        tensors=weights.tensors,
        group_of_input=None,
        dequantized_because=because,
        num_matrices=weights.num_matrices,
    )


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
