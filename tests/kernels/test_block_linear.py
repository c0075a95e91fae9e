"""Linear layers of GGUF blocks in each instruction set, against float64 products of `gguf`."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gguf.constants import GGMLQuantizationType
from gguf.quants import dequantize
from torch import nn

from tests.kernels import test_quantized_linear as integers
from yaie.kernels.decoder_structures import BLOCKS, GATED, SET, STORES, Linear
from yaie.kernels.library import Library
from yaie.models.files.gguf.tensor_kinds import KINDS
from yaie.models.native.decoder_structure import LinearParts
from yaie.models.native.packing import Packer
from yaie.models.quantization.block_weights import BlockWeight
from yaie.models.quantization.quantized_weights import QuantizedLinear

# Bytes of float16 numbers in a block: the scale, and the minimum.
HALVES = {"Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,), "MXFP4": ()}
HALVES |= dict.fromkeys(("Q4_1", "Q5_1", "Q4_K", "Q5_K"), (0, 2))
GROUP = {"Q2_K": 16, "Q3_K": 16, "Q6_K": 16}  # inputs that share a scale; others: 32

library = integers.library  # the fixture


def exact_rows(rows: int, inputs: int, kind: str) -> torch.Tensor:
    """Return rows that lose nothing when they become bytes, with a scale for each group."""
    grouped = torch.randint(-127, 128, (rows, inputs // GROUP.get(kind, 32), GROUP.get(kind, 32)))
    grouped[..., 3] = 127
    scales = 2.0 ** torch.randint(-8, 2, grouped.shape[:2])
    return (grouped * scales[..., None]).view(rows, inputs)


def random_blocks(kind: str, outputs: int, inputs: int) -> BlockWeight:
    """Return blocks of random bytes, with scales of usual sizes."""
    block = KINDS[kind]
    rng = np.random.default_rng(outputs * inputs)
    raw = rng.integers(0, 256, (outputs, inputs // block.num_values, block.nbytes), np.uint8)
    for place in HALVES.get(kind, (0,)):
        scales = (rng.normal(size=(*raw.shape[:2], 1)) * 0.02).astype("<f2")
        scales[0, 0] = 3e-7  # below float16's normal numbers
        raw[:, :, place : place + 2] = scales.view(np.uint8)
    if kind == "MXFP4":
        raw[:, :, 0] = rng.integers(100, 126, raw.shape[:2])
        raw[0, 0, 0], raw[-1, 0, 0] = 0, 1
    return BlockWeight(kind, torch.from_numpy(raw.reshape(outputs, -1)))


def wide(weight: BlockWeight) -> torch.Tensor:
    """Return the weights in float64, as `gguf` decodes them."""
    return torch.from_numpy(
        dequantize(weight.rows.numpy(), GGMLQuantizationType[weight.kind])
    ).double()


def pack(
    library: Library, weight: BlockWeight, bias: torch.Tensor | None = None, *, gated: bool = False
) -> tuple[Packer, Linear]:
    packer = Packer(library, torch.float32)
    return packer, packer.pack(LinearParts((QuantizedLinear(weight, bias),)), gated=gated)


def compute(
    library: Library, linear: Linear, x: torch.Tensor, y: torch.Tensor, *,
    store: int = SET, factor: float = 0.0,
) -> torch.Tensor:  # fmt: skip
    library.linear(linear, x.data_ptr(), x.shape[0], y.data_ptr(), store, factor)
    return y


def close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Return True if rounding of float32 sums explains the difference."""
    atol = 2e-5 * float(expected.abs().max())
    return torch.allclose(found.double(), expected, atol=atol, rtol=1e-5)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("shape", [(64, 256), (33, 576), (200, 768), (1, 1024)])
