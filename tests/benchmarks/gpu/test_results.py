"""Lines of results: figures, failures with all that a reader far from the card needs."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu import results as results_module
from benchmarks.gpu.card import git_tree
from benchmarks.gpu.first_run import CONTEXT_LOST
from benchmarks.gpu.results import DeviceLost, Results, read_results

CPU = torch.device("cpu")


def failing() -> dict[str, Any]:
    try:
        raise KeyError("inside a step")
    except KeyError:
        logging.getLogger("yaie.engine.core").exception("a step of 4 rows failed")
    raise ArithmeticError("no figure")


def test_a_failure_has_its_traceback_and_versions(tmp_path: Path) -> None:
    path = tmp_path / "results.ndjson"
    results = Results(path, CPU)
    assert results.add("decode", "tiny", lambda: {"step_ms": 1.5}, batch=4)
    assert not results.add("decode", "tiny", failing, batch=8)
    assert results.add("decode", "tiny", lambda: {"step_ms": 2.5}, batch=16)
    good, failed, later = read_results(path)
    assert (good["kind"], good["shape"], good["batch"], good["step_ms"]) == (
        *("decode", "tiny", 4),
        1.5,
    )
    assert (failed["batch"], failed["error"]) == (8, "ArithmeticError: no figure")
    assert "in failing" in failed["traceback"]
    assert "a step of 4 rows failed" in failed["logged"]
    assert "KeyError: 'inside a step'" in failed["logged"]
    assert failed["versions"]["torch"] == torch.__version__
    assert not {"error", "traceback", "logged", "versions"} & set(later)
    assert results.num_failed == 1


def test_a_wrong_result_counts_as_failed(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.ndjson", CPU)
    assert not results.add("attention", "tiny", lambda: {"error": "differs", "nan": 3})
    assert results.num_failed == 1


def test_a_lost_context_ends_the_stage_after_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = Results(tmp_path / "results.ndjson", torch.device("cuda"))
    monkeypatch.setattr(results_module, "_is_context_lost", lambda: True)
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    results.add("attention", "tiny", dict)
    with pytest.raises(DeviceLost, match="no figure"):
        results.add("attention", "tiny", failing)
    assert [line["blocking"] for line in read_results(tmp_path / "results.ndjson")] == [True, True]
    assert CONTEXT_LOST == 3  # as `first_run.sh` has it


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "results.ndjson"
    assert read_results(file) == []
    file.write_text('{"kind": "start"}\n{"kind": "dec', encoding="utf-8")
    assert read_results(file) == [{"kind": "start"}]


def test_a_tree_without_git_has_the_hash_of_git(tmp_path: Path) -> None:
    folder = tmp_path / "yaie"
    for name, content in {
        "a.py": b"a = 1\n",
        "a/b.py": b"",
        "a-b/c.bin": bytes(range(256)),
        "a0": b"x",
        "run": b"#!/bin/sh\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "run").chmod(0o755)
    git = ("git", "-C", str(tmp_path), "-c", "core.autocrlf=false")
    for command in (["init", "--quiet"], ["add", "yaie"]):
        subprocess.run([*git, *command], check=True)
    written = subprocess.run(
        [*git, "write-tree", "--prefix=yaie/"], check=True, capture_output=True, text=True
    )
    (folder / "a" / "__pycache__").mkdir()
    (folder / "a" / "__pycache__" / "b.pyc").write_bytes(b"\0")
    (folder / "empty").mkdir()
    assert git_tree(folder) == written.stdout.strip()
