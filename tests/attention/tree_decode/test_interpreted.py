"""The kernels' source on a CPU: Triton interprets them, each set of cases in its own process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="triton is not installed"
)


def run_interpreted(file: str, **variables: str) -> None:
    """Run a file of tests in a process whose kernels are interpreted; show its failures."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        str(HERE / file),
    ]
    environment = {**os.environ, "TRITON_INTERPRET": "1", **variables}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


@pytest.mark.integration
def test_attention_over_random_trees() -> None:
    run_interpreted("interpreted_attention.py", TREE_SEEDS="0:12")


@pytest.mark.integration
def test_an_engine() -> None:
    run_interpreted("interpreted_engine.py")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
@pytest.mark.timeout(3600)
def test_attention_over_many_random_trees(part: int) -> None:
    run_interpreted("interpreted_attention.py", TREE_SEEDS=f"{100 + 60 * part}:{160 + 60 * part}")
