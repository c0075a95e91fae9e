"""Packing linear layers for the kernel library.

A packed layer is a structure of addresses; the `Packer` owns the memory they point to.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import torch
from torch import nn

from yaie.kernels.decoder_structures import BLOCKS, FINE_BLOCKS, WEIGHTS, Linear
from yaie.kernels.library import Library
from yaie.kernels.weight_memory import WeightMemory
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.quantization.block_weights import BlockEmbedding, BlockWeight
from yaie.models.quantization.layer_policy import INT4_GROUP_MULTIPLE
from yaie.models.quantization.quantized_weights import QuantizedLinear, QuantizedWeight

log = logging.getLogger(__name__)

KINDS = {getattr(torch, name): WEIGHTS[name] for name in ("bfloat16", "float32")}
# More products of an unsigned and a signed byte could overflow a 32-bit accumulator.
_MOST_INT8_INPUTS = 65_536
_SCALES = {
    "int8": torch.float32,
    "int4": torch.bfloat16,
    "mxfp4": torch.uint8,
    "fp8": torch.float32,
}


class Packer:
    """A packer for the instruction set in use. Frees each original once it is packed."""

    def __init__(self, library: Library, dtype: torch.dtype, *, exact: bool = False) -> None:
        """`dtype`: dtype for weights that the library cannot keep quantized.

        With `exact` the layers are batch-invariant: they sum each row in one order.
        """
        self._library = library
        self._memory = WeightMemory(library)
        self._exact = exact
        self._dtype = dtype
        self._num_dequantized = 0  # weights that could not stay quantized
        self.held: list[object] = []  # owners of the memory that structures point to

    def pack(self, parts: LinearParts, *, gated: bool = False) -> Linear:
        """Pack a layer, and empty its modules' weights.

        `gated`: the first half of the outputs gates the second half.
        """
        quantized = parts.quantized()
        if quantized is not None and is_packable(quantized):
            linear = self.pack_weight(quantized, parts.bias(), gated=gated)
        else:
            self._num_dequantized += parts.num_quantized
            linear = self.pack_weight(parts.weight(self._dtype), parts.bias(), gated=gated)
        for module in parts.modules:
            _empty(module)
        return linear

    def pack_reordered(self, parts: LinearParts) -> tuple[Linear, torch.Tensor | None]:
        """Pack a layer, and return the order in which it takes its inputs; None: as they are."""
        quantized = parts.quantized()
        if not isinstance(quantized, BlockWeight) or quantized.order is None:
            return self.pack(parts), None
        linear = self.pack_weight(replace(quantized, order=None), parts.bias())
        for module in parts.modules:
            _empty(module)
        return linear, quantized.order

    def pack_weight(
        self,
        weight: QuantizedWeight | BlockWeight | torch.Tensor,
        bias: torch.Tensor | None = None,
        *,
        gated: bool = False,
    ) -> Linear:
        """Pack weights [outputs, inputs] and a bias [outputs] as one layer."""
        if isinstance(weight, QuantizedWeight):
            linear = self._pack_quantized(weight, gated)
        elif isinstance(weight, BlockWeight):
            linear = self._pack_blocks(weight, gated)
        else:
            linear = self._pack_floats(weight.contiguous(), gated)
        linear.exact = self._exact
        if bias is not None:
            linear.bias = self.hold(self._in_panels(bias.detach().float(), gated))
        return linear

    def _in_panels(self, bias: torch.Tensor, gated: bool) -> torch.Tensor:
        """Return a bias in the order of the packed outputs, padded with zeros to whole panels."""
        if not gated:
            return nn.functional.pad(bias, (0, self._pad_outputs(len(bias)) - len(bias)))
        lanes = self._library.panel_outputs // 2
        gates, values = bias.chunk(2)
        padding = -len(gates) % lanes
        halves = [nn.functional.pad(each, (0, padding)).view(-1, lanes) for each in (gates, values)]
        return torch.stack(halves, 1).flatten()

    @property
    def num_packed(self) -> int:
        """Bytes packed so far."""
        return self._memory.num_taken

    def warn_of_dequantized(self) -> None:
        """Warn of quantized weights stored in `dtype`: the memory plan counts them as quantized."""
        if self._num_dequantized:
            log.warning(
                "%.1f million quantized weights are held as %s, in %d MiB: projections computed "
                "together are quantized in different ways, or a file has columns in another order",
                self._num_dequantized / 1e6,
                str(self._dtype).removeprefix("torch."),
                self._num_dequantized * self._dtype.itemsize >> 20,
            )

    def floats(self, tensor: torch.Tensor) -> int:
        """Copy a tensor in float32 and return the copy's address."""
        return self.hold(tensor.detach().to(torch.float32, copy=True))

    def take_over(self, parameter: torch.Tensor) -> int:
        """Copy a parameter into our own memory, free the original and return the address.

        The original may map a file that can change.
        """
        copied = self._stream(parameter.numel(), parameter.dtype).view(parameter.shape)
        copied.copy_(parameter.detach())
        parameter.data = torch.empty(0, dtype=parameter.dtype)
        return self.hold(copied)

    def hold(self, tensor: torch.Tensor) -> int:
        """Keep a tensor alive for the library and return its address."""
        tensor = tensor.contiguous()
        self.held.append(tensor)
        return tensor.data_ptr()

    def keep(self, structure: object) -> None:
        """Keep a structure alive that other structures point to."""
        self.held.append(structure)

    def _pad_outputs(self, num_outputs: int) -> int:
        panel = self._library.panel_outputs
        return -(-num_outputs // panel) * panel

    def _stream(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        """Allocate memory that every step reads from end to end."""
        return self._memory.take(count * dtype.itemsize).view(dtype)

    def _pack_floats(self, weight: torch.Tensor, gated: bool) -> Linear:
        num_outputs, num_inputs = weight.shape
        kind = KINDS[weight.dtype]
        packed_inputs = self._library.packed_inputs(kind, num_inputs)
        packed = self._stream(self._pad_outputs(num_outputs) * packed_inputs, weight.dtype)
        self._library.pack(
            weight.data_ptr(), packed.data_ptr(), num_outputs, num_inputs, kind, gated
        )
        return Linear(kind, num_inputs, num_outputs, 0, self.hold(packed))

    def _pack_quantized(self, weight: QuantizedWeight, gated: bool) -> Linear:
        num_outputs, num_inputs = weight.values.shape
        padded, groups = self._pad_outputs(num_outputs), weight.scales.shape[1]
        kind = WEIGHTS[weight.kind]
        packed_inputs = self._library.packed_inputs(kind, num_inputs)
        packed = self._stream(padded * packed_inputs * weight.bits // 8, torch.uint8)
        scales = self._stream(padded * groups, _SCALES[weight.kind])
        values, from_scales = weight.values.contiguous(), weight.scales.float().contiguous()
        from_zeros = zeros = None
        if weight.zero_points is not None:
            from_zeros = weight.zero_points.contiguous()
            zeros = self._stream(padded * groups, torch.uint8)
        self._library.pack_quantized(
            values.data_ptr(),
            from_scales.data_ptr(),
            None if from_zeros is None else from_zeros.data_ptr(),
            packed.data_ptr(),
            scales.data_ptr(),
            None if zeros is None else zeros.data_ptr(),
            num_outputs,
            num_inputs,
            groups,
            kind,
            gated,
        )
        return Linear(
            weights_kind=kind,
            num_inputs=num_inputs,
            num_outputs=num_outputs,
            group_size=weight.group_size,
            weights=self.hold(packed),
            scales=self.hold(scales),
            zero_points=None if zeros is None else self.hold(zeros),
        )

    def _pack_blocks(self, weight: BlockWeight, gated: bool) -> Linear:
        num_outputs, num_inputs = weight.shape
        kind = BLOCKS[weight.kind]
        nbytes = self._pad_outputs(num_outputs) * self._library.packed_inputs(kind, num_inputs)
        packed, rows = self._stream(nbytes, torch.uint8), weight.rows.contiguous()
        self._library.pack(rows.data_ptr(), packed.data_ptr(), num_outputs, num_inputs, kind, gated)
        group = 16 if weight.kind in FINE_BLOCKS else 32
        return Linear(kind, num_inputs, num_outputs, group, self.hold(packed))

    def pack_table(self, embedding: BlockEmbedding) -> Linear:
        """Pack an embedding in blocks, whose rows are outputs, and free it."""
        if embedding.blocks is None:
            raise RuntimeError("the embedding was packed twice")
        table = self.pack_weight(embedding.blocks)
        embedding.free()
        return table


def is_packable(weight: QuantizedWeight | BlockWeight) -> bool:
    """Return True if the kernels compute with these quantized weights as they are."""
    if isinstance(weight, BlockWeight):
        return weight.order is None  # see `Packer.pack_reordered`
    if weight.kind == "fp8":
        return True
    if weight.bits == 8:
        is_simple = weight.scales.shape[1] == 1 and weight.zero_points is None
        return is_simple and weight.values.shape[1] <= _MOST_INT8_INPUTS
    return weight.bits == 4 and weight.group_size % INT4_GROUP_MULTIPLE == 0


def _empty(module: nn.Linear | QuantizedLinear) -> None:
    if isinstance(module, QuantizedLinear):
        module.free()
    else:
        module.weight.data = torch.empty(0, dtype=module.weight.dtype)
