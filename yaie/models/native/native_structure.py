"""Recognition of decoders by their modules, independent of the model's name.

A recognised decoder is a stack of pre-norm layers: RMSNorm, query, key and value projections
(together or apart, with or without bias and norms of the heads), rotary positions, attention,
output projection, RMSNorm, a gated MLP: as in llama, mistral, qwen2, qwen3, smollm3, granite, phi3,
gemma and glm. A detail overlooked here shows in the comparison of logits with the original.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from yaie.attention.spec import AttentionSpec
from yaie.models.quantization.quantized_weights import (
    QuantizedLinear,
    QuantizedWeight,
    join,
)

LINEAR = (nn.Linear, QuantizedLinear)
_LAYER = {"self_attn", "mlp", "input_layernorm", "post_attention_layernorm"}
NORM_TOLERANCE = 0.02  # of a norm in bfloat16
_ATTENTION = {"q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "q_norm", "k_norm"}
DROPOUTS = {"resid_attn_dropout", "resid_mlp_dropout"}  # no-ops in inference


class NotRecognised(Exception):
    """The decoder has another structure; the message names the difference."""


@dataclass(frozen=True, slots=True)
class LinearParts:
    """Projections computed as one, with concatenated outputs."""

    modules: tuple[nn.Linear | QuantizedLinear, ...]

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        """Return the weights [outputs, inputs]; quantized ones are dequantized to `dtype`."""
        weights = [_weight_of(module, dtype) for module in self.modules]
        return weights[0] if len(weights) == 1 else torch.cat(weights)

    def quantized(self) -> QuantizedWeight | None:
        """Return all parts as one quantized weight; None unless they share one format."""
        parts = [getattr(module, "quantized", None) for module in self.modules]
        weights = [part for part in parts if isinstance(part, QuantizedWeight)]
        return join(weights) if len(weights) == len(parts) else None

    @property
    def are_quantized(self) -> bool:
        """True if all parts are quantized, each in its own format."""
        return all(isinstance(module, QuantizedLinear) for module in self.modules)

    @property
    def num_quantized(self) -> int:
        """Number of quantized weights."""
        parts = [getattr(module, "quantized", None) for module in self.modules]
        return sum(part.values.numel() for part in parts if isinstance(part, QuantizedWeight))

    def bias(self) -> torch.Tensor | None:
        """Return the bias [outputs]; None if all parts lack one."""
        if all(module.bias is None for module in self.modules):
            return None
        return torch.cat(
            [
                torch.zeros(module.out_features) if module.bias is None else module.bias.detach()
                for module in self.modules
            ]
        )


def _weight_of(module: nn.Linear | QuantizedLinear, dtype: torch.dtype) -> torch.Tensor:
    if isinstance(module, nn.Linear):
        return module.weight.detach()
    if module.quantized is None:
        raise RuntimeError("the weights of a layer were packed twice")
    return module.quantized.dequantize(dtype)


@dataclass(frozen=True, slots=True)
class NormParts:
    """An RMSNorm: rows are scaled to a mean square of 1, then by `weight + offset`."""

    weight: torch.Tensor  # [width]
    epsilon: float
    offset: float = 0.0

    @property
    def factors(self) -> torch.Tensor:
        """The factors of the scaled elements [width], in float32."""
        return self.weight.float() + self.offset


@dataclass(frozen=True, slots=True)
class LayerParts:
    """One decoder layer."""

    attention_norm: NormParts
    mlp_norm: NormParts
    query_norm: NormParts | None
    key_norm: NormParts | None
    qkv: LinearParts
    value: LinearParts | None  # the value heads, if they are quantized in a way of their own
    output: LinearParts
    gate_up: LinearParts
    down: LinearParts
    activation: Literal["silu", "gelu"]
    rotates: bool
    residual_factor: float

    @property
    def norms(self) -> tuple[NormParts, ...]:
        """The norms of the layer, without missing ones."""
        every = (self.attention_norm, self.mlp_norm, self.query_norm, self.key_norm)
        return tuple(norm for norm in every if norm is not None)


@dataclass(frozen=True, slots=True)
class DecoderParts:
    """A whole decoder."""

    embedding: nn.Embedding
    layers: tuple[LayerParts, ...]
    final_norm: NormParts
    rotary: nn.Module
    rotates_neighbours: bool  # elements 2 i and 2 i + 1 are a pair, instead of i and i + half
    head: nn.Linear | QuantizedLinear
    embedding_factor: float
    logit_factor: float

    @property
    def is_tied(self) -> bool:
        """True if head and embedding share their weights."""
        if isinstance(self.head, QuantizedLinear):
            return self.head.is_tied
        return self.head.weight.data_ptr() == self.embedding.weight.data_ptr()


def recognise(model: Any) -> DecoderParts:
    """Return the parts of a decoder. Raises `NotRecognised` at the first unknown module."""
    base = getattr(model, "model", None)
    head = getattr(model, "lm_head", None)
    layers = getattr(base, "layers", None)
    if base is None or not isinstance(layers, nn.ModuleList) or not isinstance(head, LINEAR):
        raise NotRecognised("not a stack of layers below a linear head")
    require_children(base, {"embed_tokens", "layers", "norm", "rotary_emb"}, "the decoder")
    config = getattr(model, "config", None)
    require_positions_in_tables_only(config)
    scaling = float(getattr(config, "logits_scaling", 1.0))
    if scaling != 1.0 and head.bias is not None:  # the head's inputs are scaled, a bias is not
        raise NotRecognised("the head has a bias, and its logits are scaled")
    return DecoderParts(
        embedding=base.embed_tokens,
        layers=tuple(_layer(layer) for layer in layers),
        rotates_neighbours=_rotates_neighbours([layer.self_attn for layer in layers]),
        final_norm=_norm(base.norm),
        rotary=base.rotary_emb,
        head=head,
        embedding_factor=embedding_factor_of(base),
        logit_factor=1.0 / scaling,
    )


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


def _layer(layer: Any) -> LayerParts:
    require_children(layer, _LAYER, "a layer", optional=DROPOUTS)
    attention, mlp = layer.self_attn, layer.mlp
    odd = sorted({name for name, _ in attention.named_children()} - _ATTENTION)
    if odd:
        raise NotRecognised(f"{type(attention).__name__} has {', '.join(odd)} besides projections")
    gate_up = linears_of(mlp, ("gate_up_proj",), ("gate_proj", "up_proj"))
    if gate_up.bias() is not None:  # gates and values are interleaved; so would the bias have to be
        raise NotRecognised(f"the gate of {type(mlp).__name__} has a bias")
    qkv, value = _without_value(
        linears_of(attention, ("qkv_proj",), ("q_proj", "k_proj", "v_proj"))
    )
    parts = LayerParts(
        attention_norm=_norm(layer.input_layernorm),
        mlp_norm=_norm(layer.post_attention_layernorm),
        query_norm=_head_norm(attention, "q_norm"),
        key_norm=_head_norm(attention, "k_norm"),
        qkv=qkv,
        value=value,
        output=linears_of(attention, ("o_proj",)),
        gate_up=gate_up,
        down=linears_of(mlp, ("down_proj",)),
        activation=activation_of(mlp),
        rotates=bool(getattr(attention, "use_rope", True)),
        residual_factor=float(getattr(layer, "residual_multiplier", 1.0)),
    )
    if any(norm.epsilon != parts.attention_norm.epsilon for norm in parts.norms):
        raise NotRecognised(f"the norms of {type(layer).__name__} have several epsilons")
    return parts


def require_children(
    module: nn.Module, wanted: set[str], what: str, optional: set[str] | None = None
) -> None:
    """Raise `NotRecognised` unless these are the module's children; `what` names it."""
    names = {name for name, _ in module.named_children()} - (optional or set())
    if names != wanted:
        odd = ", ".join(sorted(names ^ wanted))
        raise NotRecognised(f"{what} ({type(module).__name__}) differs in {odd}")


