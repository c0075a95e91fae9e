"""The order in which the loader tries libraries, compilers and sets, and its reasons."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

import pytest

from tests.kernels.conftest import make_program
from tests.kernels.toolchain import HEADER, Machine
from yaie.base.errors import ConfigError
from yaie.kernels import build
from yaie.kernels.library_search import LibraryLoader


def test_off_disables_the_library() -> None:
    status = LibraryLoader("off").status()
    assert not status.loaded and status.switched_off
    assert status.reason == "switched off by YAIE_KERNELS=off"


def test_an_unknown_set_is_an_error_that_lists_the_known(machine: Machine) -> None:
    with pytest.raises(ConfigError, match=r"YAIE_KERNELS is 'avx512'.* off, avx1024, portable"):
        machine.start("avx512")


def test_a_prebuilt_library_needs_no_compiler(machine: Machine) -> None:
    (machine.folder / "prebuilt.so").write_text(HEADER + "all")
    found, reason = machine.start()
    assert found is not None and reason == "portable, prebuilt"
    assert machine.compiler.compiled == []


def test_an_unfit_prebuilt_library_is_replaced_by_a_compiled_one(machine: Machine) -> None:
    (machine.folder / "prebuilt.so").write_text(HEADER + "avx1024")
    found, reason = machine.start("portable")
    assert found is not None and reason.startswith("portable, compiled with")


def test_each_process_after_the_first_uses_the_cache(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "yaie.kernels.library_search")
    assert machine.start("portable")[1].startswith("portable, compiled with")
    assert [r.message for r in caplog.records] == ["compiling the kernels, once (about 15 s)"]
    caplog.clear()
    assert machine.start("portable")[1] == "portable, compiled before"
    assert machine.compiler.compiled == [("portable",)]
    assert caplog.records == []


def test_a_library_with_all_sets_serves_any_choice(machine: Machine) -> None:
    assert machine.start("all")[0] is not None
    assert machine.start("portable")[1] == "portable, compiled before"
    assert machine.compiler.compiled == [()]


def test_a_set_unknown_to_the_compiler_falls_back_to_the_next(machine: Machine) -> None:
    machine.compiler.lacks = ("avx1024",)
    for origin in ("compiled with", "compiled before"):
        found, reason = machine.start()
        assert found is not None and found.instruction_set == "portable"
        assert reason.startswith(f"portable, {origin}")
        assert "without avx1024" in reason and "not in this compiler" in reason
    assert machine.compiler.compiled == [("avx1024",), ("portable",)]


def test_a_library_for_another_processor_is_compiled_once(machine: Machine) -> None:
    for _ in range(2):
        found, reason = machine.start()
        assert found is not None and found.instruction_set == "portable"
        assert "compiled for another processor" in reason
    assert machine.compiler.compiled == [("avx1024",), ("portable",)]


def test_if_a_compiler_fails_the_next_is_tried(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = make_program(machine.folder / "broken")
    works = os.environ["CXX"]
    (machine.folder / "another name").symlink_to(broken)
    names = [broken, machine.folder / "another name", machine.folder / "none"]
    monkeypatch.setattr(build, "COMPILERS", (*(f"'{name}'" for name in names), works))
    monkeypatch.delenv("CXX")
    machine.compiler.broken = "broken"
    assert build.find_compilers() == [str(broken), works]
    found, reason = machine.start("portable")
    assert found is not None and reason == f"portable, compiled with {works}"
    assert machine.start("portable")[1] == "portable, compiled before"
    assert len(machine.compiler.commands) == 2
    monkeypatch.setenv("CXX", str(broken))  # an explicit choice has no fallback
    assert machine.start("portable")[0] is None


def test_cxx_may_be_a_command_with_arguments(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = os.environ["CXX"]
    launcher = make_program(machine.folder / "a launcher")  # as ccache is one
    monkeypatch.setenv("CXX", f"'{launcher}' {plain} -DMORE=1")
    assert "compiled with" in machine.start("portable")[1]
    assert machine.compiler.commands[0][:3] == [str(launcher), plain, "-DMORE=1"]
    assert machine.start("portable")[1].endswith("compiled before")
    monkeypatch.setenv("CXX", f"'{launcher}' {plain}")  # without the argument: another library
    assert "compiled with" in machine.start("portable")[1]


@pytest.mark.parametrize("name", ["no-such-compiler", "no-such-compiler -O2", "'g++"])
def test_a_missing_cxx_is_named(
    name: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", name)
    found, reason = machine.start()
    assert found is None
    assert f"$CXX is {name!r}, which was not found" in reason


def test_without_a_compiler_the_reason_says_what_to_install(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(machine.folder))
    monkeypatch.setenv("CXX", "")
    found, reason = machine.start()
    assert found is None
    assert "no C++ compiler; install g++ or clang++" in reason


def homeless() -> Path:
    """Fail as Path.home does for a user without an entry in the system's table."""
    raise RuntimeError("Could not determine home directory.")


def test_without_a_home_the_reason_names_the_variable_to_set(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    found, reason = machine.start()
    assert found is None
    assert "set XDG_CACHE_HOME or HOME" in reason
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine.folder))
    assert machine.start("portable")[0] is not None


def test_with_a_read_only_cache_each_process_compiles_its_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (machine.folder / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine.folder / "file"))
    (own := machine.folder / "own").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    found, reason = machine.start("portable")
    assert found is not None and found.instruction_set == "portable"
    assert "for this process only" in reason and "cannot be written" in reason
    (warning,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    assert "cannot be written" in warning.message and "XDG_CACHE_HOME" in warning.message
    assert list(own.iterdir()) == []


def test_without_any_writable_folder_there_is_a_reason(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.folder / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine.folder / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(machine.folder / "file"))
    found, reason = machine.start("portable")
    assert found is None
    assert "cannot be written" in reason and "temporary folder also failed" in reason
