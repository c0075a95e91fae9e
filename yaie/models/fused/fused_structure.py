"""Recognition of the decoders that run fused on a GPU, by their modules.

It is wider than `yaie.models.native.native_structure`: norms before or after attention and MLP,
both in parallel, layer norms, rotary tables by layer, sinks, and MLPs of other forms, experts among
them. A detail overlooked here shows in the comparison of logits with the original.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from yaie.attention.spec import AttentionSpec
from yaie.models.fused.operations import ActivationName, HeadOperation, Norm, Rotary
from yaie.models.fused.rotation import RotaryTables, rotation_of
from yaie.models.native.native_structure import (
    DROPOUTS,
    LINEAR,
    NORM_TOLERANCE,
    NotRecognised,
    activation_of,
    embedding_factor_of,
    linears_of,
    require_children,
    require_positions_in_tables_only,
)
from yaie.models.quantization.quantized_weights import QuantizedLinear

Linear = nn.Linear | QuantizedLinear

_ATTENTION = {"q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "q_norm", "k_norm"}
_GATED = {"gate_proj", "up_proj", "gate_up_proj", "down_proj", "act_fn", "activation_fn"}
_MLPS = ("mlp", "block_sparse_moe", "shared_mlp")  # a layer with several adds their outputs


class _Places(NamedTuple):
    """The names of a layer's norms, by their places."""

    before_attention: str | None
    after_attention: str | None
    before_mlp: str | None
    after_mlp: str | None


# With a single norm, attention and MLP are parallel: both read it.
_PLACES = (
    _Places("input_layernorm", None, None, None),
    _Places("input_layernorm", None, "post_attention_layernorm", None),
    _Places("attention_layernorm", None, "feedforward_layernorm", None),
    _Places(None, "post_attention_layernorm", None, "post_feedforward_layernorm"),
    _Places(
        "input_layernorm",
        "post_attention_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
    ),
    _Places(
        "input_layernorm",
        "post_self_attn_layernorm",
        "post_attention_layernorm",
        "post_mlp_layernorm",
    ),
)


@dataclass(frozen=True, slots=True)
class LayerNorms:
    """The norms of a layer; those after an operation scale what is added to the residual."""

    before_attention: Norm | None
    after_attention: Norm | None
    before_mlp: Norm | None
    after_mlp: Norm | None


@dataclass(frozen=True, slots=True)
class GatedMlp:
    """An MLP of the form down(activation(gate) * value)."""

    gate_up: tuple[Linear, ...]
    down: Linear
    activation: ActivationName


@dataclass(frozen=True, slots=True)
class OtherMlps:
    """MLPs or experts that their own modules compute; their outputs are added."""

    modules: tuple[nn.Module, ...]


@dataclass(frozen=True, slots=True)
class FusedLayerParts:
    """One decoder layer."""

    norms: LayerNorms
    is_parallel: bool
    heads: HeadOperation
    query_norm: Norm | None  # over all query heads at once
    key_norm: Norm | None
    qkv: tuple[Linear, ...]
    output: Linear
    sinks: torch.Tensor | None  # [num_heads]
    mlp: GatedMlp | OtherMlps
    residual_factor: float


@dataclass(frozen=True, slots=True)
class FusedParts:
    """A whole decoder."""

    embedding: nn.Embedding
    embedding_factor: float
    layers: tuple[FusedLayerParts, ...]
    final_norm: Norm
    head: Linear
    logit_factor: float
    logit_softcap: float | None


def recognise_for_a_gpu(
    model: Any, specs: Sequence[AttentionSpec], num_positions: int
) -> FusedParts:
    """Return the parts of a loaded model. Raises `NotRecognised` at the first unknown module."""
    base, head = getattr(model, "model", None), getattr(model, "lm_head", None)
    layers = getattr(base, "layers", None)
    if base is None or not isinstance(layers, nn.ModuleList) or not isinstance(head, LINEAR):
        raise NotRecognised("not a stack of layers below a linear head")
    require_children(base, {"embed_tokens", "layers", "norm", "rotary_emb"}, "the decoder")
    config = model.config
    require_positions_in_tables_only(config)
    if getattr(config, "clip_qkv", None) is not None:
        raise NotRecognised("queries, keys and values are clipped (clip_qkv)")
    if len(specs) != len(layers):
        raise NotRecognised(f"{len(layers)} layers have {len(specs)} attentions")
    tables = RotaryTables(base.rotary_emb, config, num_positions, base.embed_tokens.weight)
    found = tuple(_layer(layer, spec, tables) for layer, spec in zip(layers, specs, strict=True))
    # Families have one of the two.
    factor = float(getattr(config, "logit_scale", None) or 1.0)
    return FusedParts(
        embedding=base.embed_tokens,
        embedding_factor=embedding_factor_of(base),
        layers=found,
        final_norm=norm_of(base.norm),
        head=head,
        logit_factor=factor / float(getattr(config, "logits_scaling", None) or 1.0),
        logit_softcap=getattr(config, "final_logit_softcapping", None),
    )


