"""The cache of compiled kernels: damaged files, remembered failures and old folders."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.kernels.toolchain import HEADER, Machine
from yaie.kernels import build, library_search


def target_of(*sets: str) -> Path:
    """Return the path of the library with these sets in the cache."""
    return build.library_cache_path(os.environ["CXX"], sets)


def test_a_failure_is_remembered_for_a_day(machine: Machine) -> None:
    machine.compiler.lacks = ("avx1024", "portable")
    _, first = machine.start()
    found, again = machine.start()
    assert found is None and len(machine.compiler.compiled) == 2
    assert "not in this compiler" in first
    assert first in again and "tried before" in again
    for marker in machine.folder.rglob(library_search.FAILED):
        a_day_ago = time.time() - library_search.REMEMBERED_S - 1
        os.utime(marker, (a_day_ago, a_day_ago))
    machine.start()
    assert len(machine.compiler.compiled) == 4


def test_a_file_that_does_not_load_is_a_failure_too(machine: Machine) -> None:
    machine.compiler.writes = "two functions"
    for _ in range(2):
        found, reason = machine.start("portable")
        assert found is None and "is not a kernel library" in reason
    assert machine.compiler.compiled == [("portable",)]


def test_a_damaged_library_is_compiled_again_after_a_day(machine: Machine) -> None:
    target = target_of("portable")
    target.parent.mkdir(parents=True)
    target.write_bytes(b"\x7fELF but not much more")
    marker = target.with_name(library_search.FAILED)
    marker.write_text("it cannot be loaded")
    found, reason = machine.start("portable")
    assert found is None and reason.startswith("it cannot be loaded")
    assert machine.compiler.compiled == []
    os.utime(marker, (0, 0))
    assert machine.start("portable")[0] is not None
    assert machine.compiler.compiled == [("portable",)]
    names = {path.name for path in target.parent.iterdir()}
    assert names == {target.name, target.name + build.DIGEST}


def test_a_library_damaged_on_disk_is_never_loaded(machine: Machine) -> None:
    """Truncated, or with zeros for unwritten blocks: loading it would raise a signal."""
    machine.start("portable")
    target = target_of("portable")
    whole = target.read_bytes()
    half = len(whole) // 2
    for damaged in (whole[:half], whole[:half] + bytes(len(whole) - half), b""):
        target.write_bytes(damaged)
        machine.compiler.compiled.clear()
        found, reason = machine.start("portable")
        assert found is not None and "compiled with" in reason
        assert machine.compiler.compiled == [("portable",)]
        assert machine.start("portable")[1].endswith("compiled before")


def test_a_library_without_its_digest_is_compiled_again(machine: Machine) -> None:
    for _ in range(2):
        assert "compiled with" in machine.start("portable")[1]
        (digest,) = machine.folder.rglob(f"*{build.DIGEST}")
        digest.unlink()
    assert machine.compiler.compiled == [("portable",), ("portable",)]


def test_each_choice_of_sets_has_its_own_file(machine: Machine) -> None:
    assert len({target_of(*sets) for sets in ((), ("portable",), ("avx2",))}) == 3


def test_another_source_has_another_file(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = target_of()
    assert target_of() == before
    (source := tmp_path / "csrc").mkdir()
    monkeypatch.setattr(build, "SOURCES", source)
    first = target_of()
    (source / "more.h").write_text("// one more file\n")
    assert len({before, first, target_of()}) == 3


def test_compiling_replaces_a_damaged_file(machine: Machine) -> None:
    target = target_of("portable")
    target.parent.mkdir(parents=True)
    target.write_bytes(b"\x7fELF but not much more")
    build.compile_library(os.environ["CXX"], target, ("portable",), run=machine.compiler)
    assert target.read_text() == HEADER + "portable"
    assert build.is_whole(target)


def test_a_failed_compilation_leaves_no_file(machine: Machine) -> None:
    machine.compiler.lacks = ("portable",)
    target = target_of("portable")
    with pytest.raises(build.BuildFailed, match="failed: error: portable is not in this compiler"):
        build.compile_library(os.environ["CXX"], target, ("portable",), run=machine.compiler)
    assert list(target.parent.iterdir()) == []


def test_a_compilation_removes_folders_unused_for_90_days(machine: Machine) -> None:
    days = {"old": 91, "used": 91, "young": 89}
    folders = {name: build.cache_folder() / name for name in days}
    for name, folder in folders.items():
        folder.mkdir(parents=True)
        for file in (build.LIBRARY_NAME, library_search.FAILED):
            (folder / file).touch()
        for path in (*folder.iterdir(), folder):
            then = time.time() - days[name] * library_search.DAY_S
            os.utime(path, (then, then))
    library_search.note_use(folders["used"] / build.LIBRARY_NAME)
    assert machine.start("portable")[0] is not None
    assert not folders["old"].exists()
    kept = {build.LIBRARY_NAME, library_search.FAILED}
    for name in ("used", "young"):
        assert {path.name for path in folders[name].iterdir()} == kept
    assert machine.start("portable")[1].endswith("compiled before")


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_start_removes_what_killed_compilations_left(machine: Machine, is_compiled: bool) -> None:
    if is_compiled:
        machine.start("portable")
    for name in ("some", "other"):
        (left := build.cache_folder() / name / "unfinished-1").mkdir(parents=True)
        (left / build.LIBRARY_NAME).touch()
    with build.unfinished_folder(build.cache_folder() / "other") as used:  # another process's
        machine.start("portable")
        assert list((build.cache_folder() / "other").iterdir()) == [used]
    assert list((build.cache_folder() / "some").iterdir()) == []
