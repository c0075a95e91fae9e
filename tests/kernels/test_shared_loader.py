"""The kernels of a test run: compiled where a test uses them, and once for all workers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.compiler import find_compiler, needs_compiler
from tests.kernels.conftest import make_program

ROOT = Path(__file__).resolve().parents[2]
LOAD = """
from tests.kernels import shared_loader
from yaie.kernels import library_search
shared_loader.install()
print(library_search.status().reason)
"""
pytestmark = [pytest.mark.integration, needs_compiler]


class Compilations:
    """A compiler that notes its calls, and the variables of a machine with it and an empty cache.

    The library has the portable set alone, which compiles fastest.
    """

    def __init__(self, folder: Path) -> None:
        self.log = folder / "calls"
        self.log.touch()
        compiler = find_compiler()
        text = f'echo call >>{shlex.quote(str(self.log))}\nexec {compiler} "$@"\n'
        self.variables = {
            **os.environ,
            "CXX": str(make_program(folder / "cxx", text)),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "YAIE_KERNELS": "portable",
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.variables,
            stdout=subprocess.PIPE,
            text=True,
        )

    def count(self) -> int:
        return len(self.log.read_text().splitlines())


@pytest.fixture
def compilations(tmp_path: Path) -> Compilations:
    return Compilations(tmp_path)


def test_several_processes_compile_once(compilations: Compilations) -> None:
    started = [compilations.start("-c", LOAD) for _ in range(3)]
    found = sorted(process.communicate(timeout=600)[0].partition(",")[2] for process in started)
    assert compilations.count() == 1
    assert found[:2] == [" compiled before\n"] * 2
    assert found[2].startswith(" compiled with")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["tests/test_words.py"], 0),
        (["tests/test_floors.py", "-m", "integration", "--collect-only"], 0),
        (["tests/test_floors.py", "-m", "integration", "-k", "names_of_yaie"], 1),
        (["tests/engine/test_logit_rules.py", "-n", "2"], 1),
    ],
)
def test_a_run_compiles_what_it_uses(
    arguments: list[str], expected: int, compilations: Compilations
) -> None:
    process = compilations.start("-m", "pytest", "-p", "no:cacheprovider", *arguments)
    output = process.communicate(timeout=600)[0]
    assert process.returncode == 0, output
    assert compilations.count() == expected
