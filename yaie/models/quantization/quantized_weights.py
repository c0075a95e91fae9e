"""Quantized weights, and the linear layer that stores them.

A checkpoint's reader or the quantizer at load creates a `QuantizedWeight`; `QuantizedLinear`
replaces `nn.Linear` in the model. The CPU's kernel library packs the values, and so do the layers
for a device (`yaie.models.quantization.device`); torch dequantizes other layers at each call, which
is slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import torch
from torch import nn

from yaie.models.quantization.block_weights import BlockWeight
from yaie.models.quantization.quantized_layers import scale_nbytes

# Weights of a layer, such as a head, that torch dequantizes at once: 200 MB in several copies.
DEQUANTIZED_AT_ONCE = 2**24

# Suffixes of linear layers that stay plain: routers. Hunyuan's reads the dtype of its weight.
ROUTERS = (".gate.wg", ".router.gate")

# The numbers of the 16 codes of e2m1; the highest bit is the sign.
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)


@dataclass(frozen=True, slots=True)
class QuantizedWeight:
    """weight[o, i] = (values[o, i] - zero_points[o, g]) * scales[o, g], where g = i // group_size.

    One group over all inputs is per-channel quantization. mxfp4 has codes of numbers instead of
    values, and powers of two as scales.
    """

    bits: int  # 4 or 8
    # int8 [outputs, inputs]; 4 bits: -8 to 7. fp8: float8_e4m3fn. mxfp4: uint8 codes, 0 to 15
    values: torch.Tensor
    scales: torch.Tensor  # float32 [outputs, groups]
    zero_points: torch.Tensor | None  # int8 [outputs, groups]; None: all zero
    order: torch.Tensor | None = None  # int32 [inputs]: input of each column; None: as they are

    @property
    def kind(self) -> str:
        """The type of the values: int4, int8, fp8 or mxfp4."""
        if self.values.dtype == torch.float8_e4m3fn:
            return "fp8"
        if self.values.dtype == torch.uint8:
            return "mxfp4"
        return "int4" if self.bits == 4 else "int8"

    @property
    def shape(self) -> tuple[int, int]:
        """The outputs and inputs."""
        outputs, inputs = self.values.shape
        return outputs, inputs

    @property
    def num_weights(self) -> int:
        """Number of weights."""
        return self.values.numel()

    @property
    def format(self) -> tuple[object, ...]:
        """The properties that joined weights share."""
        order = None if self.order is None else id(self.order)
        return self.kind, self.group_size, self.zero_points is None, order

    @property
    def group_size(self) -> int:
        """Number of inputs per scale."""
        return int(self.values.shape[1]) // int(self.scales.shape[1])

    def dequantize(self, dtype: torch.dtype) -> torch.Tensor:
        """Return the weights [outputs, inputs] in `dtype`."""
        outputs, inputs = self.values.shape
        values = self.values
        if self.kind == "mxfp4":
            values = torch.tensor(E2M1)[values.int()]
        grouped = values.view(outputs, -1, self.group_size).float()
        if self.zero_points is not None:
            grouped = grouped - self.zero_points[..., None]
        wide = (grouped * self.scales[..., None]).view(outputs, inputs).to(dtype)
        return wide if self.order is None else wide[:, self.order.argsort()]

    def parts(self) -> Iterator[QuantizedWeight]:
        """Yield the weights in parts of at most DEQUANTIZED_AT_ONCE, or of one output."""
        rows = max(1, DEQUANTIZED_AT_ONCE // int(self.values.shape[1]))
        for first in range(0, len(self.values), rows):
            these = slice(first, first + rows)
            points = None if self.zero_points is None else self.zero_points[these]
            values, scales = self.values[these], self.scales[these]
            yield QuantizedWeight(self.bits, values, scales, points, self.order)

    def nbytes(self, *, packed: bool) -> int:
        """Return its bytes: one per weight, or `bits` per weight if packed, and the scales."""
        points = 0 if self.zero_points is None else self.zero_points.nbytes
        scales = self.scales.numel()
        if not (packed and self.kind == "mxfp4"):
            scales *= scale_nbytes(self.bits, packed=packed)
        return self.values.numel() * (self.bits if packed else 8) // 8 + scales + points


def join(weights: list[QuantizedWeight]) -> QuantizedWeight | None:
    """Concatenate weights along their outputs; return None if their formats differ."""
    first = weights[0]
    if len(weights) == 1:
        return first
    if len({w.format for w in weights}) > 1 or any(w.order is not None for w in weights):
        return None
    points = [w.zero_points for w in weights if w.zero_points is not None]
    return QuantizedWeight(
        bits=first.bits,
        values=torch.cat([w.values for w in weights]),
        scales=torch.cat([w.scales for w in weights]),
        zero_points=torch.cat(points) if points else None,
    )


class QuantizedModule(nn.Module):
    """A module whose quantized weights are no parameters."""

    @property
    def kind(self) -> str | None:
        """The type of the weights; None once they are freed."""
        raise NotImplementedError

    @property
    def num_weights(self) -> int:
        """Number of weights."""
        raise NotImplementedError

    def nbytes(self, *, packed: bool) -> int:
        """Return the weights' bytes; see `QuantizedWeight.nbytes`."""
        raise NotImplementedError


