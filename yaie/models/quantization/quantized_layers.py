"""Quantized layers: a checkpoint's quantized layers, and their bytes in memory.

Torch-free. Made by `checkpoint_layers`, which reads the headers of weight files.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from yaie.models.architecture.quantization_config import LayerFormat, StoredQuantization
from yaie.models.files.checkpoint import StoredTensor
from yaie.models.quantization.device.packed_layout import (
    ORDER_BYTES,
    PACKING_BYTES,
    PackedLayout,
)
from yaie.models.quantization.layer_policy import is_in_mixture

Q8_0_INPUTS = 32  # of a block
Q8_0_SCALE_BYTES = 2
DEQUANTIZING_BYTES = 12  # peak for one weight while it is dequantized: three float32

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
    no_kernel_because: str | None = None  # None: a CPU's kernels compute with such weights

    @property
    def weight_name(self) -> str:
        """The dequantized weights' name; experts in one tensor are a parameter themselves."""
        return f"{self.name}.weight" if self.num_matrices is None else self.name

    @property
    def is_in_mixture(self) -> bool:
        """True for experts and routers."""
        return self.num_matrices is not None or is_in_mixture(self.name)

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
        return self._kept_nbytes(packed=packed)

    @property
    def is_in_q8_0(self) -> bool:
        """True for 8 bits in groups, if GGUF's Q8_0 blocks hold them: as experts they do."""
        return (
            self.format.layout != "float8"
            and self.format.bits == 8
            and self.format.is_symmetric
            and self.num_groups > 1
            and self.group_of_input is None
            and self.num_inputs // self.num_groups % Q8_0_INPUTS == 0
        )

    @property
    def packed_kind(self) -> str:
        """The kind in which the kernel library packs it as an expert."""
        return "Q8_0" if self.is_in_q8_0 else self.format.kind

    @property
    def packed_nbytes(self) -> int:
        """Its bytes if the kernel library packs it as an expert."""
        if self.is_in_q8_0:
            return self.num_weights + self.num_weights // Q8_0_INPUTS * Q8_0_SCALE_BYTES
        return self._kept_nbytes(packed=True)

    def _kept_nbytes(self, *, packed: bool) -> int:
        each = scale_nbytes(self.format.bits, packed=packed)
        if self.format.layout == "mxfp4":
            each = 1
        each += 0 if self.format.is_symmetric else 1
        scales = (self.num_matrices or 1) * self.num_outputs * self.num_groups * each
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
        most = max((layer.num_at_once for layer in self.layers), default=0)
        return DEQUANTIZING_BYTES * most

    def without(self, names: Collection[str]) -> QuantizedLayout:
        """Return the layout without some tensors, by name, and the layers that have them."""
        layers = (
            layer
            for layer in self.layers
            if all(each.name not in names for each in layer.tensors.values())
        )
        plain = (each for each in self.plain if each.name not in names)
        return QuantizedLayout(self.stored, tuple(layers), tuple(plain))

    @property
    def has_experts(self) -> bool:
        """True if some layers may belong to experts; their modules show which."""
        return any(layer.is_in_mixture for layer in self.layers)

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
