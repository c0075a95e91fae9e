"""The product kernels compiled for each architecture, as the launcher would on a GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.attention.tree_decode.test_compiled import ARCHITECTURES, WIDE_PRODUCT, resources_of
from tests.models.quantized_device.cases import Layer, packed
from tests.triton_process import needs_triton

if TYPE_CHECKING:
    from tests.attention.tree_decode.compiling_driver import Launch

pytestmark = needs_triton
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


@dataclass(frozen=True)
class Case:
    """A layer, and the rows' type."""

    layer: Layer
    dtype: torch.dtype = BF16
    rows: tuple[int, ...] = (1, 300)


CASES = {
    "int4 in groups of 64": Case(Layer("int4", 256, 4096, 64, has_points=True)),
}
MORE_CASES = {
    "int8": Case(Layer("int8", 256, 4096, scale_dtype=FP32)),
    "fp8 in blocks": Case(Layer("fp8", 256, 4096, 32, scale_dtype=FP32)),
    **{
        f"int4 in groups of {group}, {dtype}": Case(
            Layer("int4", 256, 4096, 4096 // group, True, FP16), dtype, (1, 20, 48, 300)
        )
        for group in (16, 32, 64, 128)
        for dtype in (BF16, FP16)
    },
    "int4, mixed": Case(Layer("int4", 256, 4096, 512), rows=(1, 20, 48, 300)),
    "int8 in groups of 128": Case(
        Layer("int8", 256, 4096, 32, has_points=True), FP16, (1, 20, 48, 300)
    ),
    "int8, padded": Case(Layer("int8", 250, 4090), rows=(1, 20, 48, 300)),
    "fp8, fp16": Case(Layer("fp8", 256, 4096), FP16, (1, 20, 48, 300)),
    "int8, float32": Case(Layer("int8", 256, 1024), FP32, (1, 20, 48, 300)),
}


def launches_of(case: Case, rows: int, architecture: int) -> list[Launch]:
    """Multiply once, and return the launches."""
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.models.quantization.device.launch import TritonProducts

    _, weight = packed(case.layer)
    found: list[Launch] = []
    with launches_to(architecture, found.append):
        x = torch.zeros(rows, case.layer.inputs, dtype=case.dtype)
        output = torch.zeros(rows, case.layer.outputs, dtype=case.dtype)
        TritonProducts().multiply(x, weight, output[0], output)
    return found


def check(case: Case, architecture: int, folder: Path) -> None:
    from tests.attention.tree_decode.compiling_driver import SHARED_MEMORY

    for rows in case.rows:
        launches = launches_of(case, rows, architecture)
        assert [each.name for each in launches] == ["multiply_rows", "add_parts"][: len(launches)]
        for launch in launches:
            metadata = launch.kernel.metadata
            used = resources_of(launch.kernel.asm["cubin"], folder)
            assert used["STACK"] == used["LOCAL"] == 0, (launch.name, rows, used)
            assert used["REG"] * 32 * metadata.num_warps <= 65536
            assert metadata.shared <= SHARED_MEMORY[architecture]
        code = launches[0].kernel.asm["ptx"]
        if case.dtype is FP32:
            continue
        assert "mma.sync" in code or (rows > 32 and WIDE_PRODUCT[architecture] in code)
        # Weights stream in units of 16 bytes, as far ahead as the pipeline has stages.
        assert re.search(r"cp\.async\.cg\.shared\.global .*0x10", code)


@pytest.mark.integration
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("case", CASES)
def test_kernels_fit_their_architecture(case: str, architecture: int, tmp_path: Path) -> None:
    check(CASES[case], architecture, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("case", MORE_CASES)
def test_more_kernels_fit_their_architecture(case: str, architecture: int, tmp_path: Path) -> None:
    check(MORE_CASES[case], architecture, tmp_path)