class QuantizedLinear(QuantizedModule):
    """y = x W^T (+ bias) with a quantized W."""

    def __init__(
        self,
        weight: QuantizedWeight | BlockWeight,
        bias: torch.Tensor | None,
        *,
        is_tied: bool = False,
    ) -> None:
        """`is_tied`: the model's embedding has these weights too, dequantized."""
        super().__init__()
        self.is_tied = is_tied
        self.quantized: QuantizedWeight | BlockWeight | None = weight
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
        self.out_features, self.in_features = weight.shape

    @property
    def kind(self) -> str | None:
        """The type of the weights; None once they are freed."""
        return None if self.quantized is None else self.quantized.kind

    @property
    def num_weights(self) -> int:
        """Number of weights."""
        return 0 if self.quantized is None else self.quantized.num_weights

    def nbytes(self, *, packed: bool) -> int:
        """Return the weights' bytes; see `QuantizedWeight.nbytes`."""
        return 0 if self.quantized is None else self.quantized.nbytes(packed=packed)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [..., inputs] to [..., outputs], in x's dtype."""
        if self.quantized is None:
            raise RuntimeError("the weights were packed for the kernel library and freed here")
        weight = self.quantized
        if isinstance(weight, BlockWeight):
            y = weight.multiply(x)
        elif weight.num_weights > DEQUANTIZED_AT_ONCE:
            parts = [nn.functional.linear(x, part.dequantize(x.dtype)) for part in weight.parts()]
            y = torch.cat(parts, dim=-1)
        else:
            return nn.functional.linear(x, weight.dequantize(x.dtype), self.bias)
        return (y if self.bias is None else y + self.bias).to(x.dtype)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Follow `.to(device)`; a dtype change affects the bias only."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        weight = self.quantized
        if isinstance(weight, QuantizedWeight):
            device = fn(weight.scales.new_empty(0)).device
            points = weight.zero_points
            self.quantized = QuantizedWeight(
                bits=weight.bits,
                values=weight.values.to(device),
                scales=weight.scales.to(device),
                zero_points=None if points is None else points.to(device),
                order=None if weight.order is None else weight.order.to(device),
            )
        return self

    def free(self) -> None:
        """Free the weights after packing."""
        self.quantized = None


def count_parameters(model: nn.Module, *, packed: bool) -> tuple[int, int]:
    """Return the parameters' bytes and number; tied weights count once unless stored twice."""
    quantized = [module for module in model.modules() if isinstance(module, QuantizedModule)]
    is_tied = any(isinstance(each, QuantizedLinear) and each.is_tied for each in quantized)
    tied = [model.get_input_embeddings().weight] if is_tied else []  # type: ignore[operator]
    unique = {p.data_ptr(): p for p in model.parameters() if not any(p is t for t in tied)}
    nbytes = sum(p.nbytes for p in unique.values())
    nbytes += sum(each.nbytes(packed=packed) for each in quantized)
    if not packed:
        nbytes += sum(weight.nbytes for weight in tied)
    number = sum(p.numel() for p in unique.values()) + sum(each.num_weights for each in quantized)
    table = getattr(model.get_input_embeddings(), "blocks", None)  # type: ignore[operator]
    if isinstance(table, BlockWeight) and not tied:
        nbytes += table.nbytes(packed=packed)
        number += table.num_weights
    return nbytes, number
