"""Batch-invariant linear layers: the number of other rows does not change a row's bits."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.attention.test_cpu import LOADED, kernels
from yaie.kernels import library_search
from yaie.kernels.decoder_structures import GATED, WEIGHTS
from yaie.kernels.library import Library
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.packing import Packer
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.quantized_weights import QuantizedLinear

__all__ = ["kernels"]

pytestmark = pytest.mark.skipif(LOADED is None, reason=library_search.status().reason)

MOST_ROWS = 64  # above four tiles of every instruction set, panels are upcast first
STORES = {"set": 0, "add": 1, **GATED}


class Layer:
    """A packed linear layer of random weights."""

    def __init__(self, kernels: Library, inputs: int, outputs: int, kind: str, exact: bool) -> None:
        self.kernels = kernels
        self.outputs = outputs
        torch.manual_seed(inputs)
        dtype = torch.bfloat16 if kind == "bfloat16" else torch.float32
        module: nn.Linear | QuantizedLinear = nn.Linear(inputs, outputs).to(dtype)
        self.weight = module.weight.detach().double()
        bias = module.bias.detach()
        self.bias = bias.double()
        if kind in ("int8", "int4"):
            quantized = quantize_weight(module.weight, kind)
            self.weight = quantized.dequantize(torch.float32).double()
            module = QuantizedLinear(quantized, bias)
        self.packer = Packer(kernels, dtype, exact=exact)
        self.fields = self.packer.pack(LinearParts((module,)))

    def __call__(self, x: torch.Tensor, store: str = "set") -> torch.Tensor:
        width = self.outputs // 2 if store in GATED else self.outputs
        y = torch.ones(len(x), width)
        self.kernels.linear(self.fields, x.data_ptr(), len(x), y.data_ptr(), STORES[store], 0.7)
        return y


def differing(layer: Layer, inputs: int, store: str) -> list[int]:
    """Return the row counts with which a row differs from its result alone."""
    x = torch.randn(MOST_ROWS, inputs)
    alone = torch.cat([layer(x[row : row + 1].clone(), store) for row in range(MOST_ROWS)])
    counts = range(1, MOST_ROWS + 1)
    return [n for n in counts if not torch.equal(layer(x[:n].clone(), store), alone[:n])]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("inputs", [64, 101, pytest.param(1000, marks=pytest.mark.integration)])
def test_any_number_of_rows_gives_the_same_bits(
    kernels: Library, inputs: int, kind: str, threads: int
) -> None:
    kernels.threads = threads
    layer = Layer(kernels, inputs, 200, kind, exact=True)
    for store in STORES:
        assert differing(layer, inputs, store) == []


def test_results_equal_those_in_float64(kernels: Library) -> None:
    layer = Layer(kernels, 100, 72, "float32", exact=True)
    x = torch.randn(5, 100)
    expected = x.double() @ layer.weight.T + layer.bias
    torch.testing.assert_close(layer(x).double(), expected, atol=1e-5, rtol=1e-5)


def test_without_the_option_bits_differ(kernels: Library) -> None:
    """The tests above can fail."""
    assert differing(Layer(kernels, 1000, 200, "float32", exact=False), 1000, "set")
