"""Structure of mixers by their modules: gated delta nets, Mamba 2 and short convolutions.

A mixer is projections, a convolution, a recurrence and a gated norm, or fewer of them, and a last
projection. The projections' results are the columns of one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from yaie.kernels.recurrent_structures import MAX_TAPS
from yaie.models.native.decoder_structure import LinearParts, NotRecognised
from yaie.models.native.recurrent_layers import (
    ConvolutionParts,
    GroupNormParts,
    HeadSizes,
    RecurrenceParts,
)
from yaie.models.quantization.quantized_weights import QuantizedLinear

_SILU = ("silu", "swish")
_LINEAR = (nn.Linear, QuantizedLinear)


@dataclass(frozen=True, slots=True)
class MixerColumns:
    """First columns, of the projections' results and of the convolution's."""

    inputs: int  # of the convolution
    gate: int  # of the norm; of a short convolution, factors of its results
    product: int = 0  # a short convolution's inputs are multiplied with these
    gates: int = 0  # of a delta rule
    steps: int = 0
    queries: int = 0  # in the convolution's results, as the next two
    keys: int = 0
    values: int = 0


@dataclass(frozen=True, slots=True)
class MixerParts:
    """One mixer."""

    inputs: LinearParts
    output: LinearParts
    columns: MixerColumns
    convolution: ConvolutionParts
    # Of each input projection: the order of its outputs, int64 [outputs]; None: as they are.
    orders: tuple[torch.Tensor | None, ...]
    recurrence: RecurrenceParts | None = None
    norm: GroupNormParts | None = None
    factors: torch.Tensor | None = None  # [columns] of the projections' results


def recognise_mixer(module: Any) -> MixerParts:
    """Return the parts of a mixer. Raises `NotRecognised`."""
    name = type(module).__name__
    read = next((read for end, read in _KINDS.items() if name.endswith(end)), None)
    if read is None:
        raise NotRecognised(f"{name} is no known recurrent layer")
    if getattr(module, "conv_kernel_size", MAX_TAPS + 1) > MAX_TAPS:
        raise NotRecognised(f"{name} has a convolution of more than {MAX_TAPS} inputs")
    if getattr(module, "activation", "silu") not in _SILU:
        raise NotRecognised(f"the activation of {name} is not silu")
    return read(module)


def _delta_net(mixer: Any) -> MixerParts:
    keys, values = int(mixer.key_dim), int(mixer.value_dim)
    heads = int(mixer.num_v_heads)
    sizes = HeadSizes(heads, mixer.num_k_heads, mixer.head_k_dim, mixer.head_v_dim)
    orders: Sequence[torch.Tensor | None]
    if hasattr(mixer, "in_proj_qkvz"):
        names: tuple[str, ...] = ("in_proj_qkvz", "in_proj_ba")
        orders = _orders_by_key_head(sizes)
    elif hasattr(mixer, "in_proj_qkv"):
        names = ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")
        orders = [None] * len(names)
    else:
        names = ("q_proj", "k_proj", "v_proj", "g_proj", "b_proj", "a_proj")
        orders = [None] * len(names)
    norm = mixer.o_norm if hasattr(mixer, "o_norm") else mixer.norm
    gate = 2 * keys + values
    return MixerParts(
        inputs=_linears(mixer, *names),
        output=_linears(mixer, "o_proj" if hasattr(mixer, "o_proj") else "out_proj"),
        columns=MixerColumns(
            inputs=0,
            gate=gate,
            gates=gate + values,
            steps=gate + values + heads,
            queries=0,
            keys=keys,
            values=2 * keys,
        ),
        convolution=_convolution(mixer.conv1d, has_silu=True),
        orders=tuple(orders),
        recurrence=RecurrenceParts(
            sizes,
            log_rates=mixer.A_log,
            step_bias=mixer.dt_bias,
            gate_factor=2.0 if getattr(mixer, "allow_neg_eigval", False) else 1.0,
        ),
        norm=GroupNormParts(
            norm.weight,
            num_groups=heads,
            width=sizes.value_width,
            epsilon=norm.variance_epsilon,
            norm_first=True,
        ),
    )


def _orders_by_key_head(sizes: HeadSizes) -> list[torch.Tensor | None]:
    """Return the orders of two projections whose outputs are grouped by key head."""
    ratio = sizes.num_heads // sizes.num_key_heads
    found: list[torch.Tensor | None] = []
    for widths in (
        [sizes.key_width] * 2 + [ratio * sizes.value_width] * 2,
        [ratio] * 2,
    ):
        outputs = torch.arange(sizes.num_key_heads * sum(widths))
        by_head = outputs.view(sizes.num_key_heads, -1)
        found.append(torch.cat([each.flatten() for each in torch.split(by_head, widths, dim=1)]))
    return found


def _short_conv(mixer: Any) -> MixerParts:
    """Return a convolution between two products with other projections (LFM2)."""
    hidden = int(mixer.conv.in_channels)
    return MixerParts(
        inputs=_linears(mixer, "in_proj"),
        output=_linears(mixer, "out_proj"),
        columns=MixerColumns(inputs=2 * hidden, gate=hidden, product=0),
        convolution=_convolution(mixer.conv, has_silu=False),
        orders=(None,),
    )


def _mamba(mixer: Any) -> MixerParts:
    inner, state = int(mixer.intermediate_size), int(mixer.ssm_state_size)
    groups = int(mixer.n_groups) * state
    low, high = (float(each) for each in mixer.time_step_limit)
    inputs = _linears(mixer, "in_proj")
    return MixerParts(
        inputs=inputs,
        output=_linears(mixer, "out_proj"),
        columns=MixerColumns(
            inputs=inner,
            gate=0,
            steps=2 * inner + 2 * groups,
            queries=inner + groups,
            keys=inner,
            values=0,
        ),
        convolution=_convolution(mixer.conv1d, has_silu=True),
        orders=(None,),
        recurrence=RecurrenceParts(
            HeadSizes(mixer.num_heads, mixer.n_groups, state, mixer.head_dim),
            log_rates=mixer.A_log,
            step_bias=mixer.dt_bias,
            skip=mixer.D,
            limits=(low, high),
        ),
        norm=_mamba_norm(mixer),
        factors=_mamba_factors(mixer, inputs),
    )


def _mamba_factors(mixer: Any, inputs: LinearParts) -> torch.Tensor | None:
    """Return the factors of the projection's results, with the factor of its inputs."""
    factor = float(getattr(mixer, "ssm_in_multiplier", 1.0))
    factors = getattr(mixer, "mup_vector", None)
    if factor == 1.0:
        return None if factors is None else factors.detach().float().flatten()
    if inputs.bias() is not None:
        raise NotRecognised(f"{type(mixer).__name__} scales inputs of a projection with bias")
    if factors is None:
        return torch.full((inputs.modules[0].out_features,), factor)
    return factors.detach().float().flatten() * factor  # type: ignore[no-any-return]


