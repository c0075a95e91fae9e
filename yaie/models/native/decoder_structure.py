"""Structure of decoders by their modules, independent of the model's name.

A decoder is a stack of layers with attention and an MLP: norms before or after both, RMS or layer
norms, projections together or apart, with or without bias and norms of the heads, experts among the
MLPs, recurrent layers instead of attention. `native_structure` and `fused_structure` accept what
their decoders compute. A detail
overlooked here shows in the comparison of logits with the original.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from yaie.models.quantization.block_weights import BlockWeight, join_blocks
from yaie.models.quantization.quantized_weights import (
    QuantizedLinear,
    QuantizedWeight,
    join,
)

ActivationName = Literal["silu", "gelu"]

_LINEAR = (nn.Linear, QuantizedLinear)
_NORM_TOLERANCE = 0.02  # in bfloat16
_ATTENTION = {"q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "q_norm", "k_norm"}
_DROPOUTS = {"resid_attn_dropout", "resid_mlp_dropout"}  # no-ops in inference
_GATED = {"gate_proj", "up_proj", "gate_up_proj", "down_proj", "act_fn", "activation_fn"}
_MIXERS = ("linear_attn",)  # recurrent layers
_MLPS = ("mlp", "block_sparse_moe", "shared_mlp")  # a layer with several adds their outputs


class NotRecognised(Exception):
    """The decoder has another structure; the message names the difference."""


@dataclass(frozen=True, slots=True)
class Norm:
    """An RMSNorm: rows are scaled to the mean square 1, then by `weight + offset`.

    A layer norm subtracts the mean first (`centres`), and may add a bias at the end.
    """

    weight: torch.Tensor  # [width]
    epsilon: float
    offset: float = 0.0
    centres: bool = False
    bias: torch.Tensor | None = None  # [width]

    @property
    def factors(self) -> torch.Tensor:
        """The factors of the scaled elements [width], in float32."""
        return self.weight.float() + self.offset

    @property
    def is_rms(self) -> bool:
        """True for an RMSNorm."""
        return not self.centres and self.bias is None


@dataclass(frozen=True, slots=True)
class LinearParts:
    """Projections computed as one, with concatenated outputs."""

    modules: tuple[nn.Linear | QuantizedLinear, ...]

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        """Return the weights [outputs, inputs]; quantized ones are dequantized to `dtype`."""
        weights = [_weight_of(module, dtype) for module in self.modules]
        return weights[0] if len(weights) == 1 else torch.cat(weights)

    def quantized(self) -> QuantizedWeight | BlockWeight | None:
        """Return all parts as one quantized weight; None unless they share one format."""
        parts = [getattr(module, "quantized", None) for module in self.modules]
        blocks = [part for part in parts if isinstance(part, BlockWeight)]
        if len(blocks) == len(parts):
            return join_blocks(blocks)
        weights = [part for part in parts if isinstance(part, QuantizedWeight)]
        return join(weights) if len(weights) == len(parts) else None

    def split_by_format(self) -> list[LinearParts]:
        """Return runs of neighbouring parts that share a format, or are all plain."""
        runs: list[list[nn.Linear | QuantizedLinear]] = []
        for module in self.modules:
            if runs and _format_of(runs[-1][0]) == _format_of(module):
                runs[-1].append(module)
            else:
                runs.append([module])
        return [LinearParts(tuple(run)) for run in runs]

    @property
    def num_quantized(self) -> int:
        """Number of quantized weights."""
        parts = [getattr(module, "quantized", None) for module in self.modules]
        weights = [part for part in parts if isinstance(part, QuantizedWeight | BlockWeight)]
        return sum(weight.num_weights for weight in weights)

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


def _format_of(module: nn.Linear | QuantizedLinear) -> tuple[object, ...] | None:
    weight = getattr(module, "quantized", None)
    return None if weight is None else weight.format


def _weight_of(module: nn.Linear | QuantizedLinear, dtype: torch.dtype) -> torch.Tensor:
    if isinstance(module, nn.Linear):
        return module.weight.detach()
    if module.quantized is None:
        raise RuntimeError("the weights of a layer were packed twice")
    return module.quantized.dequantize(dtype)


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

    gate_up: LinearParts
    down: LinearParts
    activation: ActivationName


@dataclass(frozen=True, slots=True)
class OtherMlps:
    """MLPs or experts that their own modules compute; their outputs are added."""

    modules: tuple[nn.Module, ...]


@dataclass(frozen=True, slots=True)
class LayerParts:
    """One decoder layer."""

    attention: nn.Module
    norms: LayerNorms
    is_parallel: bool  # attention and MLP read the same norm
    query_norm: Norm | None  # as wide as a head, or as all query heads
    key_norm: Norm | None
    qkv: LinearParts
    output: LinearParts
    sinks: torch.Tensor | None  # [num_heads]
    mlp: GatedMlp | OtherMlps
    residual_factor: float


@dataclass(frozen=True, slots=True)
class RecurrentLayerParts:
    """One decoder layer with a recurrent layer, its mixer, instead of attention."""

    mixer: nn.Module
    norms: LayerNorms
    is_parallel: bool
    mlp: GatedMlp | OtherMlps
    residual_factor: float


@dataclass(frozen=True, slots=True)
class DecoderParts:
    """A whole decoder."""

    embedding: nn.Embedding
    embedding_factor: float
    layers: tuple[LayerParts | RecurrentLayerParts, ...]
    final_norm: Norm
    rotary: nn.Module
    head: nn.Linear | QuantizedLinear
    logit_factor: float
    logit_softcap: float | None

    @property
    def attention_layers(self) -> list[LayerParts]:
        """The layers with attention."""
        return [layer for layer in self.layers if isinstance(layer, LayerParts)]

    @property
    def is_tied(self) -> bool:
        """True if head and embedding share their weights."""
        if isinstance(self.head, QuantizedLinear):
            return self.head.is_tied
        return self.head.weight.data_ptr() == self.embedding.weight.data_ptr()


def recognise(model: Any) -> DecoderParts:
    """Return the parts of a decoder. Raises `NotRecognised` at the first unknown module."""
    base, head = getattr(model, "model", None), getattr(model, "lm_head", None)
    layers = getattr(base, "layers", None)
    if base is None or not isinstance(layers, nn.ModuleList) or not isinstance(head, _LINEAR):
        raise NotRecognised("not a stack of layers below a linear head")
    names = {name for name, _ in base.named_children()}
    if odd := names ^ {"embed_tokens", "layers", "norm", "rotary_emb"}:
        raise NotRecognised(
            f"the decoder ({type(base).__name__}) differs in {', '.join(sorted(odd))}"
        )
    config = getattr(model, "config", None)
    require_positions_in_tables_only(config)
    if getattr(config, "clip_qkv", None) is not None:
        raise NotRecognised("queries, keys and values are clipped (clip_qkv)")
    # Families have one of the two.
    factor = float(getattr(config, "logit_scale", None) or 1.0)
    return DecoderParts(
        embedding=base.embed_tokens,
        embedding_factor=_embedding_factor_of(base),
        layers=tuple(map(_layer, layers)),
        final_norm=norm_of(base.norm),
        rotary=base.rotary_emb,
        head=head,
        logit_factor=factor / float(getattr(config, "logits_scaling", None) or 1.0),
        logit_softcap=getattr(config, "final_logit_softcapping", None),
    )


def _layer(layer: Any) -> LayerParts | RecurrentLayerParts:
    names = {name for name, _ in layer.named_children()} - _DROPOUTS
    mixers = [getattr(layer, name) for name in _MIXERS if name in names]
    attention = getattr(layer, "self_attn", None)
    if (attention is not None) + len(mixers) != 1:
        raise NotRecognised(f"{type(layer).__name__} has no self_attn, or a recurrent layer too")
    mlps = tuple(getattr(layer, name) for name in _MLPS if name in names)
    found = names - {*_MLPS, *_MIXERS, "self_attn"}
    places = next((each for each in _PLACES if set(each) - {None} == found), None)
    if places is None or not mlps:
        raise NotRecognised(f"{type(layer).__name__} has {', '.join(sorted(names))}")
    _require_no_tensors(layer)
    norms = LayerNorms(
        *(None if name is None else norm_of(getattr(layer, name)) for name in places)
    )
    factor = float(getattr(layer, "residual_multiplier", 1.0))
    is_parallel = len(found) == 1
    if attention is None:
        return RecurrentLayerParts(mixers[0], norms, is_parallel, _mlp(mlps), factor)
    odd = sorted({name for name, _ in attention.named_children()} - _ATTENTION)
    if odd:
        raise NotRecognised(f"{type(attention).__name__} has {', '.join(odd)} besides projections")
    _require_no_tensors(attention, but="sinks")
    return LayerParts(
        attention=attention,
        norms=norms,
        is_parallel=is_parallel,
        query_norm=_head_norm(attention, "q_norm"),
        key_norm=_head_norm(attention, "k_norm"),
        qkv=_linears_of(attention, ("qkv_proj",), ("q_proj", "k_proj", "v_proj")),
        output=_linears_of(attention, ("o_proj",)),
        sinks=getattr(attention, "sinks", None),
        mlp=_mlp(mlps),
        residual_factor=factor,
    )


def require_positions_in_tables_only(config: Any) -> None:
    """Require queries that are scaled alike at all positions.

    Ministral 3 scales those beyond its original length. The comparison at the end of the context
    would refuse the packed model, after the work of packing it.
    """
    table = getattr(config, "rope_parameters", None)
    if isinstance(table, dict) and table.get("llama_4_scaling_beta"):
        raise NotRecognised("queries are scaled by their position (llama_4_scaling_beta)")


def _require_no_tensors(module: nn.Module, but: str | None = None) -> None:
    for name, _ in _own_tensors(module):
        if name != but:
            raise NotRecognised(f"{type(module).__name__} has {name}")


def _own_tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)


def _embedding_factor_of(base: Any) -> float:
    """Return the factor of embeddings: of the decoder, or of a scaled embedding, as rounded."""
    embedding = base.embed_tokens
    factor = float(getattr(base, "embedding_multiplier", 1.0))
    scale = getattr(embedding, "embed_scale", None)
    return factor if scale is None else factor * float(scale.to(embedding.weight.dtype))


def _linears_of(module: Any, *choices: Sequence[str]) -> LinearParts:
    """Return the linear children of the first choice that a module has.

    Raises `NotRecognised`.
    """
    for names in choices:
        found = [getattr(module, name, None) for name in names]
        parts = tuple(part for part in found if isinstance(part, _LINEAR))
        if len(parts) == len(names):
            return LinearParts(parts)
    wanted = " or ".join("+".join(names) for names in choices)
    raise NotRecognised(f"{type(module).__name__} has no plain {wanted}")


def _head_norm(attention: nn.Module, name: str) -> Norm | None:
    module = getattr(attention, name, None)
    return None if module is None or isinstance(module, nn.Identity) else norm_of(module)


def _mlp(modules: tuple[nn.Module, ...]) -> GatedMlp | OtherMlps:
    """Return a gated MLP in parts, and others as they are."""
    found = gated_mlp_of(modules[0]) if len(modules) == 1 else None
    return OtherMlps(modules) if found is None else found


def gated_mlp_of(module: nn.Module) -> GatedMlp | None:
    """Return a gated MLP by its modules; None for any other module."""
    names = {name for name, _ in module.named_children()}
    if not names or not names <= _GATED | _DROPOUTS:
        return None
    try:
        return GatedMlp(
            _linears_of(module, ("gate_up_proj",), ("gate_proj", "up_proj")),
            _linears_of(module, ("down_proj",)),
            _activation_of(module),
        )
    except NotRecognised:
        return None


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
        try:
            found, wide = module(probe).float(), probe.float()
        except Exception as error:  # of a forward that takes more, or rows of another shape
            raise unknown from error
        for centres in (False, True):
            x = wide - wide.mean() if centres else wide
            scaled = x * torch.rsqrt(x.square().mean() + epsilon)
            for offset in (0.0, 1.0):
                expected = scaled * (weight.float() + offset)
                if bias is not None:
                    expected += bias.float()
                if (found - expected).norm() <= _NORM_TOLERANCE * expected.norm():
                    return Norm(weight, epsilon, offset, centres=centres, bias=bias)
    raise unknown


def _activation_of(mlp: Any) -> ActivationName:
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
