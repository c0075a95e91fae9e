"""The schedules of attention alone, in a small program: schedules.cpp."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.kernels.compiler import needs_compiler
from yaie.kernels import build

PROGRAM = Path(__file__).with_name("schedules.cpp")


@needs_compiler
@pytest.mark.integration
def test_layers_of_one_kind_share_a_schedule(tmp_path: Path) -> None:
    program = tmp_path / "schedules"
    flags = ["-std=c++17", "-O0", f"-I{build.SOURCES}"]
    compiler = shlex.split(build.require_compilers()[0])
    subprocess.run([*compiler, *flags, str(PROGRAM), "-o", str(program)], check=True, timeout=600)
    for num_kinds in (1, 2, 4):
        done = subprocess.run([program, str(num_kinds)], check=True, capture_output=True, text=True)
        assert done.stdout.split() == [str(num_kinds)] * 3
    # More kinds than are kept: schedules are rebuilt, and each layer still gets its own.
    subprocess.run([program, "5"], check=True, capture_output=True)
