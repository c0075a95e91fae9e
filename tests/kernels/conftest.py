"""The fake machine on which tests start the loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.toolchain import FakeCompiler, Machine
from yaie.kernels import instruction_sets


def make_program(path: Path, text: str = "exit 1\n") -> Path:
    """Write an executable shell script."""
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with an empty cache, one compiler, and the sets `avx1024` and `portable`."""
    monkeypatch.setattr(instruction_sets, "of_this_machine", lambda: ("avx1024", "portable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", str(make_program(tmp_path / "cxx")))
    return Machine(tmp_path, FakeCompiler())
