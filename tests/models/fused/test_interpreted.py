"""The fused kernels' source on a CPU: Triton interprets them in a process of its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.attention.tree_decode.test_interpreted import run_interpreted
from tests.models.test_native_decoder import RECOGNISED, RECOGNISED_FOR_A_GPU

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="triton is not installed"
)


@pytest.mark.integration
def test_operations() -> None:
    run_interpreted(str(HERE / "interpreted_operations.py"), FUSED_SET="small")


@pytest.mark.integration
def test_decoders() -> None:
    run_interpreted(
        str(HERE / "interpreted_decoder.py"),
        FUSED_KINDS="qwen3:bfloat16,gemma:float32",
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_decoders_of_all_recognised_models() -> None:
    kinds = [
        f"{name}:{dtype}"
        for name in RECOGNISED + RECOGNISED_FOR_A_GPU
        for dtype in ("float32", "bfloat16")
    ]
    run_interpreted(str(HERE / "interpreted_decoder.py"), FUSED_KINDS=",".join(kinds))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_operations_of_many_shapes() -> None:
    run_interpreted(str(HERE / "interpreted_operations.py"), FUSED_SET="large")
