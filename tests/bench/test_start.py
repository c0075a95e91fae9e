"""`yaie bench start`: real servers, their times and their memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from yaie.base.errors import RequestFailed
from yaie.base.settings import EngineConfig
from yaie.bench import start as start_module
from yaie.bench.memory import MemoryWatch, can_measure, process_tree
from yaie.bench.shared_prefix import Workload
from yaie.bench.start import (
    ALLOWANCE,
    KINDS,
    _environment,
    _forget,
    _wait_until_written,
    measure_start,
    packed_folder,
)
from yaie.kernels import library_search
from yaie.models.native.packed_cache import SUFFIX, UNFINISHED, open_cache

needs_proc = pytest.mark.skipif(not can_measure(), reason="the system shows no memory")
SMALL = Workload(requests=3, shared_prefix=32, own=8, output=4)


@pytest.mark.integration
@needs_proc
def test_a_watch_keeps_the_peak_of_an_ended_child() -> None:
    script = "import time\nheld = bytearray(90_000_000)\ndel held\ntime.sleep(0.5)\n"
    child = subprocess.Popen([sys.executable, "-c", script])
    with MemoryWatch(os.getpid(), interval_s=0.02) as watch:
        assert child.pid in process_tree(os.getpid())
        child.wait()
    assert 90_000_000 < watch.peaks[child.pid].resident < 200_000_000
    assert watch.peaks[child.pid].proportional <= watch.peaks[child.pid].resident
    assert watch.together > 0


@pytest.mark.slow
@needs_proc
def test_servers_are_started_measured_and_gone(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAIE_KERNELS", "off")
    monkeypatch.setattr(start_module, "_BEGIN_S", 0.1)  # the engine writes no weights
    settings = {"model": str(tiny_model_dir), "threads": 1}
    kinds = ("nothing_cached", "all_cached")
    before = process_tree(os.getpid())
    began = time.perf_counter()
    report = measure_start(settings, SMALL, repeats=1, kinds=kinds)
    spent = time.perf_counter() - began
    assert json.loads(json.dumps(report)) == report
    assert tuple(report["starts"]) == kinds
    for start in report["starts"].values():
        assert 0 < start["ready_s"] < start["first_token_s"] < spent
        assert not start["found_packed_weights"]  # without kernels weights are not packed
    memory = report["memory"]["all_cached"]
    assert memory["bound"] == memory["weights"] + memory["kv_pool"] + ALLOWANCE
    assert memory["within_bound"] == (memory["together"] <= memory["bound"])
    assert memory["engine_peak"] > memory["server_peak"] > 10 * 1024**2
    assert set(process_tree(os.getpid())) <= set(before)


def test_a_start_has_caches_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("off", str(tmp_path / "mine")):
        monkeypatch.setenv("YAIE_WEIGHTS_CACHE", given)
        for settings in ({"model": "m"}, {"model": "m", "weights_cache": given}):
            found = _environment(settings, tmp_path / "caches")
            for name in ("YAIE_WEIGHTS_CACHE", "XDG_CACHE_HOME"):
                monkeypatch.setenv(name, found[name])
            cache = open_cache(EngineConfig())
            assert cache is not None and cache.folder == packed_folder(tmp_path / "caches")


class Clock:
    """A clock that sleeping moves; `events` happen once their time is reached."""

    def __init__(self, events: dict[float, Callable[[], object]] | None = None) -> None:
        self.now = 0.0
        self._events = events or {}

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for due in [moment for moment in self._events if moment <= self.now]:
            self._events.pop(due)()


def wait_until_written(folder: Path, clock: Clock) -> None:
    _wait_until_written(folder, now=lambda: clock.now, sleep=clock.sleep)


def test_a_start_ends_once_its_weights_are_written(tmp_path: Path) -> None:
    """An earlier end would leave the next start without a cache."""
    folder = packed_folder(tmp_path)
    folder.mkdir(parents=True)
    unfinished, whole = folder / f"yaie-x{UNFINISHED}", folder / f"yaie-a{SUFFIX}"
    clock = Clock({1.0: unfinished.touch, 60.0: lambda: unfinished.rename(whole)})
    wait_until_written(tmp_path, clock)
    assert whole.exists() and 60.0 <= clock.now < 61.0


def test_a_start_gives_up_on_weights_that_are_never_written(tmp_path: Path) -> None:
    clock = Clock()
    wait_until_written(tmp_path, clock)  # as with a full disk
    assert 10.0 <= clock.now < 11.0
    folder = packed_folder(tmp_path)
    folder.mkdir(parents=True)
    (folder / f"yaie-x{UNFINISHED}").touch()
    with pytest.raises(RequestFailed, match=r"not written within 600 s"):
        wait_until_written(tmp_path, Clock())


def test_caches_that_a_kind_must_not_find_are_removed(tmp_path: Path) -> None:
    for kind in KINDS:  # after no start at all
        _forget(kind, tmp_path)
    left = []
    for kind in reversed(KINDS):
        for name in ("kernels", "packed"):
            (tmp_path / "yaie" / name).mkdir(parents=True, exist_ok=True)
        _forget(kind, tmp_path)
        left.append(sorted(path.name for path in tmp_path.glob("yaie/*")))
    assert left == [["kernels", "packed"], ["kernels"], []]


@pytest.mark.slow
@pytest.mark.skipif(library_search.load() is None, reason=library_search.status().reason)
def test_a_start_with_everything_cached_finds_packed_weights(tiny_model_dir: Path) -> None:
    settings = {"model": str(tiny_model_dir), "threads": 1}
    report = measure_start(settings, SMALL, repeats=1)
    found = {kind: start["found_packed_weights"] for kind, start in report["starts"].items()}
    assert found == {"nothing_cached": False, "kernels_cached": False, "all_cached": True}


@pytest.mark.integration
def test_a_failed_start_is_an_error_with_the_servers_message(tmp_path: Path) -> None:
    with pytest.raises(RequestFailed, match=r"exit status 3[\s\S]*no model"):
        measure_start({"model": str(tmp_path / "none")}, SMALL, repeats=1)