def _layer(layer: Any, spec: AttentionSpec, tables: RotaryTables) -> FusedLayerParts:
    attention = getattr(layer, "self_attn", None)
    if attention is None:
        raise NotRecognised(f"{type(layer).__name__} has no self_attn")
    names = {name for name, _ in layer.named_children()} - DROPOUTS
    mlps = tuple(getattr(layer, name) for name in _MLPS if name in names)
    norms = names - set(_MLPS) - {"self_attn"}
    places = next((each for each in _PLACES if set(each) - {None} == norms), None)
    if places is None or not mlps:
        raise NotRecognised(f"{type(layer).__name__} has {', '.join(sorted(names))}")
    _require_no_tensors(layer)
    _require_plain_attention(attention, spec)
    heads, query_norm, key_norm = _heads(attention, spec, tables)
    return FusedLayerParts(
        norms=LayerNorms(
            *(None if name is None else norm_of(getattr(layer, name)) for name in places)
        ),
        is_parallel=len(norms) == 1,
        heads=heads,
        query_norm=query_norm,
        key_norm=key_norm,
        qkv=linears_of(attention, ("qkv_proj",), ("q_proj", "k_proj", "v_proj")).modules,
        output=linears_of(attention, ("o_proj",)).modules[0],
        sinks=getattr(attention, "sinks", None),
        mlp=_mlp(mlps),
        residual_factor=float(getattr(layer, "residual_multiplier", 1.0)),
    )


def _require_plain_attention(attention: nn.Module, spec: AttentionSpec) -> None:
    odd = sorted({name for name, _ in attention.named_children()} - _ATTENTION)
    if odd:
        raise NotRecognised(f"{type(attention).__name__} has {', '.join(odd)} besides projections")
    _require_no_tensors(attention, but="sinks")
    if spec.kv_layer is not None:
        raise NotRecognised(f"layer {spec.layer} reads the keys of layer {spec.kv_layer}")
    if spec.value_width != spec.key_width:
        raise NotRecognised(f"the values of layer {spec.layer} have a width of their own")
    if spec.has_sinks != (getattr(attention, "sinks", None) is not None):
        raise NotRecognised(f"the sinks of layer {spec.layer} come from elsewhere")


def _require_no_tensors(module: nn.Module, but: str | None = None) -> None:
    for name, _ in _own_tensors(module):
        if name != but:
            raise NotRecognised(f"{type(module).__name__} has {name}")


def _own_tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)


def _heads(
    attention: nn.Module, spec: AttentionSpec, tables: RotaryTables
) -> tuple[HeadOperation, Norm | None, Norm | None]:
    """Return the operation of the heads, and the norms that span all query or all key heads."""
    of_heads: list[Norm | None] = []
    of_all: list[Norm | None] = []
    for name, count in (("q_norm", spec.num_heads), ("k_norm", spec.num_kv_heads)):
        module = getattr(attention, name, None)
        norm = None if module is None or isinstance(module, nn.Identity) else norm_of(module)
        width = spec.key_width if norm is None else norm.weight.numel()
        if width not in (spec.key_width, count * spec.key_width):
            raise NotRecognised(f"a norm of layer {spec.layer} is not as wide as a head or all")
        is_of_heads = norm is not None and width == spec.key_width
        if norm is not None and is_of_heads and not norm.is_rms:
            raise NotRecognised(f"the heads of layer {spec.layer} have a layer norm")
        of_heads.append(norm if is_of_heads else None)
        of_all.append(None if is_of_heads else norm)
    rotary: Rotary | None = rotation_of(attention, spec, tables.of_layer(spec.layer))
    heads = HeadOperation(
        spec.num_heads,
        spec.num_kv_heads,
        spec.key_width,
        query_norm=of_heads[0],
        key_norm=of_heads[1],
        rotary=rotary,
    )
    return heads, of_all[0], of_all[1]


def _mlp(modules: tuple[nn.Module, ...]) -> GatedMlp | OtherMlps:
    """Return a gated MLP in parts, and others as they are."""
    names = {name for name, _ in modules[0].named_children()}
    if len(modules) == 1 and names <= _GATED | DROPOUTS:
        try:
            return GatedMlp(
                linears_of(modules[0], ("gate_up_proj",), ("gate_proj", "up_proj")).modules,
                linears_of(modules[0], ("down_proj",)).modules[0],
                activation_of(modules[0]),
            )
        except NotRecognised:
            pass
    return OtherMlps(modules)


def norm_of(module: nn.Module) -> Norm:
    """Return a norm by its weights; offset and kind are found by evaluating it.

    Raises `NotRecognised` unless it is an RMSNorm or a layer norm.
    """
    parameters = {name: tensor.detach() for name, tensor in module.named_parameters()}
    epsilon = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    unknown = NotRecognised(f"{type(module).__name__} is neither an RMSNorm nor a layer norm")
    weight, bias = parameters.pop("weight", None), parameters.pop("bias", None)
    if parameters or weight is None or weight.dim() != 1 or not isinstance(epsilon, float):
        raise unknown
    # Far from a mean of 0, which the two kinds treat differently.
    probe = torch.linspace(-1, 2, weight.numel(), dtype=weight.dtype, device=weight.device)
    with torch.no_grad():
        found, wide = module(probe).float(), probe.float()
        for centres in (False, True):
            x = wide - wide.mean() if centres else wide
            scaled = x * torch.rsqrt(x.square().mean() + epsilon)
            for offset in (0.0, 1.0):
                expected = scaled * (weight.float() + offset)
                if bias is not None:
                    expected += bias.float()
                if (found - expected).norm() <= NORM_TOLERANCE * expected.norm():
                    return Norm(weight, epsilon, offset, centres=centres, bias=bias)
    raise unknown
