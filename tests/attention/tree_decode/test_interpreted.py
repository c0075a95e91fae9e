"""The kernels' source on a CPU: Triton interprets them, each set of cases in its own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.triton_process import needs_triton, run_interpreted

HERE = Path(__file__).parent
pytestmark = needs_triton


@pytest.mark.slow
def test_attention_over_random_trees() -> None:
    run_interpreted(HERE / "interpreted_attention.py", TREE_SEEDS="0:2")


@pytest.mark.slow
def test_an_engine() -> None:
    run_interpreted(HERE / "interpreted_engine.py")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
@pytest.mark.timeout(3600)
def test_attention_over_many_random_trees(part: int) -> None:
    run_interpreted(
        HERE / "interpreted_attention.py", TREE_SEEDS=f"{100 + 60 * part}:{160 + 60 * part}"
    )
