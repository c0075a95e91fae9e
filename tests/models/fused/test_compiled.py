"""The fused kernels compiled for each architecture, as the launcher would on a GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.attention.tree_decode.test_compiled import ARCHITECTURES, resources_of
from tests.triton_process import needs_triton
from yaie.models.fused.operations import HeadOperation, Rotary, Store
from yaie.models.native.decoder_structure import Norm

if TYPE_CHECKING:
    from tests.attention.tree_decode.compiling_driver import Launch

pytestmark = needs_triton
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


@dataclass(frozen=True)
class Shape:
    """The widths of a model."""

    hidden: int
    inner: int
    heads: tuple[int, int, int]  # query heads, KV heads, their width
    rotated: int
    normed: bool = False
    neighbours: bool = False
    dtype: torch.dtype = BF16
    activation: str = "silu"


SHAPES = {"qwen3 0.6B": Shape(1024, 3072, (16, 8, 128), 128, normed=True)}
MORE_SHAPES = {
    "llama 8B": Shape(4096, 14336, (32, 8, 128), 128),
    "llama 405B": Shape(16384, 53248, (128, 8, 128), 128),
    "llama 1B, fp16": Shape(2048, 8192, (32, 8, 64), 64, dtype=FP16),
    "llama 1B, float32": Shape(2048, 8192, (32, 8, 64), 64, dtype=FP32),
    "gemma 2B": Shape(2048, 16384, (8, 1, 256), 256, activation="gelu"),
    "phi3": Shape(3072, 8192, (32, 32, 96), 96),
    "glm": Shape(4096, 13696, (32, 2, 128), 64, neighbours=True),
    "odd": Shape(1152, 6912, (7, 1, 80), 20, normed=True),
}


def launches_of(shape: Shape, architecture: int) -> list[Launch]:
    """Run each operation once, and return the launches."""
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.models.fused.launch import TritonOperations

    num_heads, num_kv_heads, width = shape.heads
    rows = 2

    def zeros(*sizes: int, dtype: torch.dtype = shape.dtype) -> torch.Tensor:
        return torch.zeros(sizes, dtype=dtype)

    def norm(size: int) -> Norm:
        return Norm(zeros(size), 1e-6)

    tables = zeros(8, shape.rotated // 2, dtype=FP32)
    heads = HeadOperation(
        *shape.heads,
        query_norm=norm(width) if shape.normed else None,
        key_norm=norm(width) if shape.normed else None,
        rotary=Rotary(tables, tables, shape.neighbours),
    )
    pool = zeros(8, num_kv_heads, width)
    positions = torch.zeros(rows, dtype=torch.int64)
    projected = zeros(rows, (num_heads + 2 * num_kv_heads) * width)
    found: list[Launch] = []
    with launches_to(architecture, found.append):
        operations = TritonOperations()
        hidden = zeros(rows, shape.hidden)
        operations.norm(hidden, norm(shape.hidden))
        plain = norm(shape.hidden)
        layer_norm = replace(plain, centres=True, bias=zeros(shape.hidden))
        for kind, first in ((plain, None), (layer_norm, None), (plain, plain), (None, plain)):
            operations.add_norm(zeros(rows, shape.hidden), hidden, kind, first=first)
        operations.norm_in_place(projected[:, : num_heads * width], norm(num_heads * width))
        operations.rotate(projected, positions, heads)
        operations.rotate_and_store(projected, positions, heads, Store(pool, pool, positions))
        operations.gate(zeros(rows, 2 * shape.inner), shape.activation)  # type: ignore[arg-type]
    return found


def check(shape: Shape, architecture: int, folder: Path) -> None:
    launches = launches_of(shape, architecture)
    expected = [*["norm_rows"] * 6, "rotate_rows", "rotate_rows", "gate_rows"]
    assert [each.name for each in launches] == expected
    for launch in launches:
        used = resources_of(launch.kernel.asm["cubin"], folder)
        assert used["STACK"] == used["LOCAL"] == 0, (launch.name, used)
        assert used["REG"] <= 128, (launch.name, used)  # four blocks of four warps at once
        threads = 32 * launch.kernel.metadata.num_warps
        assert used["REG"] * threads <= 65536
        if launch.name == "rotate_rows":
            continue
        # Rows of whole vectors travel in units of 16 bytes.
        assert re.search(r"ld\.global\.v4\.b32|ld\.global\.v2\.b64", launch.kernel.asm["ptx"])


@pytest.mark.integration
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_fit_their_architecture(shape: str, architecture: int, tmp_path: Path) -> None:
    check(SHAPES[shape], architecture, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("shape", MORE_SHAPES)
def test_more_kernels_fit_their_architecture(shape: str, architecture: int, tmp_path: Path) -> None:
    check(MORE_SHAPES[shape], architecture, tmp_path)
