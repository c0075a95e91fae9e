"""Linear layers with quantized weights in each instruction set, against float64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from yaie.kernels import library_search as kernels
from yaie.kernels.decoder_structures import GATED, SET
from yaie.kernels.library import Library
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.packing import Packer
from yaie.models.quantization.quantized_weights import QuantizedLinear, QuantizedWeight

ADD, GATED_SILU = 1, GATED["silu"]


@pytest.fixture(params=["amx", "bf16", "vnni", "avx512", "avx2", "portable"])
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    loaded = kernels.load()
    if loaded is None:
        pytest.skip(f"no kernel library: {kernels.status().reason}")
    if request.param not in loaded.instruction_sets:
        pytest.skip(f"this processor or this library has no {request.param}")
    before, threads = loaded.instruction_set, loaded.threads
    loaded.use_instruction_set(request.param)
    loaded.threads = 2
    yield loaded
    loaded.use_instruction_set(before)
    loaded.threads = threads


def random_weight(
    outputs: int, inputs: int, bits: int, group: int | None = None, *, asymmetric: bool = False
) -> QuantizedWeight:
    least, most = (-128, 127) if bits == 8 else (-8, 7)
    groups = 1 if group is None else inputs // group
    points = torch.randint(least, most + 1, (outputs, groups), dtype=torch.int8)
    scales = torch.rand(outputs, groups) * 0.1 + 0.01
    return QuantizedWeight(
        bits=bits,
        values=torch.randint(least, most + 1, (outputs, inputs), dtype=torch.int8),
        scales=scales.bfloat16().float() if bits == 4 else scales,  # as stored
        zero_points=points if asymmetric else None,
    )


def rounded(x: torch.Tensor, group: int, *, keeps_outliers: bool) -> torch.Tensor:
    """Return x [rows, inputs] as the kernels quantize it: bytes times a scale for each group.

    `keeps_outliers`: inputs beyond 4 times the RMS of their row stay as they are, as in int8.
    """
    limit = 4 * x.square().mean(-1, keepdim=True).sqrt()
    outliers = torch.where((x.abs() > limit) & keeps_outliers, x, 0.0)
    grouped = (x - outliers).view(x.shape[0], -1, group)
    peak = grouped.abs().amax(-1, keepdim=True)
    factor = torch.where(peak > 0, 127.0 / peak, torch.zeros(()))
    bytes_ = ((grouped * factor).round().double() * (peak / 127.0).double()).view(x.shape)
    return bytes_ + outliers.double()


def compute(
    library: Library, weight: QuantizedWeight, x: torch.Tensor, y: torch.Tensor, *,
    bias: torch.Tensor | None = None, store: int = SET, factor: float = 0.0,
) -> torch.Tensor:  # fmt: skip
    packer = Packer(library, torch.float32)
    parts = LinearParts((QuantizedLinear(weight, bias),))
    linear = packer.pack(parts, gated=store == GATED_SILU)
    library.linear(linear, x.data_ptr(), x.shape[0], y.data_ptr(), store, factor)
    return y


SHAPES = [
    # outputs, inputs, bits, group, asymmetric
    (64, 128, 8, None, False),
    (33, 70, 8, None, False),
    (200, 257, 8, None, False),
    (96, 256, 4, 64, False),
    (40, 96, 4, 32, True),
    (130, 384, 4, 128, True),
    (16, 128, 4, None, False),
    (300, 1100, 8, None, False),
    (288, 512, 4, 64, True),
    (40, 144, 4, 36, True),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 14, 15, 17, 29, 61, 70])
def test_products_equal_those_of_dequantized_weights(
    library: Library, shape: tuple[int, int, int, int | None, bool], rows: int
) -> None:
    outputs, inputs, bits, group, asymmetric = shape
    torch.manual_seed(rows)
    weight = random_weight(outputs, inputs, bits, group, asymmetric=asymmetric)
    x = torch.randn(rows, inputs) * torch.rand(rows, 1) * 10
    x[rows // 2, : inputs // 2] = 0
    bias = torch.randn(outputs)
    y = compute(library, weight, x, torch.empty(rows, outputs), bias=bias)
    wide = weight.dequantize(torch.float32).double()
    expected = rounded(x, group or inputs, keeps_outliers=bits == 8) @ wide.T + bias.double()
    assert torch.allclose(y.double(), expected, atol=1e-5 * float(expected.abs().max()), rtol=1e-5)


def test_bytes_at_their_limits_do_not_overflow(library: Library) -> None:
    for value in (-128, 127):
        weight = QuantizedWeight(
            8, torch.full((32, 256), value, dtype=torch.int8), torch.ones(32, 1), None
        )
        for sign in (-1.0, 1.0):
            y = compute(library, weight, torch.full((3, 256), sign * 127.0), torch.empty(3, 32))
            assert torch.equal(y, torch.full((3, 32), sign * 127.0 * value * 256))


def test_a_row_of_zeros_gives_the_bias(library: Library) -> None:
    bias = torch.randn(48)
    for weight in (random_weight(48, 64, 8), random_weight(48, 64, 4, 32, asymmetric=True)):
        y = compute(library, weight, torch.zeros(2, 64), torch.empty(2, 48), bias=bias)
        assert torch.equal(y, bias.expand(2, -1))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("at", [0, 70, 127])
def test_non_finite_inputs_give_non_finite_rows(
    library: Library, bits: int, rows: int, bad: float, at: int
) -> None:
    """Bytes cannot represent them; the row is non-finite, and other rows do not change."""
    weight = random_weight(40, 128, bits, 64 if bits == 4 else None)
    x = torch.randn(rows, 128)
    expected = compute(library, weight, x, torch.empty(rows, 40))
    x[rows // 2, at] = bad
    found = compute(library, weight, x, torch.empty(rows, 40))
    assert not bool(found[rows // 2].isfinite().any())
    kept = torch.arange(rows) != rows // 2
    assert torch.equal(found[kept], expected[kept])


def test_results_can_be_added_to_the_output(library: Library) -> None:
    weight = random_weight(40, 64, 4, 32)
    x, before = torch.randn(5, 64), torch.randn(5, 40)
    y = compute(library, weight, x, before.clone(), store=ADD, factor=0.5)
    expected = before + 0.5 * (
        rounded(x, 32, keeps_outliers=False) @ weight.dequantize(torch.float32).double().T
    )
    assert torch.allclose(y.double(), expected, atol=1e-4)


@pytest.mark.parametrize("bits", [4, 8])
def test_gates_and_values_share_panels(library: Library, bits: int) -> None:
    weight = random_weight(2 * 50, 64, bits, 32 if bits == 4 else None)
    x = torch.randn(7, 64)
    y = compute(library, weight, x, torch.empty(7, 50), store=GATED_SILU)
    both = (
        rounded(x, 32 if bits == 4 else 64, keeps_outliers=bits == 8)
        @ weight.dequantize(torch.float32).double().T
    )
    expected = nn.functional.silu(both[:, :50]) * both[:, 50:]
    assert torch.allclose(y.double(), expected, atol=1e-5 * float(expected.abs().max()), rtol=1e-5)


def test_a_row_is_independent_of_other_rows(library: Library) -> None:
    weight = random_weight(64, 256, 4, 64)
    x = torch.randn(40, 256)
    together = compute(library, weight, x, torch.empty(40, 64))
    alone = torch.cat([
        compute(library, weight, row[None].contiguous(), torch.empty(1, 64)) for row in x
    ])  # fmt: skip
    assert torch.equal(together, alone)


@pytest.mark.parametrize("shape", [(96, 1100, 8, None), (130, 384, 4, 64), (33, 96, 4, 32)])
def test_tiles_give_the_same_bits_as_vectors(
    library: Library, shape: tuple[int, int, int, int | None]
) -> None:
    if not {"amx", "vnni"}.issubset(library.instruction_sets):
        pytest.skip("this processor has no AMX")
    outputs, inputs, bits, group = shape
    weight = random_weight(outputs, inputs, bits, group, asymmetric=bits == 4)
    x = torch.randn(50, inputs)
    found = []
    for name in ("amx", "vnni"):
        library.use_instruction_set(name)
        found.append(compute(library, weight, x, torch.empty(50, outputs)))
    assert torch.equal(*found)
