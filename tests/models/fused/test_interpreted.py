"""The fused kernels' source on a CPU: Triton interprets them in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.fused.test_decoder import FUSED_ALONE
from tests.models.zoo_models import RECOGNISED, RECOGNISED_FOR_A_GPU
from tests.triton_process import needs_triton, run_interpreted

HERE = Path(__file__).parent
pytestmark = needs_triton


@pytest.mark.integration
def test_operations() -> None:
    run_interpreted(HERE / "interpreted_operations.py", FUSED_SET="small")


@pytest.mark.integration
def test_low_rank_products() -> None:
    run_interpreted(HERE / "interpreted_low_rank.py", FUSED_SET="small")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_low_rank_products_of_many_shapes() -> None:
    run_interpreted(HERE / "interpreted_low_rank.py", FUSED_SET="large")


@pytest.mark.slow
def test_decoders() -> None:
    run_interpreted(
        HERE / "interpreted_decoder.py",
        FUSED_KINDS="qwen3:bfloat16,gemma2:float32,olmoe:float32",
    )


@pytest.mark.slow
def test_far_positions() -> None:
    run_interpreted(HERE / "interpreted_far_positions.py")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_decoders_of_all_recognised_models() -> None:
    kinds = [
        f"{name}:{dtype}"
        for name in RECOGNISED + RECOGNISED_FOR_A_GPU + FUSED_ALONE
        for dtype in ("float32", "bfloat16")
    ]
    run_interpreted(HERE / "interpreted_decoder.py", FUSED_KINDS=",".join(kinds))
    run_interpreted(HERE / "interpreted_int8_pool.py")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_operations_of_many_shapes() -> None:
    run_interpreted(HERE / "interpreted_operations.py", FUSED_SET="large")
