"""Building and loading the kernel library: with a compiler, without one, when things go wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from yaie.kernels import build, library
from yaie.kernels.library import Library

HAS_COMPILER = build.find_compiler() is not None
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="no C++ compiler")

REPORT = """
import json, sys
from yaie.kernels import library
loaded = library.load()
status = library.status()
print(json.dumps({
    "loaded": status.loaded, "reason": status.reason, "torch": "torch" in sys.modules,
    "set": loaded.instruction_set if loaded else None,
}))
"""


def report(**environment: str) -> dict[str, object]:
    """What a fresh process says about the library."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        env={**os.environ, **environment},
    )
    assert done.stderr == ""  # silent
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.fixture
def small_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of two functions in place of the kernels: compiled in a moment."""
    folder = tmp_path / "csrc"
    folder.mkdir()
    (folder / "kernels.cpp").write_text(
        'extern "C" int yaie_abi() { return 1; }\n'
        'extern "C" const char* yaie_source() { return YAIE_SOURCE; }\n'
    )
    monkeypatch.setattr(build, "SOURCES", folder)
    monkeypatch.setattr(build, "MAIN_SOURCE", folder / "kernels.cpp")
    monkeypatch.setattr(library, "PREBUILT", tmp_path / "none.so")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@needs_compiler
def test_a_fresh_process_loads_what_was_compiled_before_without_torch() -> None:
    library.load()
    found = report()
    assert found["loaded"] is True
    assert found["torch"] is False


def test_it_can_be_switched_off() -> None:
    found = report(YAIE_KERNELS="off")
    assert found["loaded"] is False
    assert found["reason"] == "switched off by YAIE_KERNELS=off"


@needs_compiler
@pytest.mark.parametrize("name", ["portable", "avx2", "avx512"])
def test_an_instruction_set_can_be_forced(name: str) -> None:
    loaded = library.load()
    assert loaded is not None
    if name not in loaded.instruction_sets:
        pytest.skip(f"this processor has no {name}")
    assert report(YAIE_KERNELS=name)["set"] == name


@needs_compiler
def test_an_instruction_set_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "YAIE_KERNELS": "avx1024"},
    )
    assert done.returncode != 0
    assert "YAIE_KERNELS is 'avx1024'" in done.stderr
    assert "portable" in done.stderr


def test_without_a_compiler_there_is_no_library_and_a_reason(tmp_path: Path) -> None:
    found = report(PATH=str(tmp_path), CXX="", XDG_CACHE_HOME=str(tmp_path))
    if library.PREBUILT.is_file():
        pytest.skip("a prebuilt library needs no compiler")
    assert found["loaded"] is False
    assert "no C++ compiler" in str(found["reason"])


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_a_damaged_library_in_the_cache_is_compiled_anew() -> None:
    compiler = build.find_compiler()
    assert compiler is not None
    target = build.cached_library(compiler)
    target.parent.mkdir(parents=True)
    target.write_bytes(b"\x7fELF but not much more")
    build.compile_library(compiler, target)
    assert target.stat().st_size > 1000
    assert [path.name for path in target.parent.iterdir()] == [target.name]


@needs_compiler
def test_a_library_of_another_source_is_refused(small_source: Path) -> None:
    compiler = build.find_compiler()
    assert compiler is not None
    target = build.cached_library(compiler)
    build.compile_library(compiler, target)
    with pytest.raises(OSError, match="is no kernel library"):
        Library(target)
    assert build.cached_library(compiler) == target
    (small_source / "more.h").write_text("// one more file\n")
    assert build.cached_library(compiler) != target


@needs_compiler
def test_what_does_not_compile_leaves_nothing_behind_and_says_why(small_source: Path) -> None:
    (small_source / "kernels.cpp").write_text("#error broken on purpose\n")
    compiler = build.find_compiler()
    assert compiler is not None
    target = build.cached_library(compiler)
    with pytest.raises(build.BuildFailed, match="broken on purpose"):
        build.compile_library(compiler, target)
    assert list(target.parent.iterdir()) == []


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_a_cache_that_cannot_be_written_is_a_reason_and_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    found, reason = library._find("auto")
    assert found is None
    assert "cannot be written" in reason
