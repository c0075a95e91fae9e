"""The fused kernels' compiled sm_80 code, run by the interpreter of PTX against their twins.

Each address must lie in a tensor that the launch was given, and each write in an output.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tests.attention.tree_decode import test_ptx
from tests.ptx.memory import MemoryFault
from tests.triton_process import needs_triton
from yaie.models.fused.operations import HeadOperation, Rotary, Store
from yaie.models.fused.plain import PlainOperations
from yaie.models.native.decoder_structure import Norm

pytestmark = [
    needs_triton,
    pytest.mark.integration,
]
OUTPUTS = {
    "norm_rows": {"residual", "normed"},
    "gate_rows": {"gated"},
    "rotate_rows": {"queries", "keys", "values"},
}
ROWS, WIDTH = 3, 1000
BF16 = torch.bfloat16


@pytest.fixture(autouse=True)
def _outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, outputs in OUTPUTS.items():
        monkeypatch.setitem(test_ptx.OUTPUTS, name, outputs)


def run_compiled(
    edit: Callable[[str], str] = str,
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Run each operation by compiled code; return its results, each with its twin's."""
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.models.fused.launch import TritonOperations

    rows, residual = torch.randn(ROWS, WIDTH).to(BF16), torch.randn(ROWS, WIDTH).to(BF16)
    norm = Norm(torch.randn(WIDTH).to(BF16), 1e-5, 1.0)
    layer_norm = replace(norm, centres=True, bias=torch.randn(WIDTH).to(BF16))
    tables = torch.randn(2, 40, 32)
    head_norm = Norm(torch.randn(96).to(BF16), 1e-6)
    heads = HeadOperation(5, 2, 96, head_norm, None, Rotary(tables[0], tables[1]))
    projected, positions = torch.randn(ROWS, 9 * 96).to(BF16), torch.tensor([7, 0, 39])
    slots = torch.tensor([4, -1, 0])
    found: list[list[torch.Tensor]] = []
    with launches_to(80, lambda launch: test_ptx.execute(launch, edit)):
        for operations in (TritonOperations(), PlainOperations()):
            mine, summed = residual.clone(), residual.clone()
            wide = projected.clone()
            operations.norm_in_place(wide[:, 96:576], Norm(torch.ones(480), 1e-5))
            pool = torch.zeros(6, 2, 96, dtype=BF16), torch.zeros(6, 2, 96, dtype=BF16)
            found.append(
                [
                    operations.norm(rows, norm),
                    operations.add_norm(mine, rows, norm, factor=0.5),
                    mine,
                    operations.add_norm(summed, rows, layer_norm, first=norm),
                    operations.add_norm(summed, rows, None, first=norm),
                    wide,
                    operations.gate(rows, "silu"),
                    operations.gate(rows, "gelu"),
                    *operations.rotate(projected, positions, heads),
                    operations.rotate_and_store(projected, positions, heads, Store(*pool, slots)),
                    *pool,
                ]
            )
    return list(zip(*found, strict=True))


def test_compiled_operations_equal_their_twins() -> None:
    for mine, twin in run_compiled():
        torch.testing.assert_close(mine.float(), twin.float(), rtol=2**-7, atol=2**-7)


def test_a_load_beside_its_address_is_caught() -> None:
    def shift(code: str) -> str:
        return re.sub(r"(ld\.global\.v\d\.b32 [^\[]*\[ %rd\d+ \+ )0", r"\g<1>4", code)

    with pytest.raises((MemoryFault, AssertionError)):
        for mine, twin in run_compiled(shift):
            torch.testing.assert_close(mine.float(), twin.float(), rtol=2**-7, atol=2**-7)
