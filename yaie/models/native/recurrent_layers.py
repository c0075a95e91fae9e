"""Recurrent layers in the kernel library: convolutions, recurrences and gated norms by their calls.

Inputs and outputs are float32, and may be columns of wider rows. States stay in the pool: kernels
start from them and replace them in place. They order a state's numbers differently than
transformers does, so a pool serves one of the two.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import torch

from yaie.kernels.library import Library
from yaie.kernels.recurrent_structures import Convolution, GatedNorm, Recurrence, States
from yaie.kvcache.state_pool import StateKey
from yaie.models.architecture.mixer_hook import ChainedStates

_CONV: StateKey = ("conv", 0)
_RECURRENT: StateKey = ("recurrent", 0)
NO_LIMIT = 3e38


class ShortConvolution:
    """A convolution of each channel, then silu if wanted."""

    def __init__(
        self, library: Library, weights: torch.Tensor, bias: torch.Tensor | None, *, has_silu: bool
    ) -> None:
        """`weights` [channels, taps], the latest input's last."""
        self._library = library
        self._weights = weights.detach().float().T.contiguous()
        self._bias = None if bias is None else bias.detach().float().contiguous()
        self._call = Convolution(
            weights=self._weights.data_ptr(),
            bias=_address(self._bias),
            num_taps=self._weights.shape[0],
            num_channels=self._weights.shape[1],
            has_silu=has_silu,
        )

    def __call__(self, x: torch.Tensor, chained: ChainedStates) -> torch.Tensor:
        """Return the outputs [rows, channels] for inputs of that shape."""
        y = torch.empty(x.shape)
        call = self._call
        call.x, call.x_stride = _rows(x)
        call.y, call.y_stride = _rows(y)
        call.chains, call.num_chains = chained.chains.data_ptr(), len(chained.chains)
        call.states = _states(chained, _CONV)
        self._library.convolution(ctypes.byref(call))
        return y


@dataclass(frozen=True, slots=True)
class HeadSizes:
    """The heads of a recurrence. Each key head serves neighbouring heads."""

    num_heads: int
    num_key_heads: int
    key_width: int
    value_width: int


class HeadRecurrence:
    """A gated delta rule, or a scan of a state space (Mamba 2)."""

    def __init__(
        self,
        library: Library,
        sizes: HeadSizes,
        *,
        log_rates: torch.Tensor,
        step_bias: torch.Tensor,
        skip: torch.Tensor | None = None,
        gate_factor: float | None = None,
        limits: tuple[float, float] = (0.0, NO_LIMIT),
    ) -> None:
        """`gate_factor`: the delta rule's; None for a scan. `limits` of steps."""
        self._library = library
        self._width = sizes.num_heads * sizes.value_width
        self._numbers = [
            -log_rates.detach().float().exp().contiguous(),
            step_bias.detach().float().contiguous(),
        ]
        if skip is not None:
            self._numbers.append(skip.detach().float().contiguous())
        self._call = Recurrence(
            rates=self._numbers[0].data_ptr(),
            step_bias=self._numbers[1].data_ptr(),
            skip=None if skip is None else self._numbers[2].data_ptr(),
            num_heads=sizes.num_heads,
            num_key_heads=sizes.num_key_heads,
            key_width=sizes.key_width,
            value_width=sizes.value_width,
            is_delta_rule=gate_factor is not None,
            gate_factor=gate_factor or 0.0,
            min_step=max(limits[0], 0.0),
            max_step=min(limits[1], NO_LIMIT),
        )

    def __call__(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        *,
        steps: torch.Tensor,
        gates: torch.Tensor | None,
        chained: ChainedStates,
    ) -> torch.Tensor:
        """Return the results [rows, heads * value width].

        The first three are columns of the same rows; the delta rule normalizes queries and keys in
        place. Steps and gates are [rows, heads].
        """
        y = torch.empty(len(values), self._width)
        call = self._call
        (call.queries, _), (call.keys, _) = _rows(queries), _rows(keys)
        call.values, call.row_stride = _rows(values)
        call.steps, call.step_stride = _rows(steps)
        if gates is not None:
            call.gates, call.gate_stride = _rows(gates)
        call.y, call.num_rows = y.data_ptr(), len(y)
        call.chains, call.num_chains = chained.chains.data_ptr(), len(chained.chains)
        call.states = _states(chained, _RECURRENT)
        self._library.recurrence(ctypes.byref(call))
        return y


class GroupNorm:
    """An RMS norm of groups of a row, and a product with silu(gate) if there is a gate."""

    def __init__(
        self,
        library: Library,
        weight: torch.Tensor | None,
        *,
        num_groups: int,
        width: int,
        epsilon: float = 0.0,
        norm_first: bool = False,
    ) -> None:
        """`weight` [width], or [num_groups * width]; without one there is no norm."""
        self._library = library
        self._weight = None if weight is None else weight.detach().float().contiguous()
        is_shared = self._weight is None or self._weight.numel() == width
        self._call = GatedNorm(
            weight=_address(self._weight),
            weight_stride=0 if is_shared else width,
            num_groups=num_groups,
            width=width,
            norm_first=norm_first,
            epsilon=epsilon,
        )

    def __call__(self, x: torch.Tensor, gate: torch.Tensor | None = None) -> torch.Tensor:
        """Return the result for x [rows, groups * width], which is contiguous."""
        assert x.is_contiguous()
        y = torch.empty_like(x)
        call = self._call
        call.x, call.y, call.num_rows = x.data_ptr(), y.data_ptr(), len(x)
        call.gate, call.gate_stride = (None, 0) if gate is None else _rows(gate)
        self._library.gated_norm(ctypes.byref(call))
        return y


def _rows(x: torch.Tensor) -> tuple[int, int]:
    """Return the address of rows, and their stride; kernels read a row's numbers side by side."""
    assert x.stride(1) == 1 or x.shape[1] == 1
    return x.data_ptr(), x.stride(0)


def _address(tensor: torch.Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _states(chained: ChainedStates, key: StateKey) -> States:
    pool = chained.states[key]
    return States(pool.data_ptr(), chained.spare[key].data_ptr(), len(pool), pool.stride(0))
