"""Linear layers with bf16 weights in each instruction set, against the same in float64."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.attention.test_cpu import LOADED, kernels
from tests.rounding_sets import ROUNDING_SETS
from yaie.kernels import library_search
from yaie.kernels.decoder_structures import GATED, SET
from yaie.kernels.library import Library
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.packing import Packer

__all__ = ["kernels"]

pytestmark = pytest.mark.skipif(LOADED is None, reason=library_search.status().reason)

ADD = 1


def compute(
    library: Library, weight: torch.Tensor, x: torch.Tensor, y: torch.Tensor, *,
    bias: torch.Tensor | None = None, store: int = SET,
) -> torch.Tensor:  # fmt: skip
    module = nn.Linear(1, 1, bias=bias is not None).requires_grad_(False)
    module.weight.data = weight.clone()
    module.out_features, module.in_features = weight.shape
    if bias is not None:
        module.bias.data = bias
    packer = Packer(library, torch.bfloat16)
    linear = packer.pack(LinearParts((module,)), gated=store in GATED.values())
    library.linear(linear, x.data_ptr(), len(x), y.data_ptr(), store, 0.5)
    return y


def as_read(library: Library, x: torch.Tensor) -> torch.Tensor:
    """Return the rows as the set in use multiplies them, in float64."""
    return (x.bfloat16() if library.instruction_set in ROUNDING_SETS else x).double()


def assert_near(found: torch.Tensor, expected: torch.Tensor) -> None:
    limit = 3e-6 * float(expected.abs().max())
    assert torch.allclose(found.double(), expected, atol=limit, rtol=1e-5)


SHAPES = [(32, 64), (33, 71), (1, 1), (200, 32), (300, 1100), (600, 640)]  # outputs, inputs


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [1, 2, 4, 7, 16, 17, 32, 33, 61, 100])
def test_products_equal_those_in_float64(
    kernels: Library, shape: tuple[int, int], rows: int
) -> None:
    outputs, inputs = shape
    torch.manual_seed(rows)
    weight = torch.randn(outputs, inputs).bfloat16()
    x, bias = torch.randn(rows, inputs), torch.randn(outputs)
    found = compute(kernels, weight, x, torch.full((rows, outputs), torch.nan), bias=bias)
    assert_near(found, as_read(kernels, x) @ weight.double().T + bias.double())


def test_rows_rounded_to_bf16_are_near_to_float32(kernels: Library) -> None:
    """Inputs move by at most 2^-9 at random, and sums by far less than their terms."""
    weight, x = torch.randn(64, 1024).bfloat16(), torch.randn(40, 1024)
    found = compute(kernels, weight, x, torch.empty(40, 64)).double()
    truth = x.double() @ weight.double().T
    assert float((found - truth).norm() / truth.norm()) < 2**-9


@pytest.mark.parametrize("rows", [3, 33, 40])
@pytest.mark.parametrize("outputs", [40, 64])
def test_results_can_be_added_to_the_output(kernels: Library, outputs: int, rows: int) -> None:
    weight = torch.randn(outputs, 70).bfloat16()
    x, before = torch.randn(rows, 70), torch.randn(rows, outputs)
    found = compute(kernels, weight, x, before.clone(), store=ADD)
    assert_near(found, before.double() + 0.5 * (as_read(kernels, x) @ weight.double().T))


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("rows", [3, 40])
def test_gates_and_values_share_panels(kernels: Library, name: str, rows: int) -> None:
    weight, x = torch.randn(2 * 50, 70).bfloat16() / 8, torch.randn(rows, 70)
    found = compute(kernels, weight, x, torch.empty(rows, 50), store=GATED[name])
    both = as_read(kernels, x) @ weight.double().T
    gate = both[:, :50]
    gelu = nn.functional.gelu(gate, approximate="tanh")
    act = nn.functional.silu(gate) if name == "silu" else gelu
    assert_near(found, act * both[:, 50:])


@pytest.mark.parametrize("store", [SET, ADD, GATED["silu"]])
@pytest.mark.parametrize("outputs", [2048, 2050])
def test_results_larger_than_caches(kernels: Library, outputs: int, store: int) -> None:
    """Several blocks of rows, and results stored non-temporally."""
    kernels.threads = 2
    weight, x = torch.randn(outputs, 40).bfloat16(), torch.randn(700, 40)
    width = outputs // 2 if store == GATED["silu"] else outputs
    whole = compute(kernels, weight, x, torch.ones(700, width), store=store)
    rows = [slice(at, at + 40) for at in range(0, 700, 40)]
    parts = [compute(kernels, weight, x[at].clone(), torch.ones(len(x[at]), width), store=store)
             for at in rows]  # fmt: skip
    if kernels.instruction_set in ROUNDING_SETS:  # these are batch-invariant
        assert torch.equal(whole, torch.cat(parts))
    torch.testing.assert_close(whole, torch.cat(parts), atol=1e-5, rtol=1e-5)


def test_rows_are_independent(kernels: Library) -> None:
    """Of rows in earlier calls, whose memory is reused, and of rows in the same call."""
    weight = torch.randn(64, 100).bfloat16()
    x = torch.randn(5, 100)
    expected = compute(kernels, weight, x, torch.empty(5, 64))
    compute(kernels, weight, torch.full((64, 100), torch.nan), torch.empty(64, 64))
    assert torch.equal(compute(kernels, weight, x, torch.empty(5, 64)), expected)
    spoilt = x.clone()
    spoilt[3] = torch.inf
    found = compute(kernels, weight, spoilt, torch.empty(5, 64))
    assert not found[3].isfinite().any()
    kept = [0, 1, 2, 4]
    assert torch.equal(found[kept], expected[kept])
