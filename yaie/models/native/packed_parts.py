"""Packed parts of layers: gated MLPs and norms of a model that transformers runs, on kernels.

An MLP is two calls of the library, with its activation inside the first; a norm is one call.
"""

from __future__ import annotations

import inspect

import torch
from torch import nn

from yaie.kernels.decoder_structures import GATED, SET, Linear
from yaie.kernels.library import Library
from yaie.models.native.decoder_structure import (
    GatedMlp,
    NotRecognised,
    gated_mlp_of,
    norm_of,
)
from yaie.models.native.packing import Packer
from yaie.models.native.recurrent_layers import GroupNorm, GroupNormParts


class PackedNorm(nn.Module):
    """An RMS norm, in float32."""

    def __init__(self, library: Library, weight: torch.Tensor, epsilon: float) -> None:
        super().__init__()
        # Some layers read its dtype.
        self.weight = nn.Parameter(weight.float(), requires_grad=False)
        parts = GroupNormParts(
            weight, num_groups=1, width=weight.numel(), epsilon=epsilon, norm_first=True
        )
        self._norm = GroupNorm(library, parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize rows [..., width], in x's dtype."""
        rows = x.reshape(-1, x.shape[-1]).float().contiguous()
        return self._norm(rows).to(x.dtype).view(x.shape)


class PackedMlp(nn.Module):
    """down(activation(gate) * value) by the kernel library, in float32."""

    def __init__(self, library: Library, gate_up: Linear, down: Linear, activation: str) -> None:
        super().__init__()
        self._library = library
        self._gate_up, self._down, self._store = gate_up, down, GATED[activation]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map rows [..., hidden] to rows of that shape, in x's dtype."""
        rows = x.reshape(-1, x.shape[-1]).float().contiguous()
        count = len(rows)
        inner = torch.empty(count, self._down.num_inputs)
        y = torch.empty(count, self._down.num_outputs)
        self._library.linear(
            self._gate_up, rows.data_ptr(), count, inner.data_ptr(), self._store, 0.0
        )
        self._library.linear(self._down, inner.data_ptr(), count, y.data_ptr(), SET, 0.0)
        return y.to(x.dtype).view(*x.shape[:-1], y.shape[-1])


def pack_norms(model: nn.Module, library: Library) -> None:
    """Replace the RMS norms of a model with float32 rows by the kernel library's."""
    for name, module in list(model.named_modules()):
        if "Norm" not in type(module).__name__ or isinstance(module, PackedNorm):
            continue
        if len(inspect.signature(module.forward).parameters) > 1:  # it takes a gate
            continue
        try:
            norm = norm_of(module)
        except NotRecognised:
            continue
        if norm.is_rms:
            model.set_submodule(name, PackedNorm(library, norm.factors, norm.epsilon))


def pack_mlps(model: nn.Module, library: Library, packer: Packer, dtype: torch.dtype) -> None:
    """Replace a model's gated MLPs by packed ones; `dtype` is the model's."""
    for name, module in list(model.named_modules()):
        found = gated_mlp_of(module)
        if found is None or len(found.gate_up.split_by_format()) > 1:
            continue
        if not _is_plain(module, found, dtype):
            continue
        packed = PackedMlp(
            library,
            packer.pack(found.gate_up, gated=True),
            packer.pack(found.down),
            found.activation,
        )
        model.set_submodule(name, packed)


def _is_plain(module: nn.Module, parts: GatedMlp, dtype: torch.dtype) -> bool:
    """Return True if an MLP computes what its parts say, with no further factors."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, parts.gate_up.modules[0].in_features, generator=generator).to(dtype)
    expected, found = parts.compute(x).float(), module(x)
    if not isinstance(found, torch.Tensor):
        return False
    # Both are sums of the same products: a difference beyond rounding is a factor.
    tolerance = max(1e-4, torch.finfo(dtype).eps / 2)
    return bool((found.float() - expected).norm() <= tolerance * expected.norm())
