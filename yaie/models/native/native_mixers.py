"""Native mixers: gated delta nets, Mamba 2 and short convolutions of transformers on kernels.

A mixer is recognised by its modules. Its projections are packed as one product; convolution,
recurrence and gated norm follow in three calls. The executor compares the model's logits with the
original's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from yaie.kernels.decoder_structures import SET, Linear
from yaie.kernels.library import Library
from yaie.kernels.recurrent_structures import MAX_TAPS
from yaie.models.architecture.mixer_hook import ChainedStates, hooked_mixers, replace_mixer
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.packing import Packer
from yaie.models.native.recurrent_layers import (
    GroupNorm,
    HeadRecurrence,
    HeadSizes,
    ShortConvolution,
)

_SILU = ("silu", "swish")

Columns = tuple[torch.Tensor, ...]  # float32, [rows, outputs] each


class _Products:
    """Linear layers of one input, packed together as far as their formats allow."""

    def __init__(self, mixer: Any, names: tuple[str, ...], library: Library, packer: Packer):
        modules = tuple(getattr(mixer, name) for name in names)
        self._library = library
        self._runs: list[tuple[Linear, list[int]]] = [
            (packer.pack(run), [each.out_features for each in run.modules])
            for run in LinearParts(modules).split_by_format()
        ]
        for name in names:
            delattr(mixer, name)

    def __call__(self, x: torch.Tensor) -> Columns:
        """Return each layer's outputs for rows [rows, inputs], contiguous and float32."""
        found: list[torch.Tensor] = []
        for linear, widths in self._runs:
            y = torch.empty(len(x), linear.num_outputs)
            self._library.linear(linear, x.data_ptr(), len(x), y.data_ptr(), SET, 0.0)
            found += torch.split(y, widths, dim=1) if len(widths) > 1 else (y,)
        return tuple(found)


class _DeltaNet:
    """A gated delta net. `project` returns queries, keys and values, gates, steps and gates."""

    def __init__(self, mixer: Any, library: Library, packer: Packer) -> None:
        self._widths = [mixer.key_dim, mixer.key_dim, mixer.value_dim]
        norm = mixer.o_norm if hasattr(mixer, "o_norm") else mixer.norm
        sizes = HeadSizes(mixer.num_v_heads, mixer.num_k_heads, mixer.head_k_dim, mixer.head_v_dim)
        self._sizes = sizes
        self._convolution = _convolution(library, mixer.conv1d, has_silu=True)
        self._recurrence = HeadRecurrence(
            library,
            sizes,
            log_rates=mixer.A_log,
            step_bias=mixer.dt_bias,
            gate_factor=2.0 if getattr(mixer, "allow_neg_eigval", False) else 1.0,
        )
        self._norm = GroupNorm(
            library,
            norm.weight,
            num_groups=sizes.num_heads,
            width=sizes.value_width,
            epsilon=norm.variance_epsilon,
            norm_first=True,
        )
        names, self._arrange = self._projections(mixer)
        self._project = _Products(mixer, names, library, packer)
        output = "o_proj" if hasattr(mixer, "o_proj") else "out_proj"
        self._output = _Products(mixer, (output,), library, packer)

    def _projections(self, mixer: Any) -> tuple[tuple[str, ...], Callable[..., Columns]]:
        """Return the names of projections, and what makes inputs, gates, steps, gates of them."""
        if hasattr(mixer, "in_proj_qkvz"):
            return ("in_proj_qkvz", "in_proj_ba"), self._unmix
        if hasattr(mixer, "in_proj_qkv"):
            apart = ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")
            return apart, lambda inputs, norm, gates, steps: (inputs, norm, steps, gates)
        names = ("q_proj", "k_proj", "v_proj", "g_proj", "b_proj", "a_proj")
        return names, lambda q, k, v, norm, gates, steps: (
            torch.cat((q, k, v), dim=1), norm, steps, gates,
        )  # fmt: skip

    def _unmix(self, mixed: torch.Tensor, gates: torch.Tensor) -> Columns:
        """Sort the outputs of projections whose outputs are grouped by key head."""
        sizes = self._sizes
        ratio = sizes.num_heads // sizes.num_key_heads
        by_head = mixed.view(len(mixed), sizes.num_key_heads, -1)
        widths = [sizes.key_width] * 2 + [ratio * sizes.value_width] * 2
        *inputs, norm = (each.flatten(1) for each in torch.split(by_head, widths, dim=2))
        halves = gates.view(len(gates), sizes.num_key_heads, 2 * ratio).chunk(2, dim=2)
        gate, step = (each.flatten(1).contiguous() for each in halves)
        return torch.cat(inputs, dim=1), norm, step, gate

    def compute(self, x: torch.Tensor, chained: ChainedStates) -> torch.Tensor:
        inputs, norm_gates, steps, gates = self._arrange(*self._project(x))
        q, k, v = torch.split(self._convolution(inputs, chained), self._widths, dim=1)
        y = self._recurrence(q, k, v, steps=steps, gates=gates, chained=chained)
        return self._output(self._norm(y, norm_gates))[0]


