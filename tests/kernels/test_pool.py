"""The thread pool by itself, in a small program: pool.cpp."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.compiler import needs_compiler
from yaie.kernels import build

pytestmark = needs_compiler
PROGRAM = Path(__file__).with_name("pool.cpp")
SUM = sum(index * index for index in range(1000))
MIB = 1024**2


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled."""
    compiler = build.require_compilers()[0]
    target = tmp_path_factory.mktemp("pool") / "pool"
    flags = ["-std=c++17", "-O1", "-pthread", f"-I{build.SOURCES}"]
    command = [*shlex.split(compiler), *flags, str(PROGRAM), "-o", str(target)]
    subprocess.run(command, check=True, timeout=600)
    return target


def run(program: Path, threads: int, memory: int = 0) -> tuple[int, int]:
    """How many threads there were, and what they made, with at most so many bytes of addresses."""
    command = [str(program), str(threads), str(memory)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    found, made = map(int, done.stdout.split())
    return found, made


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_as_many_threads_compute_as_are_wanted(program: Path, threads: int) -> None:
    assert run(program, threads) == (threads, SUM)


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux heeds RLIMIT_AS, without which all threads start"
)
def test_threads_that_cannot_start_are_done_without(program: Path) -> None:
    threads, made = run(program, 1000, memory=100 * MIB)
    assert 1 <= threads < 1000
    assert made == SUM