def require_positions_in_tables_only(config: Any) -> None:
    """Require queries that are scaled alike at all positions.

    Ministral 3 scales those beyond its original length. The comparison at the end of the context
    would refuse the packed model, after the work of packing it.
    """
    table = getattr(config, "rope_parameters", None)
    if isinstance(table, dict) and table.get("llama_4_scaling_beta"):
        raise NotRecognised("queries are scaled by their position (llama_4_scaling_beta)")


def _rotates_neighbours(attentions: Sequence[Any]) -> bool:
    """Return how rotary positions pair the elements of a head: with the half, or neighbours."""
    probe = torch.tensor([1.0, 2.0, 3.0, 4.0])
    known = {(-3.0, -4.0, 1.0, 2.0): False, (-2.0, 1.0, -4.0, 3.0): True}
    found = set()
    for module in {type(attention).__module__ for attention in attentions}:
        rotate = getattr(sys.modules[module], "rotate_half", None)
        found.add(None if rotate is None else known.get(tuple(rotate(probe).tolist())))
    if len(found) != 1 or (neighbours := found.pop()) is None:
        raise NotRecognised(f"{type(attentions[0]).__name__} rotates in another way")
    return neighbours


def embedding_factor_of(base: Any) -> float:
    """Return the factor of embeddings: of the decoder, or of a scaled embedding, as rounded."""
    embedding = base.embed_tokens
    factor = float(getattr(base, "embedding_multiplier", 1.0))
    scale = getattr(embedding, "embed_scale", None)
    return factor if scale is None else factor * float(scale.to(embedding.weight.dtype))