def _mamba_norm(mixer: Any) -> GroupNormParts:
    width, norm = int(mixer.intermediate_size), mixer.norm
    if isinstance(norm, nn.Identity):
        return GroupNormParts(None, num_groups=1, width=width)
    size = getattr(norm, "group_size", None)
    groups = width // size if size else norm.n_groups
    return GroupNormParts(
        norm.weight,
        num_groups=groups,
        width=width // groups,
        epsilon=norm.variance_epsilon,
        norm_first=bool(getattr(norm, "norm_before_gate", False)),
    )


def _linears(mixer: Any, *names: str) -> LinearParts:
    found = tuple(getattr(mixer, name, None) for name in names)
    linears = tuple(each for each in found if isinstance(each, _LINEAR))
    if len(linears) != len(names):
        raise NotRecognised(f"{type(mixer).__name__} has no plain {'+'.join(names)}")
    return LinearParts(linears)


def _convolution(module: nn.Conv1d, *, has_silu: bool) -> ConvolutionParts:
    return ConvolutionParts(module.weight[:, 0], module.bias, has_silu)


# By the end of a class's name.
_KINDS: dict[str, Callable[[Any], MixerParts]] = {
    "GatedDeltaNet": _delta_net,
    "MambaLayer": _mamba,
    "Mixer": _mamba,
    "ShortConv": _short_conv,
}
