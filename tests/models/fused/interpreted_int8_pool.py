"""A fused model over an int8 pool, with interpreted kernels; `test_interpreted` runs it."""

from __future__ import annotations

from pathlib import Path

from tests.attention.tree_decode.interpreter import right_rounding  # noqa: F401
from tests.models.fused.interpreted_decoder import small_executor
from tests.models.zoo_models import fuse
from yaie.models.fused.launch import TritonOperations


def test_an_int8_pool(tmp_path: Path) -> None:
    executor = small_executor("qwen3", tmp_path, kv_dtype="int8")
    fuse(executor, TritonOperations())
    assert executor.name == "fused"  # the logits agreed
