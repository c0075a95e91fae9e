"""Decoders that the kernel library runs: layers of RMSNorm, attention and a gated MLP or a mixture.

As in llama, mistral, qwen2, qwen3, smollm3, granite, phi3, gemma to gemma 3, glm, qwen3_moe and
mixtral. Norms come before attention and MLP, after them, or both. Layers may be recurrent instead,
as in qwen3.5.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from yaie.attention.spec import AttentionSpec
from yaie.kernels.decoder_structures import OUTPUT_GATES
from yaie.models.native.decoder_recognition import recognise
from yaie.models.native.decoder_structure import (
    DecoderParts,
    GatedMlp,
    LayerParts,
    Norm,
    NotRecognised,
    OtherMlps,
    RecurrentLayerParts,
)
from yaie.models.native.mixture_structure import MixtureParts, check_mixture, mixture_of
from yaie.models.native.packed_mixers import require_few_formats
from yaie.models.native.recurrent_structure import recognise_mixer

_MOST_FORMATS = 3  # of the projections of queries, keys and values


def recognise_native(model: Any, dtype: torch.dtype = torch.float32) -> DecoderParts:
    """Return the parts of a decoder of `dtype` that the library runs. Raises `NotRecognised`."""
    parts = recognise(model)
    # The head's inputs are scaled, a bias is not.
    if parts.logit_factor != 1.0 and parts.head.bias is not None:
        raise NotRecognised("the head has a bias, and its logits are scaled")
    if not parts.final_norm.is_rms:
        raise NotRecognised("the last norm is no RMSNorm")
    for layer in parts.layers:
        if layer.is_parallel:
            raise NotRecognised("attention and MLP are parallel")
        if isinstance(layer, LayerParts):
            _require_place_for_value_factor(layer)
        norms = norms_of(layer)
        if not all(norm.is_rms for norm in norms):
            raise NotRecognised("a layer has other norms than RMSNorm")
        if len({norm.epsilon for norm in norms}) > 1:
            raise NotRecognised("the norms of a layer have several epsilons")
        # Gates and values are interleaved; so would the bias have to be.
        mlp = mlp_of(feed_forward(layer))
        if mlp is not None and mlp.gate_up.bias() is not None:
            raise NotRecognised("the gate of the MLP has a bias")
        if layer.mixer is not None:
            require_few_formats(recognise_mixer(layer.mixer))
    others = [layer.mlp.modules for layer in parts.layers if isinstance(layer.mlp, OtherMlps)]
    for modules in others[:1]:  # one of several: it takes longer than evaluating a router
        check_mixture(mixture_of(modules), modules, dtype)
    _require_rotation_by_halves([layer.attention for layer in parts.attention_layers])
    return parts


def _require_place_for_value_factor(layer: LayerParts) -> None:
    """Raise `NotRecognised` unless a factor of values may scale what attention adds instead."""
    scales = layer.factors.values != 1.0
    if scales and (layer.norms.after_attention is not None or layer.output.bias() is not None):
        raise NotRecognised("values are scaled, before a bias or a norm after attention")


def norms_of(layer: LayerParts | RecurrentLayerParts) -> list[Norm]:
    """Return all norms of a layer, without a mixer's."""
    at = layer.norms
    places = [at.before_attention, at.after_attention, at.before_mlp, at.after_mlp]
    if isinstance(layer, LayerParts):
        places += [layer.query_norm, layer.key_norm]
    return [norm for norm in places if norm is not None]


def feed_forward(layer: LayerParts | RecurrentLayerParts) -> GatedMlp | MixtureParts:
    """Return what follows the attention of a layer. Raises `NotRecognised` for other modules."""
    return mixture_of(layer.mlp.modules) if isinstance(layer.mlp, OtherMlps) else layer.mlp


def mlp_of(parts: GatedMlp | MixtureParts) -> GatedMlp | None:
    """Return an MLP, or the shared expert of a mixture."""
    return parts.shared if isinstance(parts, MixtureParts) else parts


def require_plain_attention(parts: DecoderParts, specs: Sequence[AttentionSpec]) -> None:
    """Raise `NotRecognised` if a layer's attention is more than the decoder computes."""
    layers = parts.attention_layers
    if len(specs) != len(layers):
        raise NotRecognised(f"{len(layers)} layers have {len(specs)} attentions")
    for layer, spec in zip(layers, specs, strict=True):
        if spec.has_sinks and layer.sinks is None:
            raise NotRecognised(f"the attention of layer {spec.layer} has sinks")
        if spec.kv_layer is not None:
            raise NotRecognised(f"layer {spec.layer} reads the keys of layer {spec.kv_layer}")
        if not _are_head_norms(layer, spec):
            raise NotRecognised(f"a norm of layer {spec.layer} is not as wide as a head or as all")
        gates = output_gates(layer, spec)
        if gates == OUTPUT_GATES["wide"] and "wide_query_norm" in head_norms(layer, spec.key_width):
            raise NotRecognised(f"layer {spec.layer} has wide gates, and norms over all heads")
        if len(layer.qkv.split_by_format()) > _MOST_FORMATS:
            raise NotRecognised(f"the projections of layer {spec.layer} have too many formats")


