"""Libraries of another compiler and for another processor compute the same as the usual one.

Other tests compare the usual one with torch. A small program, driver.cpp, prints a library's
results for fixed inputs, so that the other processor can lack Python and torch.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kernels.compiler import find_compiler
from yaie.kernels import build, library_search
from yaie.kernels.library import Library

pytestmark = pytest.mark.slow

DRIVER = Path(__file__).with_name("driver.cpp")
TIMEOUT_S = 1800  # the machine may be busy

CLANG = shutil.which("clang++")
AARCH64_GCC = shutil.which("aarch64-linux-gnu-g++")
EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
AARCH64_SYSTEM = "/usr/aarch64-linux-gnu"  # the emulator's C and C++ libraries

# Of the largest result. One compiler fuses products and sums, the other does not; a result that
# becomes a byte may then be rounded differently.
TOLERANCE, BYTES_TOLERANCE = 1e-5, 3e-2

needs_clang = pytest.mark.skipif(CLANG is None, reason="clang++ is not installed (Debian: clang)")

Numbers = dict[str, list[float]]


def make_driver(compiler: str, library: Path, program: Path) -> Path:
    """Link the program with this library."""
    command = [*shlex.split(compiler), "-std=c++17", "-O1", str(DRIVER), str(library)]
    command += ["-o", str(program)]
    subprocess.run(command, check=True, timeout=TIMEOUT_S)
    return program


def run_driver(*command: str) -> Numbers:
    """Return the library's results by name."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: [float(number) for number in numbers] for name, *numbers in lines}


def assert_close(found: Numbers, expected: Numbers) -> None:
    assert list(found) == list(expected) and len(expected) > 50
    for name, numbers in expected.items():
        largest = max(map(abs, numbers))
        assert largest > 0, name
        error = max(abs(a - b) for a, b in zip(found[name], numbers, strict=True))
        tolerance = BYTES_TOLERANCE if "int" in name else TOLERANCE
        assert error <= tolerance * largest, name


@pytest.fixture(scope="module")
def library() -> Library:
    """The library of all other tests."""
    loaded = library_search.load()
    if loaded is None:
        pytest.skip(f"no kernel library to compare with: {library_search.status().reason}")
    return loaded


@pytest.fixture(scope="module")
def usual(library: Library, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program with that library."""
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("a prebuilt library, and no C++ compiler to build the program with")
    program = tmp_path_factory.mktemp("usual") / "driver"
    return str(make_driver(compiler, library.path, program))


@pytest.mark.timeout(2 * TIMEOUT_S)
@needs_clang
def test_clang_computes_the_same_with_each_instruction_set(
    library: Library, usual: str, tmp_path: Path
) -> None:
    assert CLANG is not None
    of_clang = tmp_path / build.LIBRARY_NAME
    build.compile_library(CLANG, of_clang, library.instruction_sets)
    program = str(make_driver(CLANG, of_clang, tmp_path / "driver"))
    assert Library(of_clang).instruction_sets == library.instruction_sets
    for name in library.instruction_sets:
        assert_close(run_driver(program, name), run_driver(usual, name))


@pytest.mark.timeout(2 * TIMEOUT_S)
@pytest.mark.skipif(
    AARCH64_GCC is None,
    reason="no compiler for aarch64 is installed (Debian: g++-aarch64-linux-gnu)",
)
@pytest.mark.skipif(
    EMULATOR is None, reason="no emulator of aarch64 is installed (Debian: qemu-user-static)"
)
@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        pytest.param(AARCH64_GCC, (), id="g++"),
        pytest.param(CLANG, ("--target=aarch64-linux-gnu",), id="clang++", marks=needs_clang),
    ],
)
def test_a_library_for_aarch64_computes_the_same(
    usual: str, tmp_path: Path, compiler: str, flags: tuple[str, ...]
) -> None:
    assert AARCH64_GCC is not None and EMULATOR is not None
    of_aarch64 = tmp_path / build.LIBRARY_NAME
    build.compile_library(compiler, of_aarch64, ("portable",), flags)
    program = str(make_driver(AARCH64_GCC, of_aarch64, tmp_path / "driver"))
    found = run_driver(EMULATOR, "-L", AARCH64_SYSTEM, program, "portable")
    assert_close(found, run_driver(usual, "portable"))
