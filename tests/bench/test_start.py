"""`yaie bench start`: it starts real servers, and its figures are of what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from yaie.bench.processes import MemoryWatch, can_measure, process_tree
from yaie.bench.shared_prefix import Workload
from yaie.bench.start import ALLOWANCE, measure_start
from yaie.errors import RequestFailed

needs_proc = pytest.mark.skipif(not can_measure(), reason="the system shows no memory")
SMALL = Workload(requests=3, shared_prefix=32, own=8, output=4)


@needs_proc
def test_a_watch_sees_the_peak_of_a_child_that_is_gone() -> None:
    script = "import time\nheld = bytearray(90_000_000)\ndel held\ntime.sleep(0.5)\n"
    child = subprocess.Popen([sys.executable, "-c", script])
    with MemoryWatch(os.getpid(), interval_s=0.02) as watch:
        assert child.pid in process_tree(os.getpid())
        child.wait()
    assert 90_000_000 < watch.peaks[child.pid].resident < 200_000_000
    assert watch.peaks[child.pid].proportional <= watch.peaks[child.pid].resident
    assert watch.together > 0


@needs_proc
def test_servers_are_started_measured_and_gone(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAIE_KERNELS", "off")
    settings = {"model": str(tiny_model_dir), "threads": 1}
    before = process_tree(os.getpid())
    began = time.perf_counter()
    report = measure_start(settings, SMALL, repeats=1, kinds=("nothing_cached", "all_cached"))
    spent = time.perf_counter() - began
    assert json.loads(json.dumps(report)) == report
    assert set(report["starts"]) == {"nothing_cached", "all_cached"}
    for start in report["starts"].values():
        assert 0 < start["ready_s"] < start["first_token_s"] < spent
    memory = report["memory"]["all_cached"]
    assert memory["bound"] == memory["weights"] + memory["kv_pool"] + ALLOWANCE
    assert memory["within_bound"] == (memory["together"] <= memory["bound"])
    assert memory["engine_peak"] > memory["server_peak"] > 10 * 1024**2
    assert set(process_tree(os.getpid())) <= set(before)


def test_a_server_that_does_not_start_is_an_error_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(RequestFailed, match=r"exit status 3[\s\S]*no model"):
        measure_start({"model": str(tmp_path / "none")}, SMALL, repeats=1)
