"""Tests of Triton kernels: the mark of those that need it, and processes that interpret kernels."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="triton is not installed: pip install triton"
)


def run_interpreted(file: Path, **variables: str) -> None:
    """Run a file of tests in a process whose kernels are interpreted; show its failures."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", str(file)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", **variables}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
