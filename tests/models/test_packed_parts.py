"""MLPs and norms of transformers' layers on kernels."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from yaie.kernels.library import Library
from yaie.models.native.packed_parts import PackedMlp, PackedNorm, pack_mlps, pack_norms
from yaie.models.native.packing import Packer

WIDTH, INNER = 48, 80


class _OffsetNorm(nn.Module):
    """A norm with an offset, as some families have."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH) / 4, requires_grad=False)
        self.eps = 1e-5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
        return scaled * (1.0 + self.weight)


class _GatedNorm(_OffsetNorm):
    """A norm that may be given a gate."""

    def forward(self, x: torch.Tensor, gate: torch.Tensor | None = None) -> torch.Tensor:
        scaled = super().forward(x)
        return scaled if gate is None else scaled * gate


class _NormOfRows(_OffsetNorm):
    """A norm of rows only."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _, _ = x.shape
        return super().forward(x)


class _Mlp(nn.Module):
    """A gated MLP, with a factor on its result."""

    def __init__(self, factor: float, activation: nn.Module) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, INNER, bias=False)
        self.up_proj = nn.Linear(WIDTH, INNER, bias=False)
        self.down_proj = nn.Linear(INNER, WIDTH, bias=False)
        self.act_fn = activation
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gated = self.act_fn(self.gate_proj(x)) * self.up_proj(x)
        result: torch.Tensor = self.down_proj(gated) * self.factor
        return result


def test_norms_are_replaced(library: Library) -> None:
    torch.manual_seed(0)
    model = nn.ModuleDict({"norm": _OffsetNorm(), "layer_norm": nn.LayerNorm(WIDTH)})
    x = torch.randn(2, 3, WIDTH)
    expected = model["norm"](x)
    pack_norms(model, library)
    assert isinstance(model["norm"], PackedNorm)
    assert isinstance(model["layer_norm"], nn.LayerNorm)
    torch.testing.assert_close(model["norm"](x), expected, rtol=1e-5, atol=1e-5)
    assert model["norm"](x.bfloat16()).dtype is torch.bfloat16


def test_a_norm_of_another_call_stays(library: Library) -> None:
    model = nn.ModuleDict({"gated": _GatedNorm(), "of_rows": _NormOfRows()})
    pack_norms(model, library)
    assert isinstance(model["gated"], _GatedNorm)
    assert isinstance(model["of_rows"], _NormOfRows)


@pytest.mark.parametrize("activation", [nn.SiLU(), nn.GELU(approximate="tanh")])
def test_gated_mlps_are_replaced(library: Library, activation: nn.Module) -> None:
    torch.manual_seed(0)
    model = nn.ModuleDict({"mlp": _Mlp(1.0, activation)})
    x = torch.randn(2, 3, WIDTH)
    packer = Packer(library, torch.float32)
    with torch.inference_mode():
        expected = model["mlp"](x)
        pack_mlps(model, library, packer, torch.float32)
        assert isinstance(model["mlp"], PackedMlp)
        torch.testing.assert_close(model["mlp"](x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_mlp_with_a_factor_stays(library: Library, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = nn.ModuleDict({str(number): _Mlp(1 - number / 100, nn.SiLU()) for number in (0, 4, 50)})
    pack_mlps(model.to(dtype), library, Packer(library, dtype), dtype)
    assert [type(each) for each in model.values()] == [PackedMlp, _Mlp, _Mlp]
