"""The compiled sm_80 code of adapters' products, by the interpreter of PTX, against their twin.

Each address must lie in a tensor that the launch was given, and each write in an output.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.attention.tree_decode import test_ptx
from tests.triton_process import needs_triton
from yaie.models.fused.low_rank_check import example
from yaie.models.fused.operations import FusedOperations
from yaie.models.fused.plain import PlainOperations

pytestmark = [needs_triton, pytest.mark.integration]
OUTPUTS = {"shrink_rows": {"middle"}, "expand_rows": {"output"}}


@pytest.mark.parametrize("block_rows", [16, pytest.param(64, marks=pytest.mark.slow)])
def test_compiled_products_equal_their_twin(
    block_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.models.fused.launch import TritonOperations

    for name, outputs in OUTPUTS.items():
        monkeypatch.setitem(test_ptx.OUTPUTS, name, outputs)
    rows, output, pool, adapted = example(torch.empty(0, dtype=torch.bfloat16))
    adapted = replace(adapted, block_rows=block_rows)
    found = []
    every: tuple[FusedOperations, ...] = (TritonOperations(), PlainOperations())
    for operations in every:
        found.append(output.clone())
        with launches_to(80, lambda launch: test_ptx.execute(launch, str)):
            operations.add_low_rank(rows, found[-1], pool, adapted)
    torch.testing.assert_close(*(each.float() for each in found), rtol=2**-6, atol=2**-5)
    assert torch.equal(found[0][[0, 6]], output[[0, 6]])
    assert not torch.equal(found[0][1:6], output[1:6])