def linears_of(module: Any, *choices: Sequence[str]) -> LinearParts:
    """Return the linear children of the first choice that a module has.

    Raises `NotRecognised`.
    """
    for names in choices:
        found = [getattr(module, name, None) for name in names]
        parts = tuple(part for part in found if isinstance(part, LINEAR))
        if len(parts) == len(names):
            return LinearParts(parts)
    wanted = " or ".join("+".join(names) for names in choices)
    raise NotRecognised(f"{type(module).__name__} has no plain {wanted}")


def _without_value(qkv: LinearParts) -> tuple[LinearParts, LinearParts | None]:
    """Split off the value projection if only the other two share a quantized format."""
    if len(qkv.modules) != 3 or not qkv.are_quantized or qkv.quantized() is not None:
        return qkv, None
    others = LinearParts(qkv.modules[:2])
    return (qkv, None) if others.quantized() is None else (others, LinearParts(qkv.modules[2:]))


def _norm(module: nn.Module) -> NormParts:
    parameters = dict(module.named_parameters())
    epsilon = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    if set(parameters) != {"weight"} or not isinstance(epsilon, float):
        raise NotRecognised(f"{type(module).__name__} is not a plain RMSNorm")
    weight = parameters["weight"].detach()
    return NormParts(weight, epsilon, _norm_offset(module, weight, epsilon))


def _norm_offset(module: nn.Module, weight: torch.Tensor, epsilon: float) -> float:
    """Return what the norm adds to its weight, found by evaluating it."""
    probe = torch.linspace(-2, 2, weight.numel(), dtype=weight.dtype, device=weight.device)
    with torch.no_grad():
        found, wide = module(probe).float(), probe.float()
    scaled = wide * torch.rsqrt(wide.square().mean() + epsilon)
    for offset in (0.0, 1.0):
        expected = scaled * (weight.float() + offset)
        if (found - expected).norm() <= NORM_TOLERANCE * expected.norm():
            return offset
    raise NotRecognised(f"{type(module).__name__} is not a plain RMSNorm")


def _head_norm(attention: nn.Module, name: str) -> NormParts | None:
    module = getattr(attention, name, None)
    return None if module is None or isinstance(module, nn.Identity) else _norm(module)


def activation_of(mlp: Any) -> Literal["silu", "gelu"]:
    """Return the name of the activation, found by evaluating it."""
    function = getattr(mlp, "act_fn", None) or getattr(mlp, "activation_fn", None)
    if not callable(function):
        raise NotRecognised(f"{type(mlp).__name__} has no activation")
    x = torch.linspace(-6, 6, 97)
    found = function(x)
    if torch.allclose(found, nn.functional.silu(x), atol=1e-6):
        return "silu"
    if torch.allclose(found, nn.functional.gelu(x, approximate="tanh"), atol=1e-6):
        return "gelu"
    raise NotRecognised(f"the activation of {type(mlp).__name__} is neither silu nor gelu")
