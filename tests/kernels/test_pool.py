"""The thread pool alone, in a small program: pool.cpp."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.compiler import needs_compiler
from yaie.kernels import build

pytestmark = [needs_compiler, pytest.mark.integration]
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
    """Return the number of threads and their result, with at most `memory` bytes of addresses."""
    command = [str(program), str(threads), str(memory)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    found, made = map(int, done.stdout.split())
    return found, made


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_requested_threads_compute(program: Path, threads: int) -> None:
    assert run(program, threads) == (threads, SUM)


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is enforced on Linux alone")
def test_the_pool_works_with_fewer_threads_than_requested(program: Path) -> None:
    threads, made = run(program, 1000, memory=100 * MIB)
    assert 1 <= threads < 1000
    assert made == SUM
