"""The kernels against their twins in torch; `test_interpreted` runs it, with Triton interpreted.

Results start as NaN, and so does what surrounds the operands in memory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from tests.attention.tree_decode.interpreter import nan_in_new_tensors, right_rounding  # noqa: F401
from yaie.models.fused.launch import TritonOperations
from yaie.models.fused.operations import HeadOperation, Rotary, Store
from yaie.models.fused.plain import PlainOperations
from yaie.models.native.decoder_structure import ActivationName, Norm

IS_LARGE = os.environ.get("FUSED_SET") == "large"
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
WIDTHS = [1, 48, 128, 1000, *([576, 3072, 5120, 8192] if IS_LARGE else [])]
ROWS = [0, 1, 3, *([17] if IS_LARGE else [])]
# Float32 results differ by the order of a sum; others are rounded once, so by one unit at most.
TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 2**-7, torch.float16: 2**-10}


@dataclass(frozen=True)
class Turn:
    """One case of the rotation."""

    heads: tuple[int, int, int]  # query heads, KV heads, their width
    rotated: int | None  # elements of a head; None: no rotary positions
    neighbours: bool = False
    normed: str = ""  # "q", "k", both, or none
    count: int = 5


TURNS = {
    "llama": Turn((4, 2, 64), 64),
    "qwen3": Turn((4, 2, 128), 128, normed="qk"),
    "partial": Turn((6, 1, 80), 20),
    "neighbours": Turn((3, 3, 16), 16, neighbours=True),
    "partial neighbours": Turn((8, 2, 96), 48, neighbours=True, normed="k"),
    "no positions": Turn((2, 2, 32), None, normed="q"),
    "one row": Turn((28, 4, 128), 128, count=1),
    "no rows": Turn((4, 2, 64), 64, count=0),
}
if IS_LARGE:
    TURNS |= {
        f"{heads} {rotated} {neighbours} {normed}": Turn(heads, rotated, neighbours, normed, 9)
        for heads in ((32, 8, 128), (14, 2, 64), (8, 4, 256), (71, 1, 64))
        for rotated in (heads[2], heads[2] // 4)
        for neighbours in (False, True)
        for normed in ("", "qk")
    }


def strided(rows: int, width: int, dtype: torch.dtype, scale: float = 1.0) -> torch.Tensor:
    """Return random rows with a stride of their own, between columns of NaN."""
    around = torch.full((rows, width + 10), torch.nan)
    around[:, 3 : 3 + width] = torch.randn(rows, width) * scale
    return around.to(dtype)[:, 3 : 3 + width]


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape
    tolerance = TOLERANCE[found.dtype]
    torch.testing.assert_close(found.float(), expected.float(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", ROWS)
def test_norm(count: int, width: int, dtype: torch.dtype) -> None:
    rows = strided(count, width, dtype, scale=5.0)
    norm = Norm(torch.randn(width).to(dtype), 1e-3, offset=width % 2)
    assert_close(TritonOperations().norm(rows, norm), PlainOperations().norm(rows, norm))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", ROWS)
def test_add_norm(count: int, width: int, dtype: torch.dtype) -> None:
    rows, residual = strided(count, width, dtype), torch.randn(count, width).to(dtype)
    norm = Norm(torch.randn(width).to(dtype), 1e-6, offset=1.0)
    factor = 1.0 if count == 1 else 0.22
    first = Norm(torch.randn(width).to(dtype), 1e-5, offset=1.0)
    layer_norm = replace(norm, centres=True, bias=torch.randn(width).to(dtype))
    for norms in ((norm, None), (layer_norm, None), (norm, first), (None, first), (None, None)):
        found_residual, expected_residual = residual.clone(), residual.clone()
        how: dict[str, Any] = {"factor": factor, "first": norms[1]}
        found = TritonOperations().add_norm(found_residual, rows, norms[0], **how)
        expected = PlainOperations().add_norm(expected_residual, rows, norms[0], **how)
        assert_close(found_residual, expected_residual)
        assert_close(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", ROWS)
def test_norm_in_place(count: int, width: int, dtype: torch.dtype) -> None:
    rows = strided(count, width, dtype, scale=3.0) + 1.0
    # A norm of one centred element is the bias, whatever the element.
    norm = Norm(torch.randn(width).to(dtype), 1e-3, centres=True)
    wide = torch.full((count, width + 7), torch.nan, dtype=dtype)
    wide[:, 2 : 2 + width] = rows
    TritonOperations().norm_in_place(wide[:, 2 : 2 + width], norm)
    assert_close(wide[:, 2 : 2 + width], PlainOperations().norm(rows, norm))
    assert int(wide.isnan().sum()) == 7 * count


@pytest.mark.parametrize("activation", ["silu", "gelu"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", ROWS)
def test_gate(count: int, width: int, dtype: torch.dtype, activation: ActivationName) -> None:
    rows = strided(count, 2 * width, dtype, scale=4.0)
    found = TritonOperations().gate(rows, activation)
    assert_close(found, PlainOperations().gate(rows, activation))


@pytest.mark.filterwarnings("ignore:overflow encountered in exp")
def test_gates_far_from_zero() -> None:
    rows = torch.tensor([[-1e4, -100.0, -20.0, 0.0, 20.0, 1e4] + [2.0] * 6])
    for activation in ("silu", "gelu"):
        found = TritonOperations().gate(rows, activation)  # type: ignore[arg-type]
        assert_close(found, PlainOperations().gate(rows, activation))  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_row_that_is_not_finite_stays_alone() -> None:
    rows = torch.ones(3, 48)
    rows[1, 7] = torch.inf
    normed = TritonOperations().norm(rows, Norm(torch.ones(48), 1e-6))
    assert normed[[0, 2]].isfinite().all() and normed[1].isnan().any()


def operands(turn: Turn, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, HeadOperation]:
    """Return the arguments of `rotate`."""
    num_heads, num_kv_heads, width = turn.heads
    norms = [
        Norm(torch.randn(width).to(dtype), 1e-6, 1.0) if letter in turn.normed else None
        for letter in "qk"
    ]
    rotary = None
    if turn.rotated is not None:
        # The two tables are independent: a mistaken one shows.
        tables = torch.randn(2, 40, turn.rotated // 2)
        rotary = Rotary(tables[0], tables[1], turn.neighbours)
    heads = HeadOperation(*turn.heads, *norms, rotary)
    projected = strided(turn.count, (num_heads + 2 * num_kv_heads) * width, dtype)
    return projected, torch.randint(40, (turn.count,)), heads


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TURNS)
def test_rotate(name: str, dtype: torch.dtype) -> None:
    arguments = operands(TURNS[name], dtype)
    found = TritonOperations().rotate(*arguments)
    for mine, expected in zip(found, PlainOperations().rotate(*arguments), strict=True):
        assert_close(mine, expected)


def pool_of(heads: HeadOperation, dtype: torch.dtype, *, head_major: bool) -> torch.Tensor:
    """Return 20 slots of NaN."""
    if head_major:
        shape = (heads.num_kv_heads, 20, heads.width)
        return torch.full(shape, torch.nan, dtype=dtype).transpose(0, 1)
    return torch.full((20, heads.num_kv_heads, heads.width), torch.nan, dtype=dtype)


@pytest.mark.parametrize(
    ("dtype", "pool_dtype"),
    [
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.bfloat16),
        (torch.float16, torch.float16),
        (torch.float32, torch.bfloat16),
    ],
)
@pytest.mark.parametrize("name", TURNS)
def test_rotate_and_store(name: str, dtype: torch.dtype, pool_dtype: torch.dtype) -> None:
    turn = TURNS[name]
    arguments = operands(turn, dtype)
    heads = arguments[2]
    slots = torch.randperm(20)[: turn.count]
    slots[1:3] = -1
    if turn.count % 2:
        slots = slots.int()

    def store() -> Store:
        keys = pool_of(heads, pool_dtype, head_major=heads.width % 3 == 0)
        return Store(keys, pool_of(heads, pool_dtype, head_major=False), slots)

    found, expected = store(), store()
    queries = TritonOperations().rotate_and_store(*arguments, found)
    assert_close(queries, PlainOperations().rotate_and_store(*arguments, expected))
    written = slots[slots >= 0].long()
    for mine, wanted in ((found.keys, expected.keys), (found.values, expected.values)):
        assert_close(mine[written], wanted[written])
        assert int(mine.isnan().any(-1).any(-1).sum()) == 20 - len(written)
