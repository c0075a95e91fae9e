"""The kernels of adapters' products against their twin and float64; Triton interprets them.

Results start as NaN, and so does what surrounds the operands in memory.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.attention.tree_decode.interpreter import nan_in_new_tensors, right_rounding  # noqa: F401
from tests.models.fused.interpreted_operations import strided
from yaie.base.adapter_info import AdapterInfo
from yaie.models.adapters.adapter import Adapter, LowRank
from yaie.models.fused.adapter_pools import AdapterPools
from yaie.models.fused.launch import TritonOperations
from yaie.models.fused.low_rank_check import choose_low_rank
from yaie.models.fused.plain import PlainOperations

IS_LARGE = os.environ.get("FUSED_SET") == "large"
# Inputs, outputs of the modules side by side, and the ranks of the adapters in each module.
KINDS: dict[str, tuple[int, tuple[int, ...], list[tuple[int, ...]]]] = {
    "one module": (96, (70,), [(1,), (8,), (16,), (64,)]),
    "query, key and value": (200, (130, 64, 64), [(16, 8, 0), (0, 33, 1), (17, 17, 17)]),
    "gate and up": (64, (150, 150), [(64, 64), (0, 0), (0, 9)]),
    "rank 256": (48, (40,), [(256,), (3,)]),
}
if IS_LARGE:
    KINDS["wide"] = (2048, (512, 128, 128), [(16, 16, 16), (64, 64, 64), (256, 1, 0)])
# Numbers of rows by adapter: 0 is the model alone, and others are numbered from 1.
ROWS: dict[str, list[tuple[int, int]]] = {
    "alone": [(0, 5)],
    "one row": [(2, 1)],
    "ragged": [(0, 2), (1, 1), (2, 17), (0, 1), (1, 16), (2, 3)],
    "all of one": [(1, 20)],
    "many": [(0, 3), (1, 130), (2, 7), (0, 2)],
}
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2**-6, torch.float16: 2**-9}


class Layer(nn.Module):
    """Linear layers that read the same rows, as the fused decoder merges them."""

    def __init__(self, inputs: int, sizes: tuple[int, ...], dtype: torch.dtype) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(inputs, size, dtype=dtype) for size in sizes)

    def get_output_embeddings(self) -> None:
        """No head."""


def adapter_of(number: int, ranks: tuple[int, ...], kind: str, dtype: torch.dtype) -> Adapter:
    inputs, sizes, _ = KINDS[kind]
    layers = {
        f"parts.{part}": LowRank(
            (torch.randn(rank, inputs) / inputs**0.5).to(dtype),
            (torch.randn(size, rank) / rank**0.5).to(dtype),
        )
        for part, (rank, size) in enumerate(zip(ranks, sizes, strict=True))
        if rank
    }
    info = AdapterInfo(
        name=str(number), path="", digest="", rank=max(1, *ranks), num_layers=0, nbytes=0
    )
    return Adapter(info, number, layers)


CASES = [
    (kind, rows, dtype)
    for kind in KINDS
    for rows in ROWS
    for dtype in (torch.float32, torch.bfloat16, torch.float16)
    if IS_LARGE or (rows == "ragged" and dtype is not torch.float16) or kind == "one module"
]


def in_between(x: torch.Tensor, low_rank: LowRank) -> torch.Tensor:
    return (x.double() @ low_rank.down.double().T).to(x.dtype).double()


@pytest.mark.parametrize(("kind", "rows", "dtype"), CASES)
def test_products(kind: str, rows: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    inputs, sizes, ranks = KINDS[kind]
    layer = Layer(inputs, sizes, dtype)
    adapters = [adapter_of(n + 1, each, kind, dtype) for n, each in enumerate(ranks)]
    counts = ROWS[rows]
    numbers = np.repeat([each for each, _ in counts], [count for _, count in counts])
    x = strided(len(numbers), inputs, dtype)
    output = strided(len(numbers), sum(sizes), dtype)
    found = {}
    for operations in (TritonOperations(), PlainOperations()):
        pools = AdapterPools(layer, layer.parts[0].weight, PlainOperations(), num_pages=40)
        pools._add = operations.add_low_rank
        surrounded = strided(len(numbers), sum(sizes), dtype)
        surrounded.copy_(output)
        multiply = pools.over(lambda _, made=surrounded: made, list(layer.parts))
        pools.add(adapter_of(99, ranks[0], kind, dtype))
        for adapter in adapters:
            pools.add(adapter)
        pools.remove(99)  # its pages keep its weights
        pools.begin(pools.place(numbers))
        # torch's bfloat16 product on a CPU reads beyond a row.
        found[operations.name] = multiply(x if operations.name == "triton" else x.contiguous())
    expected = output.double()
    for adapter in adapters:
        own = torch.from_numpy(numbers == adapter.number)
        for part, columns in enumerate(torch.split(torch.arange(sum(sizes)), sizes)):
            low_rank = adapter.layers.get(f"parts.{part}")
            if low_rank is not None:
                product = in_between(x, low_rank) @ low_rank.up.double().T
                expected[:, columns] += own[:, None] * product
    alone = torch.from_numpy(numbers == 0)
    for each in found.values():
        assert torch.equal(each[alone], output[alone])
        bound = TOLERANCE[dtype]
        torch.testing.assert_close(each.double(), expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kernels_pass_the_check_of_a_start(dtype: torch.dtype) -> None:
    operations = TritonOperations()
    assert choose_low_rank(operations, torch.ones(1, dtype=dtype)) == operations.add_low_rank


def test_kernels_that_differ_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    class Differing(TritonOperations):
        def add_low_rank(self, rows: Any, output: Any, pool: Any, adapted: Any) -> None:
            super().add_low_rank(rows, output, pool, adapted)
            output[0, 0] += 1

    class Failing(TritonOperations):
        def add_low_rank(self, *_: Any) -> None:
            raise RuntimeError("no compiler")

    for operations, reason in ((Differing(), "off by"), (Failing(), "no compiler")):
        chosen = choose_low_rank(operations, torch.ones(1))
        assert getattr(chosen, "__self__").name == "plain"  # noqa: B009
        assert reason in caplog.text
