"""The first start on a machine compiles the kernels and announces it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.compiler import needs_compiler

_LOAD = """
import logging
logging.basicConfig(level=logging.INFO)
from yaie.kernels import loader
assert loader.load() is not None
"""


@needs_compiler
@pytest.mark.integration
def test_the_first_start_announces_the_compilation_once(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "YAIE_KERNELS": "portable"}

    def load() -> str:
        command = [sys.executable, "-c", _LOAD]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "compiling the kernels, once" in load()
    assert load() == ""