class _ShortConv:
    """A convolution between two products with other projections (LFM2)."""

    def __init__(self, mixer: Any, library: Library, packer: Packer) -> None:
        self._convolution = _convolution(library, mixer.conv, has_silu=False)
        self._project = _Products(mixer, ("in_proj",), library, packer)
        self._output = _Products(mixer, ("out_proj",), library, packer)

    def compute(self, x: torch.Tensor, chained: ChainedStates) -> torch.Tensor:
        before, after, inputs = self._project(x)[0].chunk(3, dim=1)
        y = self._convolution(before * inputs, chained)
        return self._output(y.mul_(after))[0]


class _Mamba:
    """A Mamba 2 mixer."""

    def __init__(self, mixer: Any, library: Library, packer: Packer) -> None:
        inner, state = mixer.intermediate_size, mixer.ssm_state_size
        groups = mixer.n_groups * state
        self._widths = [inner, inner + 2 * groups, mixer.num_heads]
        self._parts = [inner, groups, groups]
        self._in_factor = float(getattr(mixer, "ssm_in_multiplier", 1.0))
        factors = getattr(mixer, "mup_vector", None)
        self._factors = None if factors is None else factors.detach().float().flatten()
        self._convolution = _convolution(library, mixer.conv1d, has_silu=True)
        low, high = (float(each) for each in mixer.time_step_limit)
        self._recurrence = HeadRecurrence(
            library,
            HeadSizes(mixer.num_heads, mixer.n_groups, state, mixer.head_dim),
            log_rates=mixer.A_log,
            step_bias=mixer.dt_bias,
            skip=mixer.D,
            limits=(low, high),
        )
        self._norm = _mamba_norm(mixer, library)
        self._project = _Products(mixer, ("in_proj",), library, packer)
        self._output = _Products(mixer, ("out_proj",), library, packer)

    def compute(self, x: torch.Tensor, chained: ChainedStates) -> torch.Tensor:
        if self._in_factor != 1.0:
            x = x * self._in_factor
        projected = self._project(x)[0]
        if self._factors is not None:
            projected *= self._factors
        norm_gates, inputs, steps = torch.split(projected, self._widths, dim=1)
        values, keys, queries = torch.split(self._convolution(inputs, chained), self._parts, dim=1)
        y = self._recurrence(queries, keys, values, steps=steps, gates=None, chained=chained)
        return self._output(self._norm(y, norm_gates))[0]


def _mamba_norm(mixer: Any, library: Library) -> GroupNorm:
    width, norm = mixer.intermediate_size, mixer.norm
    if isinstance(norm, nn.Identity):
        return GroupNorm(library, None, num_groups=1, width=width)
    size = getattr(norm, "group_size", None)
    groups = width // size if size else norm.n_groups
    return GroupNorm(
        library,
        norm.weight,
        num_groups=groups,
        width=width // groups,
        epsilon=norm.variance_epsilon,
        norm_first=bool(getattr(norm, "norm_before_gate", False)),
    )


def _convolution(library: Library, module: nn.Conv1d, *, has_silu: bool) -> ShortConvolution:
    return ShortConvolution(library, module.weight[:, 0], module.bias, has_silu=has_silu)


# By the end of a class's name.
_KINDS: dict[str, type[_DeltaNet] | type[_Mamba] | type[_ShortConv]] = {
    "GatedDeltaNet": _DeltaNet,
    "MambaLayer": _Mamba,
    "Mixer": _Mamba,
    "ShortConv": _ShortConv,
}


def pack_mixers(model: nn.Module, library: Library, packer: Packer) -> int:
    """Have the library compute each known mixer of a model; return the number of other mixers."""
    num_other = 0
    for module in hooked_mixers(model):
        kind = _kind_of(module)
        if kind is None:
            num_other += 1
            continue
        replace_mixer(module, _in_float32(kind(module, library, packer).compute))
    return num_other


def _kind_of(module: Any) -> type[_DeltaNet] | type[_Mamba] | type[_ShortConv] | None:
    name = type(module).__name__
    kind = next((kind for end, kind in _KINDS.items() if name.endswith(end)), None)
    taps = getattr(module, "conv_kernel_size", MAX_TAPS + 1)
    if taps > MAX_TAPS or getattr(module, "activation", "silu") not in _SILU:
        return None
    return kind


def _in_float32(
    compute: Callable[[torch.Tensor, ChainedStates], torch.Tensor],
) -> Callable[[torch.Tensor, ChainedStates], torch.Tensor]:
    def run(hidden: torch.Tensor, chained: ChainedStates) -> torch.Tensor:
        return compute(hidden[0].float().contiguous(), chained).to(hidden.dtype)[None]

    return run
