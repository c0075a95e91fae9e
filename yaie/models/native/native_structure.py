"""Decoders that the kernel library runs: pre-norm layers of RMSNorm, attention and a gated MLP.

As in llama, mistral, qwen2, qwen3, smollm3, granite, phi3, gemma and glm.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from yaie.attention.spec import AttentionSpec
from yaie.models.native.decoder_structure import (
    DecoderParts,
    GatedMlp,
    LayerParts,
    Norm,
    NotRecognised,
    recognise,
)


def recognise_native(model: Any) -> DecoderParts:
    """Return the parts of a decoder that the library runs. Raises `NotRecognised`."""
    parts = recognise(model)
    if parts.logit_softcap is not None:
        raise NotRecognised("the logits have a soft cap")
    # The head's inputs are scaled, a bias is not.
    if parts.logit_factor != 1.0 and parts.head.bias is not None:
        raise NotRecognised("the head has a bias, and its logits are scaled")
    if not parts.final_norm.is_rms:
        raise NotRecognised("the last norm is no RMSNorm")
    for layer in parts.layers:
        first, second = norms_before(layer)
        every = [each for each in (layer.query_norm, layer.key_norm) if each is not None]
        if not all(norm.is_rms for norm in (first, second, *every)):
            raise NotRecognised("a layer has other norms than RMSNorm")
        if any(norm.epsilon != first.epsilon for norm in (second, *every)):
            raise NotRecognised("the norms of a layer have several epsilons")
        # Gates and values are interleaved; so would the bias have to be.
        if gated_mlp(layer).gate_up.bias() is not None:
            raise NotRecognised("the gate of the MLP has a bias")
    _require_rotation_by_halves([layer.attention for layer in parts.layers])
    return parts


def norms_before(layer: LayerParts) -> tuple[Norm, Norm]:
    """Return the norms before attention and MLP. Raises `NotRecognised` for other places."""
    norms = layer.norms
    if layer.is_parallel or norms.after_attention is not None or norms.after_mlp is not None:
        raise NotRecognised("attention and MLP are parallel, or have norms after them")
    if norms.before_attention is None or norms.before_mlp is None:
        raise NotRecognised("attention or MLP has no norm before it")
    return norms.before_attention, norms.before_mlp


def gated_mlp(layer: LayerParts) -> GatedMlp:
    """Return the MLP of a layer. Raises `NotRecognised` unless it is a gated one."""
    if not isinstance(layer.mlp, GatedMlp):
        raise NotRecognised("the MLP is no gated one")
    return layer.mlp


def require_plain_attention(parts: DecoderParts, specs: Sequence[AttentionSpec]) -> None:
    """Raise `NotRecognised` if a layer's attention is more than the decoder computes."""
    if len(specs) != len(parts.layers):
        raise NotRecognised(f"{len(parts.layers)} layers have {len(specs)} attentions")
    for layer, spec in zip(parts.layers, specs, strict=True):
        if spec.has_sinks:
            raise NotRecognised(f"the attention of layer {spec.layer} has sinks")
        if spec.kv_layer is not None:
            raise NotRecognised(f"layer {spec.layer} reads the keys of layer {spec.kv_layer}")
        for norm in (layer.query_norm, layer.key_norm):
            if norm is not None and norm.weight.shape != (spec.key_width,):
                raise NotRecognised(f"a norm of layer {spec.layer} is not as wide as a head")


def rotary_tables(parts: DecoderParts, num_positions: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosines and sines of all positions, [positions, width] in float32."""
    device = parts.embedding.weight.device
    with torch.inference_mode():
        positions = torch.arange(num_positions, device=device)[None]
        cosines, sines = parts.rotary(torch.zeros(1, 1, 1, device=device), positions)
    return cosines[0].float(), sines[0].float()


def rotates(layer: LayerParts) -> bool:
    """Return False for a layer without positions."""
    return bool(getattr(layer.attention, "use_rope", True))


def _require_rotation_by_halves(attentions: Sequence[nn.Module]) -> None:
    """Raise `NotRecognised` unless rotary positions pair element i with i + half."""
    probe = torch.tensor([1.0, 2.0, 3.0, 4.0])
    for module in {type(attention).__module__ for attention in attentions}:
        rotate = getattr(sys.modules[module], "rotate_half", None)
        if rotate is None or rotate(probe).tolist() != [-3.0, -4.0, 1.0, 2.0]:
            raise NotRecognised(f"{type(attentions[0]).__name__} rotates in another way")
