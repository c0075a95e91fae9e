"""The fused layers on a CUDA device, against the original layers there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.zoo_models import RECOGNISED, RECOGNISED_FOR_A_GPU, executor_of, load_case
from yaie.models.fused.fused_decoder import build_fused_decoder
from yaie.models.fused.plain import choose_operations
from yaie.models.native.numerics_check import comparison_plan

pytestmark = pytest.mark.gpu


# One of each kind of kernel: halves and pairs rotated, norms of heads, other activations.
IN_EVERY_DTYPE = ["llama", "qwen3", "gemma", "glm"]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, "bfloat16") for name in RECOGNISED + RECOGNISED_FOR_A_GPU),
        *((name, dtype) for name in IN_EVERY_DTYPE for dtype in ("float32", "float16")),
    ],
)
def test_fused_layers_equal_the_originals(name: str, dtype: str, tmp_path: Path) -> None:
    executor = executor_of(load_case(name, tmp_path, device="cuda", dtype=dtype))
    plan = comparison_plan(executor.loaded)
    expected = executor.execute(plan).clone()
    operations = choose_operations(executor.loaded.device)
    assert operations.name == "triton"
    decoder = build_fused_decoder(executor.loaded, operations)
    assert decoder is not None
    executor.fuse(decoder)
    assert executor.name == "fused"
    for tensor in executor.pool.tensors():  # the kernels fill it again
        tensor.zero_()
    error = (executor.execute(plan) - expected).norm() / expected.norm()
    assert float(error) < {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.01}[dtype]
