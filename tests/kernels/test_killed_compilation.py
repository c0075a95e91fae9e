"""A process that dies while it compiles leaves no compiler and, after the next start, no file."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yaie.kernels import build, library_search

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]
COMPILER = """#!/bin/sh
echo text > "$TMPDIR/cc1.s"
sleep 1000 &
echo $$ $! > '{told}'
wait
"""
START = "from yaie.kernels import library_search; library_search.load()"


def test_compilers_die_with_their_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, compiler = tmp_path / "told", tmp_path / "compiler"
    compiler.write_text(COMPILER.format(told=told))
    compiler.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", str(compiler))
    start = subprocess.Popen([sys.executable, "-c", START])
    try:
        wait_until(lambda: told.exists() and len(told.read_text().split()) == 2)
        pids = [int(each) for each in told.read_text().split()]
        (left,) = build.cache_folder().glob("*/*/cc1.s")
        assert left.parent.name.startswith(build.UNFINISHED)
        assert all(map(is_running, pids))
    finally:
        start.kill()
        start.wait()
    wait_until(lambda: not any(map(is_running, pids)))
    library_search.remove_unused(build.cache_folder())  # as every start does
    assert list(left.parents[1].iterdir()) == []


def test_a_process_killed_at_any_step_of_its_folder_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that raises stands for the kill, without the clean-up of an exception."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    for module, name in ((os, "open"), (build.fcntl, "flock"), (Path, "exists")):
        with monkeypatch.context() as kill:
            kill.setattr(module, name, end)
            with pytest.raises(KeyboardInterrupt), build.unfinished_folder(tmp_path):
                pass
    assert len(list(tmp_path.iterdir())) == 3
    for handle in Path("/proc/self/fd").iterdir():  # the system closes those of a killed process
        if str(tmp_path) in os.path.realpath(handle):
            os.close(int(handle.name))
    build.remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_removed_before_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process removes what is not locked, before the open or before the lock."""
    flock, open_ = build.fcntl.flock, os.open
    removals = ["open", "lock"]

    def lock(handle: int, how: int) -> None:
        if how == build.fcntl.LOCK_SH and removals == ["lock"]:
            removals.clear()
            build.remove_abandoned(tmp_path)
        flock(handle, how)

    def open_folder(path: Path, flags: int, *more: Any, **options: Any) -> int:
        if removals[:1] == ["open"]:
            del removals[0]
            build.remove_abandoned(tmp_path)
        return open_(path, flags, *more, **options)

    monkeypatch.setattr(build.fcntl, "flock", lock)
    monkeypatch.setattr(build.os, "open", open_folder)
    with build.unfinished_folder(tmp_path) as folder:
        assert not removals and folder.is_dir()
        build.remove_abandoned(tmp_path)
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_that_takes_too_long_leaves_no_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, compiler = tmp_path / "told", tmp_path / "compiler"
    compiler.write_text(COMPILER.format(told=told))
    compiler.chmod(0o700)
    monkeypatch.setattr(build, "TIMEOUT_S", 2.0)
    with pytest.raises(build.BuildFailed, match="longer than 2"):
        build.run_compiler([str(compiler), str(tmp_path / "library.so")])
    pids = [int(each) for each in told.read_text().split()]
    wait_until(lambda: not any(map(is_running, pids)))


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
