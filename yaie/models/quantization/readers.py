"""Readers of quantized weights: one for each checkpoint packing.

All return int8 values [outputs, inputs] around zero, fp8 or codes of mxfp4, scales and zero points.
Called by `yaie.models.quantization.quantized_model`, and for experts.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import torch
from safetensors import safe_open

from yaie.models.files.checkpoint import StoredTensor
from yaie.models.quantization.dequantize_float import (
    scales_by_output,
    widen_float8,
    widen_mxfp4,
    widen_nvfp4,
)
from yaie.models.quantization.quantized_layers import QuantizedLayer
from yaie.models.quantization.quantized_weights import QuantizedWeight
from yaie.models.quantization.tensor_shapes import damage_error

# AWQ stores eight outputs in a word in the order 0, 2, 4, 6, 1, 3, 5, 7. The index of each output:
_AWQ_PLACES = [0, 4, 1, 5, 2, 6, 3, 7]
# GPTQ's first format stores zero points minus one. A word's increment, by bits:
_ONE_IN_EACH = {4: 0x11111111, 8: 0x01010101}
# mxfp4's exponents in float32: the least, 2^-127, is subnormal.
_MANTISSA_BITS = 23
_LEAST_POWER = 0x00400000


class _Changed:
    """A file's tensor that is changed when it is indexed with `...`."""

    def __init__(self, found: Any, tensor: StoredTensor) -> None:
        self._found = found
        self._tensor = tensor

    def __getitem__(self, _: object) -> torch.Tensor:
        first, number = self._tensor.first_row, self._tensor.num_rows
        read: torch.Tensor = self._found[first : None if number is None else first + number]
        return read.transpose(-1, -2).contiguous() if self._tensor.is_transposed else read


class TensorReader(Protocol):
    """Something that reads a checkpoint's tensors."""

    def read(self, tensor: StoredTensor) -> torch.Tensor:
        """Return a tensor."""


class TensorFiles:
    """A checkpoint's weight files, memory-mapped and opened once each."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._open: dict[Path, Any] = {}

    def __enter__(self) -> TensorFiles:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)  # `close` would drop the exception

    def read(self, tensor: StoredTensor) -> torch.Tensor:
        """Return a tensor."""
        found: torch.Tensor = self.unread(tensor)[...]
        return found

    def unread(self, tensor: StoredTensor) -> Any:
        """Return a tensor that is read when it is indexed with `...`."""
        found = self._file(tensor).get_slice(tensor.name_in_file)
        if tensor.is_changed:
            return _Changed(found, tensor)
        return found

    def _file(self, tensor: StoredTensor) -> Any:
        if tensor.file not in self._open:
            opened = safe_open(tensor.file, framework="pt")
            self._open[tensor.file] = self._stack.enter_context(opened)
        return self._open[tensor.file]


def read_quantized(layer: QuantizedLayer, files: TensorReader) -> QuantizedWeight:
    """Return a layer's quantized weight. With `layer.group_of_input`, groups are not contiguous.

    Raises `ModelUnsupported` for non-finite scales and out-of-range values.
    """
    reader = {
        "int-quantized": _read_int,
        "pack-quantized": _read_packed,
        "awq": _read_awq,
        "float8": _read_float8,
        "mxfp4": _read_mxfp4,
    }
    values, scales, zeros = reader.get(layer.format.layout, _read_gptq)(layer, files)
    scales, points = _by_group(layer, scales, zeros)
    return QuantizedWeight(layer.format.bits, values.contiguous(), scales, points)


def read_groups(
    layer: QuantizedLayer, files: TensorReader
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return the scales and zero points of integers with 8 bits, as in their `QuantizedWeight`.

    Raises `ModelUnsupported` for non-finite scales.
    """
    reader = {"int-quantized": _groups_of_int, "pack-quantized": _groups_of_packed}
    return _by_group(layer, *reader.get(layer.format.layout, _groups_of_gptq)(layer, files))


