"""The kernel's source on a CPU: Triton interprets it in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.triton_process import needs_triton, run_interpreted

HERE = Path(__file__).parent
pytestmark = needs_triton


@pytest.mark.slow
def test_truncation() -> None:
    run_interpreted(HERE / "interpreted_truncation.py", TRUNCATION_SET="small")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_truncation_of_a_large_set() -> None:
    run_interpreted(HERE / "interpreted_truncation.py", TRUNCATION_SET="large")
