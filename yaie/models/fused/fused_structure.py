"""Decoders that run fused on a GPU: wider than the kernel library's.

Norms may come after attention and MLP, both may be parallel, and there are layer norms, rotary
tables by layer, sinks, and MLPs of other forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from yaie.attention.spec import AttentionSpec
from yaie.models.fused.operations import HeadOperation, Rotary
from yaie.models.fused.rotation import RotaryTables, rotation_of
from yaie.models.native.decoder_recognition import recognise
from yaie.models.native.decoder_structure import (
    DecoderParts,
    LayerParts,
    Norm,
    NotRecognised,
)


@dataclass(frozen=True, slots=True)
class FusedLayerParts:
    """One decoder layer, and the operation of its heads."""

    parts: LayerParts
    heads: HeadOperation
    wide_norms: tuple[Norm | None, Norm | None]  # over all query or all key heads at once


@dataclass(frozen=True, slots=True)
class FusedParts:
    """A whole decoder."""

    decoder: DecoderParts
    layers: tuple[FusedLayerParts, ...]


def recognise_for_a_gpu(
    model: Any, specs: Sequence[AttentionSpec], num_positions: int
) -> FusedParts:
    """Return the parts of a loaded model. Raises `NotRecognised` at the first unknown module."""
    decoder = recognise(model)
    found = decoder.attention_layers
    if len(found) < len(decoder.layers):
        raise NotRecognised("it has recurrent layers")
    if decoder.rotary is None:
        raise NotRecognised("it has no rotary positions")
    if len(specs) != len(found):
        raise NotRecognised(f"{len(found)} layers have {len(specs)} attentions")
    tables = RotaryTables(decoder.rotary, model.config, num_positions, decoder.embedding.weight)
    layers = []
    for layer, spec in zip(found, specs, strict=True):
        _require_plain_attention(layer, spec)
        layers.append(_find_fused_layer(layer, spec, tables))
    return FusedParts(decoder, tuple(layers))


def _require_plain_attention(layer: LayerParts, spec: AttentionSpec) -> None:
    if layer.mixer is not None:
        raise NotRecognised(f"layer {spec.layer} has a recurrent layer too")
    if layer.has_head_gates:
        raise NotRecognised(f"the outputs of layer {spec.layer} have gates")
    if spec.kv_layer is not None:
        raise NotRecognised(f"layer {spec.layer} reads the keys of layer {spec.kv_layer}")
    if spec.value_width != spec.key_width:
        raise NotRecognised(f"the values of layer {spec.layer} have another width than the keys")
    if spec.has_sinks != (layer.sinks is not None):
        raise NotRecognised(f"the sinks of layer {spec.layer} come from elsewhere")


def _find_fused_layer(
    layer: LayerParts, spec: AttentionSpec, tables: RotaryTables
) -> FusedLayerParts:
    of_heads: list[Norm | None] = []
    of_all: list[Norm | None] = []
    counts = (spec.num_heads, spec.num_kv_heads)
    for norm, count in zip((layer.query_norm, layer.key_norm), counts, strict=True):
        width = spec.key_width if norm is None else norm.weight.numel()
        if width not in (spec.key_width, count * spec.key_width):
            raise NotRecognised(f"a norm of layer {spec.layer} is not as wide as a head or all")
        is_of_heads = norm is not None and width == spec.key_width
        if norm is not None and is_of_heads and not norm.is_rms:
            raise NotRecognised(f"the heads of layer {spec.layer} have a layer norm")
        of_heads.append(norm if is_of_heads else None)
        of_all.append(None if is_of_heads else norm)
    rotary: Rotary | None = rotation_of(layer.attention, spec, tables.of_layer(spec.layer))
    heads = HeadOperation(
        spec.num_heads,
        spec.num_kv_heads,
        spec.key_width,
        query_norm=of_heads[0],
        key_norm=of_heads[1],
        rotary=rotary,
    )
    return FusedLayerParts(layer, heads, (of_all[0], of_all[1]))
