"""Packed mixers: recurrent layers with their projections, as one structure of the library."""

from __future__ import annotations

import torch
from torch import nn

from yaie.kernels.decoder_structures import MIXERS, Linear, Mixer
from yaie.kvcache.state_pool import States
from yaie.models.native.decoder_structure import NotRecognised
from yaie.models.native.packing import Packer
from yaie.models.native.recurrent_layers import states_of
from yaie.models.native.recurrent_structure import MixerParts
from yaie.models.native.tiled_heads import in_tiles
from yaie.models.quantization.block_weights import BlockWeight
from yaie.models.quantization.quantized_weights import QuantizedLinear, QuantizedWeight

_INPUTS = ("input", "input_2", "input_3", "input_4")  # fields of `Mixer`


def require_few_formats(parts: MixerParts) -> None:
    """Raise `NotRecognised` if neighbouring projections have too many formats for one structure."""
    count = len(parts.inputs.split_by_format())
    if count > len(_INPUTS):
        raise NotRecognised(f"a recurrent layer's projections have {count} formats")


def pack_mixer(packer: Packer, parts: MixerParts) -> Mixer:
    """Pack a mixer, and empty its projections. `place_states` adds the states."""
    parts = in_tiles(parts)
    for module, order in zip(parts.inputs.modules, parts.orders, strict=True):
        if order is not None:
            _reorder_outputs(module, order)
    inputs = [packer.pack(part) for part in parts.inputs.split_by_format()]
    at = parts.columns
    mixer = Mixer(
        kind=MIXERS["short_convolution" if parts.recurrence is None else "recurrence"],
        residual_factor=1.0,
        output=packer.pack(parts.output),
        factors=None if parts.factors is None else packer.floats(parts.factors),
        inputs_column=at.inputs,
        product_column=at.product,
        gate_column=at.gate,
        steps_column=at.steps,
        gates_column=at.gates,
        queries_column=at.queries,
        keys_column=at.keys,
        values_column=at.values,
        convolution=parts.convolution.structure(packer),
    )
    for name, linear in zip(_INPUTS, [*inputs, *[Linear()] * len(_INPUTS)], strict=False):
        setattr(mixer, name, linear)
    if parts.recurrence is not None:
        mixer.recurrence = parts.recurrence.structure(packer)
    if parts.norm is not None:
        mixer.gated_norm = parts.norm.structure(packer)
    return mixer


def place_states(mixer: Mixer, states: States) -> None:
    """Have a mixer start from a layer's states [slots, ...], and replace them."""
    mixer.convolution.states = states_of(states["conv", 0])
    if mixer.kind == MIXERS["recurrence"]:
        mixer.recurrence.states = states_of(states["recurrent", 0])


def _reorder_outputs(module: nn.Linear | QuantizedLinear, order: torch.Tensor) -> None:
    if module.bias is not None:
        module.bias.data = module.bias.data[order]
    if isinstance(module, nn.Linear):
        module.weight.data = module.weight.data[order]
        return
    weight = module.quantized
    if isinstance(weight, BlockWeight):
        module.quantized = BlockWeight(weight.kind, weight.rows[order])
    elif weight is not None:
        points = weight.zero_points
        module.quantized = QuantizedWeight(
            bits=weight.bits,
            values=weight.values[order],
            scales=weight.scales[order],
            zero_points=None if points is None else points[order],
            order=weight.order,
        )
