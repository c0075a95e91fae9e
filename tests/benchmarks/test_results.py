"""The recorded results: complete, readable, and equal to the reports that they came from."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import results
from benchmarks.__main__ import run_command_line
from benchmarks.peers.report import FIGURES, is_good, medians_of

RECORDS = results.read()


@pytest.fixture
def report() -> dict[str, Any]:
    return copy.deepcopy(results.to_reports(RECORDS)["qwen3-0.6b-shape-zen4"])


def test_every_record_names_its_machine_model_commit_and_command() -> None:
    assert len({(r["series"], r["workload"], r["peer"]) for r in RECORDS}) == len(RECORDS)
    for each in RECORDS:
        assert {"cpu", "instruction_set", "cores"} <= set(each["machine"])
        assert each["model"]["name"] and each["commit"] and each["command"]
        for run in filter(is_good, each["runs"]):
            assert set(FIGURES) <= set(run)


def test_records_of_a_report_give_the_report_back(report: dict[str, Any]) -> None:
    records = json.loads(json.dumps(results.to_records(report, "again", "abc")))
    assert results.to_reports(records) == {"again": report}


def test_recording_replaces_the_same_workloads_only(report: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "results.ndjson"
    results.record(report, "here", "old", path)
    later = copy.deepcopy(report)
    later["workloads"] = {"w1": later["workloads"]["w1"]}
    later["workloads"]["w1"]["runs"][0]["wall_s"] = 99.0
    assert results.record(later, "here", "new", path) == len(later["workloads"]["w1"]["peers"])
    found = results.to_reports(results.read(path))["here"]
    assert found["workloads"]["w1"] == later["workloads"]["w1"]
    assert found["workloads"]["w2"] == report["workloads"]["w2"]


def test_the_results_page_quotes_the_recorded_medians() -> None:
    page = Path(__file__).resolve().parents[2] / "docs/benchmarks/results.md"
    zen4 = page.read_text(encoding="utf-8").split("### Zen 4")[1].split("###")[0]
    medians = medians_of(results.to_reports(RECORDS)["qwen3-0.6b-shape-zen4"])
    for name in ("w1", "w2", "w3", "w4", "w5"):
        row = next(line for line in zen4.splitlines() if line.startswith(f"| {name.upper()} "))
        quoted = [float(cell) for cell in row.split("|")[2:5]]
        found = [medians[name][peer]["wall_s"] for peer in ("yaie", "yaie-int8", "vllm")]
        assert quoted == [round(value, 1) for value in found], name


def test_a_series_is_drawn_and_an_unknown_one_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "chart.svg"
    assert run_command_line(["chart", "qwen3-0.6b-shape-zen5", "--out", str(out)]) == 0
    assert out.read_text().startswith("<svg")
    assert run_command_line(["chart", "zen9", "--out", str(out)]) == 2
    assert "qwen3-0.6b-shape-zen5" in capsys.readouterr().err