def output_gates(layer: LayerParts, spec: AttentionSpec) -> int:
    """Return the kind of the gates of a layer's outputs, see `OUTPUT_GATES`.

    Raises `NotRecognised` if the projections have other outputs.
    """
    outputs = sum(module.out_features for module in layer.qkv.modules)
    queries = spec.num_heads * spec.key_width
    plain = queries + spec.num_kv_heads * (spec.key_width + spec.value_width)
    if outputs == plain + spec.num_heads and layer.has_head_gates:
        return OUTPUT_GATES["head"]
    if outputs == plain and not layer.has_head_gates:
        return OUTPUT_GATES["none"]
    is_wide = outputs == plain + queries and not layer.has_head_gates
    if is_wide and spec.key_width == spec.value_width:
        return OUTPUT_GATES["wide"]
    raise NotRecognised(f"the projections of layer {spec.layer} have {outputs:,} outputs")


def _are_head_norms(layer: LayerParts, spec: AttentionSpec) -> bool:
    norms = [norm for norm in (layer.query_norm, layer.key_norm) if norm is not None]
    widths = [norm.weight.numel() for norm in norms]
    width = spec.key_width
    each = all(found == width for found in widths)
    return each or widths == [spec.num_heads * width, spec.num_kv_heads * width]


def head_norms(layer: LayerParts, key_width: int) -> dict[str, Norm | None]:
    """Return the norms of queries and keys by their fields: of each head, or of all together."""
    norms = {"query_norm": layer.query_norm, "key_norm": layer.key_norm}
    each = all(norm is None or norm.weight.numel() == key_width for norm in norms.values())
    return norms if each else {f"wide_{name}": norm for name, norm in norms.items()}


def rotary_tables(
    parts: DecoderParts, num_positions: int, kind: str | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosines and sines of all positions, [positions, width] in float32.

    `kind`: the layer type whose tables these are; None in models with one pair.
    """
    device = parts.embedding.weight.device
    if parts.rotary is None:
        return torch.empty(num_positions, 0), torch.empty(num_positions, 0)
    with torch.inference_mode():
        positions = torch.arange(num_positions, device=device)[None]
        arguments = () if kind is None else (kind,)
        cosines, sines = parts.rotary(torch.zeros(1, 1, 1, device=device), positions, *arguments)
    tables = [cosines[0].float(), sines[0].float()]
    if any(_has_half_tables(layer.attention) for layer in parts.attention_layers):
        tables = [torch.cat((each, each), dim=-1) for each in tables]
    return tables[0], tables[1]


def rotary_kinds(parts: DecoderParts, config: Any) -> list[str | None]:
    """Return the layer type that chooses each layer's rotary tables."""
    if parts.rotary is None:
        return [None] * len(parts.layers)
    if "layer_type" in inspect.signature(parts.rotary.forward).parameters:
        return list(config.layer_types)
    return [None] * len(parts.layers)


def rotates(layer: LayerParts) -> bool:
    """Return False for a layer without positions."""
    attention = layer.attention
    # EXAONE 4's full layers know the windowed layers' width, and have no positions.
    has_window = getattr(attention, "sliding_window", None) is not None
    is_full = has_window and not getattr(attention, "is_sliding", True)
    return bool(getattr(attention, "use_rope", True)) and not is_full


def _require_rotation_by_halves(attentions: Sequence[nn.Module]) -> None:
    """Raise `NotRecognised` unless rotary positions pair element i with i + half."""
    probe = torch.tensor([1.0, 2.0, 3.0, 4.0])
    for module in {type(attention).__module__ for attention in attentions}:
        rotate = getattr(sys.modules[module], "rotate_half", None) or _rotation_by_half_tables(
            module
        )
        if rotate is None or rotate(probe).tolist() != [-3.0, -4.0, 1.0, 2.0]:
            raise NotRecognised(f"{type(attentions[0]).__name__} rotates in another way")


def _rotation_by_half_tables(module: str) -> Callable[[torch.Tensor], torch.Tensor] | None:
    """Return the rotation by a right angle of a module whose tables are half as wide."""
    apply = getattr(sys.modules[module], "_apply_rotary_emb", None)
    return None if apply is None else lambda x: apply(x, torch.zeros(2), torch.ones(2))


def _has_half_tables(attention: nn.Module) -> bool:
    return not hasattr(sys.modules[type(attention).__module__], "rotate_half")
