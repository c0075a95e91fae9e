"""Structure of decoders by their modules, independent of the model's name.

A decoder is a stack of layers with attention and an MLP: norms before or after both, RMS or layer
norms, projections together or apart, with or without bias and norms of the heads, experts among the
MLPs, recurrent layers instead of attention. `decoder_recognition` finds the parts;
`native_structure` and `fused_structure` accept what their decoders compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from yaie.models.quantization.block_weights import BlockWeight, join_blocks
from yaie.models.quantization.quantized_weights import (
    QuantizedLinear,
    QuantizedWeight,
    join,
)

ActivationName = Literal["silu", "gelu"]

LINEAR = (nn.Linear, QuantizedLinear)
DROPOUTS = {"resid_attn_dropout", "resid_mlp_dropout"}  # no-ops in inference
_ACTIVATIONS: tuple[ActivationName, ...] = ("silu", "gelu")
_NORM_TOLERANCE = 0.02  # in bfloat16
_MLP_TOLERANCE = 0.02  # in bfloat16, by the same products; silu and gelu differ by a tenth
_GATED = {"gate_proj", "up_proj", "gate_up_proj", "down_proj", "act_fn", "activation_fn"}


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

    def compute(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the results for rows [rows, hidden]."""
        inner = torch.cat([module(rows) for module in self.gate_up.modules], dim=-1)
        gate, value = inner.chunk(2, dim=-1)
        is_silu = self.activation == "silu"
        function = nn.functional
        active = function.silu(gate) if is_silu else function.gelu(gate, approximate="tanh")
        results: torch.Tensor = self.down.modules[0](active * value)
        return results


@dataclass(frozen=True, slots=True)
class OtherMlps:
    """MLPs or experts that their own modules compute; their outputs are added."""

    modules: tuple[nn.Module, ...]


@dataclass(frozen=True, slots=True)
class LayerFactors:
    """Factors within a layer besides its residual factor (Falcon-H1, MiMo-V2-Flash)."""

    attention_inputs: float = 1.0
    keys: float = 1.0
    attention: float = 1.0  # of what attention adds to the residual
    mixer: float = 1.0  # of what the recurrent layer next to it adds
    gate: float = 1.0  # of the MLP's gate, before the activation
    mlp: float = 1.0  # of what the MLP adds
    values: float = 1.0  # of attention's values


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
    has_head_gates: bool = False  # the last outputs of `qkv`: a gate for each head's output
    mixer: nn.Module | None = None  # a recurrent layer next to attention
    factors: LayerFactors = LayerFactors()


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
    rotary: nn.Module | None  # None: no layer has positions
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


def gated_mlp_of(module: nn.Module) -> GatedMlp | None:
    """Return a gated MLP by its modules; None for any other module."""
    names = {name for name, _ in module.named_children()}
    if not names or not names <= _GATED | DROPOUTS:
        return _renamed_mlp_of(module, names)
    try:
        return GatedMlp(
            linears_of(module, ("gate_up_proj",), ("gate_proj", "up_proj")),
            linears_of(module, ("down_proj",)),
            _activation_of(module),
        )
    except NotRecognised:
        return None


def _renamed_mlp_of(module: Any, names: set[str]) -> GatedMlp | None:
    """Return an MLP with the names of LFM2 or Granite 4.0; None for any other module."""
    layers: tuple[Any, ...]
    if names == {"w1", "w2", "w3"}:
        layers = (module.w1, module.w3, module.w2)
    elif names == {"activation", "input_linear", "output_linear"}:
        layers = (module.input_linear, module.output_linear)
    else:
        return None
    if not all(isinstance(each, LINEAR) for each in layers):
        return None
    gate_up, down = LinearParts(layers[:-1]), LinearParts(layers[-1:])
    if "activation" in names:
        try:
            return GatedMlp(gate_up, down, _activation_of(module))
        except NotRecognised:
            return None
    mlps = [GatedMlp(gate_up, down, name) for name in _ACTIVATIONS]
    errors = {mlp: _error_of(mlp, module) for mlp in mlps}
    best = min(mlps, key=errors.__getitem__)
    return best if errors[best] <= _MLP_TOLERANCE else None


def _error_of(mlp: GatedMlp, module: nn.Module) -> float:
    """Return the relative error of a module's parts, whose activation is no module."""
    layers = (*mlp.gate_up.modules, *mlp.down.modules)
    x = torch.linspace(-4, 4, layers[0].in_features)[None]
    # Quantized layers compute in the dtype of their inputs.
    weight = next((each.weight for each in layers if isinstance(each, nn.Linear)), x)
    x = x.to(weight.device, weight.dtype)
    with torch.no_grad():
        found, expected = module(x), mlp.compute(x)
        return float((found - expected).norm() / found.norm())


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
    names = ("act_fn", "activation_fn", "activation")
    function = next((each for name in names if (each := getattr(mlp, name, None))), None)
    if not callable(function):
        raise NotRecognised(f"{type(mlp).__name__} has no activation")
    x = torch.linspace(-6, 6, 97)
    found = function(x)
    if torch.allclose(found, nn.functional.silu(x), atol=1e-6):
        return "silu"
    if torch.allclose(found, nn.functional.gelu(x, approximate="tanh"), atol=1e-6):
        return "gelu"
    raise NotRecognised(f"the activation of {type(mlp).__name__} is neither silu nor gelu")
