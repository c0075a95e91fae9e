"""Tiled heads: delta nets whose last projection takes its inputs in the order of a GGUF file.

The file has the first value head of each key head, then the second, and so on. Columns of its
blocks cannot move, so everything before the projection is packed in that order.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.recurrent_layers import ConvolutionParts, HeadSizes
from yaie.models.native.recurrent_structure import MixerParts
from yaie.models.quantization.block_weights import BlockWeight
from yaie.models.quantization.quantized_weights import QuantizedLinear


def in_tiles(parts: MixerParts) -> MixerParts:
    """Return the mixer with its heads in the order of the last projection's inputs."""
    output, recurrence = parts.output.modules[0], parts.recurrence
    weight = getattr(output, "quantized", None)
    if not isinstance(weight, BlockWeight) or weight.order is None or recurrence is None:
        return parts
    assert isinstance(output, QuantizedLinear)
    heads = _tiles(recurrence.sizes)
    values = _wide(heads, recurrence.sizes.value_width)
    if recurrence.skip is not None or not torch.equal(values, weight.order):
        return parts  # the packer decodes the projection
    output.quantized = replace(weight, order=None)
    at = parts.columns
    widths = [module.out_features for module in parts.inputs.modules]
    columns = torch.arange(sum(widths))
    for first, order in (
        (at.inputs + at.values, values),
        (at.gate, values),
        (at.gates, heads),
        (at.steps, heads),
    ):
        columns[first : first + len(order)] = first + order
    return replace(
        parts,
        output=LinearParts((output,)),
        orders=_orders(parts, columns, widths),
        convolution=_convolution(parts.convolution, at.values, values),
        recurrence=replace(
            recurrence,
            sizes=replace(recurrence.sizes, has_tiles=True),
            log_rates=recurrence.log_rates[heads],
            step_bias=recurrence.step_bias[heads],
        ),
    )


def _tiles(sizes: HeadSizes) -> torch.Tensor:
    """Return the model's number of each head."""
    return torch.arange(sizes.num_heads).view(sizes.num_key_heads, -1).T.flatten()


def _wide(heads: torch.Tensor, width: int) -> torch.Tensor:
    return (heads[:, None] * width + torch.arange(width)).flatten()


def _orders(
    parts: MixerParts, columns: torch.Tensor, widths: list[int]
) -> tuple[torch.Tensor, ...]:
    """Return the order of each projection's outputs; heads stay within one projection."""
    found = []
    first = 0
    for width, order in zip(widths, parts.orders, strict=True):
        own = columns[first : first + width] - first
        found.append(own if order is None else order[own])
        first += width
    return tuple(found)


def _convolution(
    convolution: ConvolutionParts, first: int, order: torch.Tensor
) -> ConvolutionParts:
    channels = torch.arange(len(convolution.weights))
    channels[first : first + len(order)] = first + order
    bias = convolution.bias
    return replace(
        convolution,
        weights=convolution.weights[channels],
        bias=None if bias is None else bias[channels],
    )
