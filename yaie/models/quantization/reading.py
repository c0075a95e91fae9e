"""Reads the integers of a quantized layer out of its checkpoint's packing.

Whatever the packing, what comes out is [outputs, inputs] in int8 around zero, scales, and zero
points. Called by `yaie.models.quantization.building`.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from safetensors import safe_open

from yaie.models.checkpoint import StoredTensor
from yaie.models.quantization.layout import QuantizedLayer
from yaie.models.quantization.shapes import damaged
from yaie.models.quantization.weights import QuantizedWeight

# AWQ stores eight outputs in a word in the order 0, 2, 4, 6, 1, 3, 5, 7. The place of each output:
_AWQ_PLACES = [0, 4, 1, 5, 2, 6, 3, 7]
# GPTQ's first format stores zero points less one; what is added to words of them, for these bits.
_ONE_IN_EACH = {4: 0x11111111, 8: 0x01010101}


class TensorFiles:
    """The weight files of a checkpoint, memory-mapped and opened once each."""

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
        self._stack.__exit__(kind, error, trace)  # `close` would forget why it is called

    def read(self, tensor: StoredTensor) -> torch.Tensor:
        """A tensor's numbers."""
        found: torch.Tensor = self._file(tensor).get_tensor(tensor.name)
        return found

    def unread(self, tensor: StoredTensor) -> Any:
        """A tensor that is read when it is indexed with `...`."""
        return self._file(tensor).get_slice(tensor.name)

    def _file(self, tensor: StoredTensor) -> Any:
        if tensor.file not in self._open:
            opened = safe_open(tensor.file, framework="pt")
            self._open[tensor.file] = self._stack.enter_context(opened)
        return self._open[tensor.file]


def read_quantized(layer: QuantizedLayer, files: TensorFiles) -> QuantizedWeight:
    """A layer's integers. Where `layer.group_of_input` is set, its groups are not runs of inputs.

    Raises `ModelUnsupported` if its scales are not finite or its integers too large.
    """
    reader = {"int-quantized": _read_int, "pack-quantized": _read_packed, "awq": _read_awq}
    values, scales, zeros = reader.get(layer.format.layout, _read_gptq)(layer, files)
    scales = scales.float().expand(layer.num_outputs, layer.num_groups).contiguous()
    if not bool(torch.isfinite(scales).all()):
        raise damaged(layer.name, "its scales are not finite numbers")
    if zeros is not None:
        zeros = zeros.expand(layer.num_outputs, layer.num_groups).contiguous()
        if layer.format.is_symmetric and not bool(zeros.any()):
            zeros = None
    return QuantizedWeight(layer.format.bits, values.contiguous(), scales, zeros)


def read_widened(layer: QuantizedLayer, files: TensorFiles, dtype: torch.dtype) -> torch.Tensor:
    """A layer's weights as numbers of `dtype`, [outputs, inputs]."""
    weight = read_quantized(layer, files)
    if layer.group_of_input is None:
        return weight.widened(dtype)
    group = torch.tensor(layer.group_of_input)
    values = weight.values.float()
    if weight.zero_points is not None:
        values -= weight.zero_points[:, group]
    return (values * weight.scales[:, group]).to(dtype)


_Parts = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]  # values, scales, zero points


def _read_int(layer: QuantizedLayer, files: TensorFiles) -> _Parts:
    values = files.read(layer.tensors["weight"])
    if layer.format.bits == 4 and not -8 <= int(values.min()) <= int(values.max()) <= 7:
        raise damaged(layer.name, "it should have 4 bits, and holds integers beyond -8 to 7")
    zeros = layer.tensors.get("weight_zero_point")
    points = None if zeros is None else _as_column(files.read(zeros))
    return values, _as_column(files.read(layer.tensors["weight_scale"])), points


def _read_packed(layer: QuantizedLayer, files: TensorFiles) -> _Parts:
    bits = layer.format.bits
    values = _unpack(files.read(layer.tensors["weight_packed"]), bits)[:, : layer.num_inputs]
    stored = layer.tensors.get("weight_zero_point")
    zeros = None
    if stored is not None:
        zeros = files.read(stored)
        if zeros.dtype == torch.int32:  # packed along the outputs
            zeros = _unpack(zeros.T.contiguous(), bits)[:, : layer.num_outputs].T
    return values, _as_column(files.read(layer.tensors["weight_scale"])), zeros


def _read_gptq(layer: QuantizedLayer, files: TensorFiles) -> _Parts:
    bits = layer.format.bits
    values = _unpack(files.read(layer.tensors["qweight"]).T.contiguous(), bits)
    words = files.read(layer.tensors["qzeros"])
    if layer.format.layout == "gptq":
        # Added to whole words, with carries, as the one was subtracted from whole words: a stored
        # zero point of -1 borrowed from its neighbours.
        words = words + _ONE_IN_EACH[bits]
    zeros = _unpack(words, bits)[:, : layer.num_outputs]
    return values, files.read(layer.tensors["scales"]).T, zeros.T


def _read_awq(layer: QuantizedLayer, files: TensorFiles) -> _Parts:
    values, zeros = (
        _in_order(_unpack(files.read(layer.tensors[part]), 4)) for part in ("qweight", "qzeros")
    )
    return values.T, files.read(layer.tensors["scales"]).T, zeros.T


def _unpack(words: torch.Tensor, bits: int) -> torch.Tensor:
    """int32 [rows, words] to int8 [rows, 32 / bits * words], less half the range.

    The first value is in a word's lowest bits; its bytes are read as little-endian, as safetensors
    files are.
    """
    # What `contiguous` calls so may have any stride along a dimension of one, `view` may not.
    packed = words.clone(memory_format=torch.contiguous_format).view(torch.uint8)
    if bits == 8:
        return (packed ^ 0x80).view(torch.int8)
    both = torch.stack((packed & 0xF, packed >> 4), dim=-1)
    return both.view(len(words), -1).view(torch.int8) - 8


def _in_order(values: torch.Tensor) -> torch.Tensor:
    """[rows, outputs] from AWQ's order of the outputs in a word to their own."""
    return values.view(len(values), -1, 8)[:, :, _AWQ_PLACES].view(len(values), -1)


def _as_column(scales: torch.Tensor) -> torch.Tensor:
    """[outputs, groups], or [outputs, 1], or [1, 1] for one scale of all weights."""
    return scales if scales.dim() == 2 else scales.reshape(-1, 1)
