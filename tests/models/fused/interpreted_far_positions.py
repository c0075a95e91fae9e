"""A fused model at far positions, with interpreted kernels; `test_interpreted` runs it."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.attention.tree_decode.interpreter import right_rounding  # noqa: F401
from tests.models.fused.interpreted_decoder import small_executor
from tests.models.zoo_models import fuse
from yaie.models.fused.launch import TritonOperations
from yaie.models.native.numerics_check import far_plan


def test_far_positions(tmp_path: Path) -> None:
    executor = small_executor("qwen3", tmp_path, dtype="float32")
    plan = far_plan(executor.loaded)
    assert plan is not None
    expected = executor.execute(plan)
    fuse(executor, TritonOperations())
    assert executor.name == "fused"
    torch.testing.assert_close(executor.execute(plan), expected, rtol=1e-4, atol=1e-4)