def test_products_equal_those_of_the_decoded_blocks(
    library: Library,
    kind: str,
    shape: tuple[int, int],
) -> None:
    outputs, inputs = shape
    if inputs % KINDS[kind].num_values:
        pytest.skip("blocks do not divide the inputs")
    torch.manual_seed(outputs)
    weight, bias = random_blocks(kind, outputs, inputs), torch.randn(outputs)
    packer, linear = pack(library, weight, bias)
    assert packer.num_packed <= 1.05 * weight.rows.nbytes * (-(-outputs // 32) * 32 / outputs)
    for rows in (1, 2, 3, 4, 5, 6, 7, 13, 16, 17, 29, 70):
        x = exact_rows(rows, inputs, kind)
        x[rows // 2, : inputs // 2] = 0
        y = compute(library, linear, x, torch.empty(rows, outputs))
        assert close(y, x.double() @ wide(weight).T + bias.double()), rows


@pytest.mark.parametrize("kind", BLOCKS)
def test_the_error_is_that_of_rows_in_bytes(library: Library, kind: str) -> None:
    weight, x = random_blocks(kind, 96, 1024), torch.randn(40, 1024)
    _, linear = pack(library, weight)
    y = compute(library, linear, x, torch.empty(40, 96))
    expected = x.double() @ wide(weight).T
    # A step of a byte is the largest of 32 normal numbers, about 2.1, divided by 127.
    step = 2.1 / 127 / 12**0.5
    assert float((y.double() - expected).norm() / expected.norm()) < 1.5 * step


@pytest.mark.parametrize("kind", ["Q8_0", "IQ4_NL", "Q6_K", "Q5_K", "Q3_K"])
@pytest.mark.parametrize("rows", [1, 9])
def test_codes_at_their_limits_do_not_overflow(
    library: Library,
    kind: str,
    rows: int,
) -> None:
    for fill in (0, 127, 128, 255):
        block = KINDS[kind]
        raw = np.full((32, 512 // block.num_values, block.nbytes), fill, np.uint8)
        for place in HALVES.get(kind, (0,)):
            raw[:, :, place : place + 2] = np.frombuffer(np.float16(1).tobytes(), np.uint8)
        weight = BlockWeight(kind, torch.from_numpy(raw.reshape(32, -1)))
        _, linear = pack(library, weight)
        for sign in (-1.0, 1.0):
            x = torch.full((rows, 512), sign * 127.0)
            y = compute(library, linear, x, torch.empty(rows, 32))
            assert torch.allclose(y.double(), x.double() @ wide(weight).T, rtol=1e-6)


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_row_is_independent_of_other_rows(library: Library, kind: str) -> None:
    _, linear = pack(library, random_blocks(kind, 64, 512))
    x = torch.randn(40, 512)
    together = compute(library, linear, x, torch.empty(40, 64))
    alone = [
        compute(library, linear, row[None].contiguous(), torch.empty(1, 64))
        for row in x
    ]  # fmt: skip
    assert torch.equal(together, torch.cat(alone))
    four = compute(library, linear, x[:4].contiguous(), torch.empty(4, 64))
    assert torch.equal(together[:4], four)


@pytest.mark.parametrize("activation", ["silu", "gelu"])
def test_gates_and_values_share_panels_or_follow_each_other(
    library: Library,
    activation: str,
) -> None:
    x = exact_rows(7, 256, "Q4_K")
    weight = random_blocks("Q4_K", 2 * 50, 256)
    both = x.double() @ wide(weight).T
    function = {
        "silu": nn.functional.silu,
        "gelu": lambda v: nn.functional.gelu(v, approximate="tanh"),
    }[activation]
    expected = function(both[:, :50]) * both[:, 50:]
    _, linear = pack(library, weight, gated=True)
    y = compute(library, linear, x, torch.empty(7, 50), store=GATED[activation])
    assert close(y, expected)
    _, gate = pack(library, BlockWeight("Q4_K", weight.rows[:50]))
    values = both[:, 50:].float().contiguous()
    assert close(compute(library, gate, x, values, store=STORES[f"{activation}_times"]), expected)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("rows", [1, 20])
def test_non_finite_inputs_give_non_finite_rows(
    library: Library,
    bad: float,
    rows: int,
) -> None:
    _, linear = pack(library, random_blocks("Q6_K", 40, 256))
    x = torch.randn(rows, 256)
    expected = compute(library, linear, x, torch.empty(rows, 40))
    x[rows // 2, 70] = bad
    found = compute(library, linear, x, torch.empty(rows, 40))
    assert not bool(found[rows // 2].isfinite().any())
    kept = torch.arange(rows) != rows // 2
    assert torch.equal(found[kept], expected[kept])


@pytest.mark.parametrize("kind", BLOCKS)
def test_dequantized_rows_are_those_of_the_file(library: Library, kind: str) -> None:
    weight = random_blocks(kind, 5, 768)
    found = torch.empty(5, 768)
    library.dequantize(weight.rows.data_ptr(), found.data_ptr(), 5, 768, BLOCKS[kind])
    assert torch.allclose(found.double(), wide(weight), rtol=1e-6, atol=1e-7)
