"""Recurrent layers in the kernel library: structures of convolutions, recurrences and gated norms.

Their numbers are copied in float32. States stay in the pool: kernels start from them and replace
them in place. They order a state's numbers differently than transformers does, so a pool serves one
of the two.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Protocol

import torch

from yaie.kernels.library import Library
from yaie.kernels.recurrent_structures import Convolution, GatedNorm, Recurrence, States

NO_LIMIT = 3e38


class FloatMemory(Protocol):
    """The owner of numbers that structures point to, such as a `Packer`."""

    def floats(self, tensor: torch.Tensor) -> int:
        """Copy a tensor in float32 and return the copy's address."""


class HeldFloats:
    """A few numbers of one layer. Implements `FloatMemory`."""

    def __init__(self) -> None:
        self._held: list[torch.Tensor] = []

    def floats(self, tensor: torch.Tensor) -> int:
        """See `FloatMemory.floats`."""
        copied = tensor.detach().to(torch.float32, copy=True).contiguous()
        self._held.append(copied)
        return copied.data_ptr()


@dataclass(frozen=True, slots=True)
class ConvolutionParts:
    """A convolution of each channel, then silu if wanted."""

    weights: torch.Tensor  # [channels, taps], the latest input's last
    bias: torch.Tensor | None
    has_silu: bool

    def structure(self, memory: FloatMemory) -> Convolution:
        """Return the structure without inputs, outputs, chains and states."""
        channels, taps = self.weights.shape
        return Convolution(
            weights=memory.floats(self.weights.T),
            bias=None if self.bias is None else memory.floats(self.bias),
            num_taps=taps,
            num_channels=channels,
            has_silu=self.has_silu,
        )


@dataclass(frozen=True, slots=True)
class HeadSizes:
    """The heads of a recurrence. Each key head serves neighbouring heads, or one of each tile."""

    num_heads: int
    num_key_heads: int
    key_width: int
    value_width: int
    has_tiles: bool = False  # a tile has a head of each key head


@dataclass(frozen=True, slots=True)
class RecurrenceParts:
    """A gated delta rule, or a scan of a state space (Mamba 2)."""

    sizes: HeadSizes
    log_rates: torch.Tensor  # [heads], as the next two
    step_bias: torch.Tensor
    skip: torch.Tensor | None = None
    gate_factor: float | None = None  # the delta rule's; None for a scan
    limits: tuple[float, float] = (0.0, NO_LIMIT)  # of steps

    def structure(self, memory: FloatMemory) -> Recurrence:
        """Return the structure without inputs, outputs, chains and states."""
        sizes = self.sizes
        return Recurrence(
            rates=memory.floats(-self.log_rates.detach().float().exp()),
            step_bias=memory.floats(self.step_bias),
            skip=None if self.skip is None else memory.floats(self.skip),
            num_heads=sizes.num_heads,
            num_key_heads=sizes.num_key_heads,
            key_width=sizes.key_width,
            value_width=sizes.value_width,
            is_delta_rule=self.gate_factor is not None,
            gate_factor=self.gate_factor or 0.0,
            min_step=max(self.limits[0], 0.0),
            max_step=min(self.limits[1], NO_LIMIT),
            has_tiles=sizes.has_tiles,
        )


@dataclass(frozen=True, slots=True)
class GroupNormParts:
    """An RMS norm of groups of a row, and a product with silu(gate)."""

    weight: torch.Tensor | None  # [width], or [num_groups * width]; without one there is no norm
    num_groups: int
    width: int
    epsilon: float = 0.0
    norm_first: bool = False

    def structure(self, memory: FloatMemory) -> GatedNorm:
        """Return the structure without rows."""
        is_shared = self.weight is None or self.weight.numel() == self.width
        return GatedNorm(
            weight=None if self.weight is None else memory.floats(self.weight),
            weight_stride=0 if is_shared else self.width,
            num_groups=self.num_groups,
            width=self.width,
            norm_first=self.norm_first,
            epsilon=self.epsilon,
        )


class GroupNorm:
    """A group norm by the library."""

    def __init__(self, library: Library, parts: GroupNormParts) -> None:
        self._library = library
        self._memory = HeldFloats()
        self._call = parts.structure(self._memory)

    def __call__(self, x: torch.Tensor, gate: torch.Tensor | None = None) -> torch.Tensor:
        """Return the result for x [rows, groups * width], which is contiguous."""
        assert x.is_contiguous()
        y = torch.empty_like(x)
        call = self._call
        call.x, call.y, call.num_rows = x.data_ptr(), y.data_ptr(), len(x)
        call.gate, call.gate_stride = (None, 0) if gate is None else rows_of(gate)
        self._library.gated_norm(ctypes.byref(call))
        return y


def rows_of(x: torch.Tensor) -> tuple[int, int]:
    """Return the address of rows, and their stride; kernels read a row's numbers side by side."""
    assert x.stride(1) == 1 or x.shape[1] == 1
    return x.data_ptr(), x.stride(0)


def states_of(pool: torch.Tensor) -> States:
    """Return the structure of a layer's states [slots, ...], without spare ones."""
    return States(slots=pool.data_ptr(), num_slots=len(pool), stride=pool.stride(0))
