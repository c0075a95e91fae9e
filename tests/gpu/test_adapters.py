"""Adapters' products on a CUDA device, and models whose rows have adapters."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.models.fused.test_fused_adapters import load_adapters, plan_sequences
from tests.models.zoo_models import executor_of, fuse, load_case
from yaie.models.fused.low_rank_check import choose_low_rank, example
from yaie.models.fused.plain import PlainOperations, choose_operations

pytestmark = pytest.mark.gpu
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 2**-5, torch.float16: 2**-7}


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_products_equal_torch_eager_and_captured(dtype: torch.dtype, device: torch.device) -> None:
    like = torch.empty(0, dtype=dtype, device=device)
    operations = choose_operations(device)
    assert choose_low_rank(operations, like) == operations.add_low_rank
    rows, output, pool, adapted = example(like)

    def expect() -> torch.Tensor:
        made = output.clone()
        PlainOperations().add_low_rank(rows, made, pool, adapted)
        return made

    found = output.clone()
    operations.add_low_rank(rows, found, pool, adapted)
    bound = TOLERANCE[dtype]
    torch.testing.assert_close(found, expect(), rtol=bound, atol=bound * 8)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found.copy_(output)
        operations.add_low_rank(rows, found, pool, adapted)
    # Other adapters than at the capture, in other rows.
    adapted.slots.copy_(torch.tensor([1, 1, -1, -1, 0, -1, -1]))
    adapted.blocks.copy_(torch.tensor([[0, 2, 1], [4, 1, 0], [0, 0, 0]]))
    pool.up.mul_(0.5)
    graph.replay()
    torch.testing.assert_close(found, expect(), rtol=bound, atol=bound * 8)
    assert torch.equal(found[[2, 3, 5, 6]], output[[2, 3, 5, 6]])


@pytest.mark.parametrize(
    ("name", "dtype"), [("qwen3", "float32"), ("qwen3", "bfloat16"), ("starcoder2", "bfloat16")]
)
def test_rows_with_adapters_equal_the_originals(name: str, dtype: str, tmp_path: Path) -> None:
    found = []
    for fuses in (True, False):
        executor = executor_of(load_case(name, tmp_path, device="cuda", dtype=dtype))
        if fuses:
            operations = choose_operations(executor.loaded.device)
            fuse(executor, operations, adapter_pages=3)
            assert executor.name == "fused"
            assert executor.adapted._add == operations.add_low_rank  # type: ignore[union-attr]
        else:
            executor.accept_adapters()
        numbers = load_adapters(executor, tmp_path / executor.name)
        found.append(executor.execute(plan_sequences(numbers, executor.loaded.vocab_size)).clone())
    error = float((found[0] - found[1]).norm() / found[1].norm())
    assert error < {"float32": 1e-4, "bfloat16": 0.05}[dtype]
