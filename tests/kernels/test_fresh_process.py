"""New processes that load, or compile, the real kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.compiler import find_compiler, needs_compiler
from tests.kernels.report import report
from yaie.kernels import build, instruction_sets, library_search
from yaie.kernels.library import Library

pytestmark = [pytest.mark.integration, needs_compiler]

FASTER = ("avx2", "avx512", "vnni", "bf16", "amx")


def test_a_fresh_process_uses_the_cache_and_imports_no_torch() -> None:
    library_search.load()
    found = report()
    assert found["loaded"] is True
    assert found["torch"] is False


@pytest.mark.parametrize(
    "name",
    # Each is compiled by itself, which takes some seconds.
    [pytest.param(name, marks=pytest.mark.slow) for name in ("portable", *FASTER)],
)
def test_an_instruction_set_can_be_forced(name: str) -> None:
    loaded = library_search.load()
    assert loaded is not None
    if name not in loaded.instruction_sets:
        pytest.skip(f"this processor or this library has no {name}")
    assert report(YAIE_KERNELS=name)["set"] == name


@pytest.mark.slow
def test_the_first_use_compiles_the_best_set_and_no_other(tmp_path: Path) -> None:
    best = instruction_sets.of_this_machine()[0]
    environment = {"YAIE_KERNELS": "auto", "XDG_CACHE_HOME": str(tmp_path)}
    found = report(**environment)
    assert found["sets"] == [found["set"]] == [best]
    assert "compiled with" in str(found["reason"]) or library_search.PREBUILT.is_file()
    again = report(**environment)
    assert again["set"] == best
    assert "compiled before" in str(again["reason"]) or library_search.PREBUILT.is_file()


def test_a_fresh_process_without_a_compiler_reports_it(tmp_path: Path) -> None:
    if library_search.PREBUILT.is_file():
        pytest.skip("a prebuilt library needs no compiler")
    found = report(PATH=str(tmp_path), CXX="", XDG_CACHE_HOME=str(tmp_path))
    assert found["loaded"] is False
    assert "no C++ compiler" in str(found["reason"])


def compile_source(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Compile a small source in place of the kernels, and return the library."""
    compiler = find_compiler()
    assert compiler is not None
    (folder / "csrc").mkdir(exist_ok=True)
    (folder / "csrc" / "kernels.cpp").write_text(source)
    monkeypatch.setattr(build, "SOURCES", folder / "csrc")
    monkeypatch.setattr(build, "MAIN_SOURCE", folder / "csrc" / "kernels.cpp")
    target = folder / build.LIBRARY_NAME
    build.compile_library(compiler, target)
    return target


def test_a_compiler_error_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(build.BuildFailed, match=r"failed: .*broken on purpose"):
        compile_source("#error broken on purpose\n", tmp_path, monkeypatch)
    assert not (tmp_path / build.LIBRARY_NAME).exists()


def test_a_library_without_the_functions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = 'extern "C" const char* yaie_source() { return YAIE_SOURCE; }\n'
    library = compile_source(source, tmp_path, monkeypatch)
    with pytest.raises(OSError, match="is not a kernel library"):
        Library(library)


def test_a_library_of_another_source_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = library_search.load()
    assert loaded is not None
    monkeypatch.setattr(build, "source_digest", lambda: "0123456789abcdef")
    with pytest.raises(OSError, match="compiled from another version of the source"):
        Library(loaded.path)


def test_a_field_missing_in_the_layout_does_not_compile(tmp_path: Path) -> None:
    compiler = find_compiler()
    assert compiler is not None
    command = [*compiler.split(), "-std=c++17", "-fsyntax-only"]
    for name in ("abi.h", "abi_recurrent.h", "layout.h"):
        (tmp_path / name).write_text((build.SOURCES / name).read_text())
    main = tmp_path / "main.cpp"
    main.write_text('#include "layout.h"\nint main() { yaie::describe_layout(); }\n')
    build.run_compiler([*command, str(main)])
    text = (tmp_path / "abi.h").read_text()
    (tmp_path / "abi.h").write_text(text.replace("int64_t num_rows;", "int64_t more, num_rows;"))
    with pytest.raises(build.BuildFailed, match="the list of fields"):
        build.run_compiler([*command, str(main)])
