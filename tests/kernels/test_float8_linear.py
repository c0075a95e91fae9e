"""Linear layers with fp8 weights in each instruction set, against the same in float64."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.attention.test_cpu import LOADED, kernels
from yaie.kernels import library_search
from yaie.kernels.decoder_structures import GATED, SET, WEIGHTS
from yaie.kernels.library import Library
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.packing import Packer
from yaie.models.quantization.quantized_weights import QuantizedLinear, QuantizedWeight

__all__ = ["kernels"]

pytestmark = pytest.mark.skipif(LOADED is None, reason=library_search.status().reason)

GATED_SILU = GATED["silu"]


def random_weight(outputs: int, inputs: int, group: int | None) -> QuantizedWeight:
    """Return a weight whose values are all 254 finite ones of e4m3, in any order."""
    codes = torch.randint(0, 254, (outputs, inputs), dtype=torch.uint8)
    codes += codes >= 127  # 0x7f is not a number, and neither is 0xff
    scales = torch.rand(outputs, 1 if group is None else inputs // group) * 0.1 + 0.01
    return QuantizedWeight(8, codes.view(torch.float8_e4m3fn), scales, None)


def compute(
    library: Library,
    weight: QuantizedWeight,
    x: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    store: int = SET,
    exact: bool = False,
) -> torch.Tensor:
    packer = Packer(library, torch.float32, exact=exact)
    parts = LinearParts((QuantizedLinear(weight, bias),))
    linear = packer.pack(parts, gated=store == GATED_SILU)
    assert linear.weights_kind == WEIGHTS["fp8"]
    y = torch.empty(len(x), linear.num_outputs // (2 if store == GATED_SILU else 1))
    library.linear(linear, x.data_ptr(), len(x), y.data_ptr(), store, 0.0)
    return y


def assert_near(found: torch.Tensor, expected: torch.Tensor) -> None:
    limit = 3e-6 * float(expected.abs().max())
    assert torch.allclose(found.double(), expected, atol=limit, rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 16, 33, 100])
@pytest.mark.parametrize(
    ("outputs", "inputs", "group"),
    [
        (64, 256, 128),
        (33, 71, None),
        (200, 96, 32),
        (300, 1100, None),
        (1, 1, None),
        (40, 6, 1),
        (50, 99, 33),
    ],
)
def test_products_equal_those_in_float64(
    kernels: Library, outputs: int, inputs: int, group: int | None, rows: int
) -> None:
    weight = random_weight(outputs, inputs, group)
    x, bias = torch.randn(rows, inputs), torch.randn(outputs)
    wide = weight.dequantize(torch.float32).double()
    assert_near(compute(kernels, weight, x, bias), x.double() @ wide.T + bias.double())


def test_gates_and_values_share_panels(kernels: Library) -> None:
    weight = random_weight(2 * 50, 64, 32)
    x = torch.randn(7, 64)
    both = x.double() @ weight.dequantize(torch.float32).double().T
    expected = nn.functional.silu(both[:, :50]) * both[:, 50:]
    assert_near(compute(kernels, weight, x, store=GATED_SILU), expected)


def test_every_value_of_a_byte_is_exact(kernels: Library) -> None:
    codes = torch.arange(256, dtype=torch.uint8)
    codes = codes[codes % 128 != 127].view(torch.float8_e4m3fn)[:, None].contiguous()
    weight = QuantizedWeight(8, codes, torch.full((254, 1), 0.5), None)
    found = compute(kernels, weight, torch.ones(1, 1))
    assert torch.equal(found[0], codes[:, 0].float() / 2)


def test_an_exact_row_is_independent_of_other_rows(kernels: Library) -> None:
    weight = random_weight(64, 256, 64)
    x = torch.randn(70, 256)
    together = compute(kernels, weight, x, exact=True)
    alone = [compute(kernels, weight, row[None].contiguous(), exact=True) for row in x]
    assert torch.equal(together, torch.cat(alone))
