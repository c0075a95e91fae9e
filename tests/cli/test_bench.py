"""`yaie bench` and `yaie demo`: progress and tables on a terminal, JSON elsewhere."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from yaie.bench import tree
from yaie.cli import terminal
from yaie.cli.bench import offline_lines, start_lines
from yaie.cli.main import run_command_line


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The notes of a command, in a list."""
    shown: list[str] = []
    monkeypatch.setattr(terminal, "note", shown.append)
    return shown


@pytest.fixture
def small_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "measure_tree", functools.partial(tree.measure_tree, scale=0.001))


@pytest.mark.slow
@pytest.mark.usefixtures("small_tree")
def test_a_terminal_shows_a_table_with_goals(
    notes: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda _stream: True)
    assert run_command_line(["bench", "tree", "--quick"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["figure", "value", "goal", "unit", "met"]
    *figures, fragmentation = lines
    assert len(figures) == 8
    assert all(line.split()[-1] in ("yes", "NO") for line in figures)
    assert "runs of slots per sequence" in fragmentation
    assert [note.partition(":")[0] for note in notes] == [f"{n} of 9" for n in range(1, 10)]
    assert run_command_line(["bench", "tree", "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["benchmark"] == "tree"


@pytest.mark.integration
@pytest.mark.usefixtures("small_tree", "notes")
def test_a_pipe_gets_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["bench", "tree", "--quick"]) == 0
    assert json.loads(capsys.readouterr().out)["benchmark"] == "tree"


def test_offline_announces_each_run(
    notes: list[str], tiny_model_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--requests", "2", "--shared-prefix", "20", "--own", "4", "--output", "3"]
    model = ["-m", str(tiny_model_dir), "--num-slots", "512", "--threads", "1"]
    assert run_command_line(["bench", "offline", "--repeats", "2", *sizes, *model]) == 0
    assert notes[-3:] == ["warm-up …", "run 1 of 2 …", "run 2 of 2 …"]
    report = json.loads(capsys.readouterr().out)
    lines = offline_lines(report)
    assert "2 requests at once, medians of 2 runs" in lines[0]
    assert len(lines) == 2 + len(report["cold"])


def test_the_table_of_starts_has_a_line_for_each_kind() -> None:
    figures = {"ready_s": 1.5, "first_token_s": 2.0, "found_packed_weights": False}
    memory = {"together": 300 * 2**20, "bound": 700 * 2**20}
    report: dict[str, Any] = {
        "starts": {"nothing_cached": figures, "all_cached": figures},
        "memory": {"all_cached": memory},
    }
    lines = start_lines(report)
    assert len(lines) == 4
    assert lines[1].split() == ["nothing_cached", "1.5", "2.0", "False"]
    assert "300 MiB (goal: at most 700 MiB)" in lines[3]


def test_demo_announces_each_run_and_changes_no_answer(
    notes: list[str], tiny_model_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ["-m", str(tiny_model_dir), "--num-slots", "8192", "--threads", "1"]
    assert run_command_line(["demo", "--requests", "2", "--repeats", "1", "--json", *model]) == 0
    assert [note for note in notes if not note.startswith("loading")] == 2 * [
        "warm-up …",
        "run 1 of 1 …",
    ]
    report = json.loads(capsys.readouterr().out)
    assert report["same_answers"] == report["answers"] == 2