def _by_group(
    layer: QuantizedLayer, scales: torch.Tensor, zeros: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return scales and zero points [outputs, groups]; None: all zero, as the config says."""
    scales = scales.float().expand(layer.num_outputs, layer.num_groups).contiguous()
    if not bool(torch.isfinite(scales).all()):
        raise damage_error(layer.name, "its scales are not finite")
    if zeros is not None:
        zeros = zeros.expand(layer.num_outputs, layer.num_groups).contiguous()
        if layer.format.is_symmetric and not bool(zeros.any()):
            zeros = None
    return scales, zeros


def read_kept(layer: QuantizedLayer, files: TensorReader) -> QuantizedWeight:
    """Return the weight for a layer that stays quantized, with its inputs in group order."""
    weight = read_quantized(layer, files)
    if layer.group_of_input is None:
        return weight
    order = torch.tensor(layer.group_of_input).argsort(stable=True)
    values = weight.values[:, order].contiguous()
    return replace(weight, values=values, order=order.int())


def read_dequantized(
    layer: QuantizedLayer, files: TensorReader, dtype: torch.dtype
) -> torch.Tensor:
    """Return a layer's dequantized weights [outputs, inputs] in `dtype`.

    Experts in one tensor: [experts, outputs, inputs], and [experts, inputs, outputs] from mxfp4.
    """
    if layer.format.layout in ("float8", "mxfp4", "nvfp4"):
        values, scales = (files.read(layer.tensors[part]) for part in ("values", "scales"))
        if layer.format.layout == "mxfp4":
            return widen_mxfp4(layer.name, values, scales, dtype)
        if layer.format.layout == "nvfp4":
            return _read_nvfp4(layer, files, values, scales, dtype)
        return widen_float8(layer.name, values, scales, layer.format.block, dtype)
    weight = read_quantized(layer, files)
    if layer.group_of_input is None:
        return weight.dequantize(dtype)
    group = torch.tensor(layer.group_of_input)
    values = weight.values.float()
    if weight.zero_points is not None:
        values -= weight.zero_points[:, group]
    return (values * weight.scales[:, group]).to(dtype)


def _read_nvfp4(
    layer: QuantizedLayer,
    files: TensorReader,
    values: torch.Tensor,
    scales: torch.Tensor,
    dtype: torch.dtype,
) -> torch.Tensor:
    divisor = layer.tensors.get("divisor")
    of_all = files.read(divisor or layer.tensors["factor"])
    if divisor is None:
        return widen_nvfp4(layer.name, values, scales, of_all, dtype)
    return widen_nvfp4(layer.name, values, scales.float() / of_all, torch.ones(()), dtype)


_Groups = tuple[torch.Tensor, torch.Tensor | None]  # scales, zero points
_Parts = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]  # values, scales, zero points


def _read_int(layer: QuantizedLayer, files: TensorReader) -> _Parts:
    values = files.read(layer.tensors["weight"])
    if layer.format.bits == 4 and not -8 <= int(values.min()) <= int(values.max()) <= 7:
        raise damage_error(layer.name, "its 4-bit values exceed the range -8 to 7")
    return values, *_groups_of_int(layer, files)


def _groups_of_int(layer: QuantizedLayer, files: TensorReader) -> _Groups:
    zeros = layer.tensors.get("weight_zero_point")
    points = None if zeros is None else _as_column(files.read(zeros))
    return _as_column(files.read(layer.tensors["weight_scale"])), points


def _read_packed(layer: QuantizedLayer, files: TensorReader) -> _Parts:
    values = _unpack(files.read(layer.tensors["weight_packed"]), layer.format.bits)
    return values[:, : layer.num_inputs], *_groups_of_packed(layer, files)


def _groups_of_packed(layer: QuantizedLayer, files: TensorReader) -> _Groups:
    stored = layer.tensors.get("weight_zero_point")
    zeros = None
    if stored is not None:
        zeros = files.read(stored)
        if zeros.dtype == torch.int32:  # packed along the outputs
            zeros = _unpack(zeros.T.contiguous(), layer.format.bits)[:, : layer.num_outputs].T
    return _as_column(files.read(layer.tensors["weight_scale"])), zeros


def _read_gptq(layer: QuantizedLayer, files: TensorReader) -> _Parts:
    words = files.read(layer.tensors["qweight"])
    return _unpack(words.T.contiguous(), layer.format.bits), *_groups_of_gptq(layer, files)


def _groups_of_gptq(layer: QuantizedLayer, files: TensorReader) -> _Groups:
    bits = layer.format.bits
    words = files.read(layer.tensors["qzeros"])
    if layer.format.layout == "gptq":
        # Add to whole words, with carries, as the one was subtracted from whole words: a stored
        # zero point of -1 borrowed from its neighbours.
        words = words + _ONE_IN_EACH[bits]
    zeros = _unpack(words, bits)[:, : layer.num_outputs]
    return files.read(layer.tensors["scales"]).T, zeros.T


def _read_awq(layer: QuantizedLayer, files: TensorReader) -> _Parts:
    values, zeros = (
        _in_order(_unpack(files.read(layer.tensors[part]), 4)) for part in ("qweight", "qzeros")
    )
    return values.T, files.read(layer.tensors["scales"]).T, zeros.T


def _read_float8(layer: QuantizedLayer, files: TensorReader) -> _Parts:
    """Return values in e4m3. NaN is refused: kernels take its bits for a number."""
    values, scales = (files.read(layer.tensors[part]) for part in ("values", "scales"))
    if bool((values.view(torch.uint8) & 0x7F == 0x7F).any()):
        raise damage_error(layer.name, "its values are not finite")
    return values, scales_by_output(layer.name, scales, len(values), layer.format.block), None


def _read_mxfp4(layer: QuantizedLayer, files: TensorReader) -> _Parts:
    """Return codes and powers of two; an exponent that is not a number gives infinity."""
    pairs, exponents = (files.read(layer.tensors[part]) for part in ("values", "scales"))
    codes = torch.stack((pairs & 0xF, pairs >> 4), dim=-1).view(len(pairs), -1)
    bits = exponents.int() << _MANTISSA_BITS
    return codes, torch.where(bits == 0, _LEAST_POWER, bits).view(torch.float32), None


def _unpack(words: torch.Tensor, bits: int) -> torch.Tensor:
    """Unpack int32 [rows, words] to int8 [rows, 32 / bits * words], minus half the range.

    The first value is in a word's lowest bits. Bytes are little-endian, as in safetensors files.
    """
    # `contiguous` allows any stride in a dimension of size one, `view` does not.
    packed = words.clone(memory_format=torch.contiguous_format).view(torch.uint8)
    if bits == 8:
        return (packed ^ 0x80).view(torch.int8)
    both = torch.stack((packed & 0xF, packed >> 4), dim=-1)
    return both.view(len(words), -1).view(torch.int8) - 8


def _in_order(values: torch.Tensor) -> torch.Tensor:
    """Permute [rows, outputs] from AWQ's order within words to the natural one."""
    return values.view(len(values), -1, 8)[:, :, _AWQ_PLACES].view(len(values), -1)


def _as_column(scales: torch.Tensor) -> torch.Tensor:
    """Return scales as [outputs, groups], [outputs, 1], or [1, 1] for a single scale."""
    return scales if scales.dim() == 2 else scales.reshape(-1, 1)
