"""The product kernels against float64; `test_interpreted` runs it, with Triton interpreted.

Outputs and partial sums start as NaN, and rows lie between columns of NaN.
"""

from __future__ import annotations

import os
import random

import pytest
import torch

from tests.attention.tree_decode.interpreter import nan_in_new_tensors, right_rounding  # noqa: F401
from tests.models.fused.interpreted_operations import strided
from tests.models.quantized_device.cases import Layer, packed
from yaie.models.quantization.device.device_weights import join
from yaie.models.quantization.device.launch import TritonProducts

IS_LARGE = os.environ.get("PRODUCTS_SET") == "large"
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
# Of the largest output: rounding of the output, and in mixed groups of each weight.
TOLERANCE = {FP32: 2e-6, BF16: 2**-8, FP16: 2**-11}

LAYERS = [
    Layer("int4", 96, 256, 4, has_points=True),
    Layer("int4", 33, 192, 3, has_points=True),  # the two halves of a byte have unequal runs
    Layer("int4", 64, 4096, 32, has_points=True),  # cut along the inputs
    Layer("int4", 70, 130),
    Layer("int4", 20, 72, 9),  # groups of 8
    Layer("int8", 64, 128, scale_dtype=FP32),
    Layer("int8", 65, 1027, scale_dtype=FP32),
    Layer("int8", 40, 256, 8, has_points=True, scale_dtype=FP16),
    Layer("int8", 24, 36, 3, has_points=True),  # groups of 12
    Layer("fp8", 64, 256, 2, scale_dtype=FP32),
    Layer("fp8", 48, 200, scale_dtype=FP32),
]
ROWS = [1, 5, 40, 130]


def check(layer: Layer, rows: int, dtype: torch.dtype, *, has_bias: bool) -> None:
    weight, device_weight = packed(layer)
    x = strided(rows, layer.inputs, dtype)
    bias = torch.randn(layer.outputs).to(dtype) if has_bias else None
    wide = torch.full((rows, layer.outputs + 7), torch.nan, dtype=dtype)
    output = wide[:, 3 : 3 + layer.outputs]
    TritonProducts().multiply(x, device_weight, bias, output)
    exact = x.double() @ _float64(weight).T
    if bias is not None:
        exact = exact + bias.double()
    tolerance = TOLERANCE[dtype] * (2 if device_weight.packing.is_mixed else 1)
    error = float((output.double() - exact).abs().max())
    assert error <= tolerance * float(exact.abs().max()), (layer.name, rows, dtype)
    assert wide[:, :3].isnan().all() and wide[:, 3 + layer.outputs :].isnan().all()


def _float64(weight) -> torch.Tensor:  # type: ignore[no-untyped-def]
    numbers = weight.values.double().view(len(weight.values), weight.scales.shape[1], -1)
    if weight.zero_points is not None:
        numbers = numbers - weight.zero_points[..., None]
    return (numbers * weight.scales[..., None].double()).flatten(1)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
@pytest.mark.parametrize("rows", ROWS)
def test_products(layer: Layer, rows: int) -> None:
    dtypes = (BF16, FP16, FP32) if rows == 5 or IS_LARGE else (BF16,)
    for dtype in dtypes:
        check(layer, rows, dtype, has_bias=rows != 1)


def test_no_rows() -> None:
    _, weight = packed(LAYERS[0])
    TritonProducts().multiply(torch.empty(0, 256), weight, None, torch.empty(0, 96))


def test_parts_and_joined_layers_give_the_same_bits() -> None:
    first, second = (packed(Layer("int4", n, 128, 2, has_points=n == 48))[1] for n in (80, 48))
    joined = join([first, second])
    x = torch.randn(3, 128).to(BF16)
    whole, apart = torch.empty(3, 128, dtype=BF16), torch.empty(3, 128, dtype=BF16)
    TritonProducts().multiply(x, joined, None, whole)
    for begin, end in ((0, 80), (80, 128)):
        TritonProducts().multiply(x, joined.part(begin, end), None, apart[:, begin:end])
    assert torch.equal(whole, apart)
    TritonProducts().multiply(x, first, None, apart[:, :80])
    TritonProducts().multiply(x, second, None, apart[:, 80:])
    assert torch.equal(whole, apart)


@pytest.mark.parametrize("seed", range(80 if IS_LARGE else 8))
def test_random_shapes(seed: int) -> None:
    chosen = random.Random(seed)
    torch.manual_seed(seed)
    group = chosen.choice([4, 8, 12, 16, 24, 32, 48, 64, 128, 256])
    groups = chosen.choice([1, 2, 3, 5, 8])
    kind = chosen.choice(["int4", "int8", "fp8"])
    inputs = chosen.randint(1, 700) if groups == 1 else group * groups
    layer = Layer(
        kind,  # type: ignore[arg-type]
        chosen.randint(1, 150),
        inputs,
        groups,
        has_points=kind != "fp8" and chosen.random() < 0.5,
        scale_dtype=chosen.choice([BF16, FP16, FP32]),
    )
    dtype = chosen.choice([BF16, BF16, FP16, FP32])
    check(layer, chosen.randint(1, 300), dtype, has_bias=chosen.random() < 0.5)
