"""Table, JSON, targets and bars, from scripted runs and invented figures."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from benchmarks.__main__ import run_command_line
from benchmarks.peers import runner
from benchmarks.peers.chart import draw_chart
from benchmarks.peers.report import (
    add_to_file,
    check_file,
    make_report,
    medians_of,
    print_report,
    standing,
)
from benchmarks.peers.runner import ModelFacts, Options, Results
from benchmarks.peers.targets import TARGETS, judge, price_of_sharing
from benchmarks.peers.workloads import SHAPES, choose_shapes
from tests.benchmarks.peers.conftest import QUICK
from yaie.base.errors import InvalidRequest

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def report(facts: ModelFacts, options: Options, echo_results: Results) -> dict[str, Any]:
    shapes = choose_shapes(QUICK, quick=True)
    made = make_report(facts, shapes, options, echo_results, "python -m benchmarks peers --quick")
    read: dict[str, Any] = json.loads(json.dumps(made))
    return read


def beside(report: dict[str, Any], peer: str, precision: str, factor: float) -> dict[str, Any]:
    """The report with a peer that took `factor` times as long as YAIE on everything."""
    made = copy.deepcopy(report)
    for workload in made["workloads"].values():
        about = {**workload["peers"]["yaie"], "title": f"<{peer}>", "precision": precision}
        workload["peers"][peer] = about
        for run in [run for run in workload["runs"] if run["peer"] == "yaie"]:
            slower = {
                key: run[key] and run[key] * factor for key in ("wall_s", "first_token_p50_s")
            }
            workload["runs"].append({**run, **slower, "peer": peer})
    return made


def test_the_report_has_command_machine_and_every_run(report: dict[str, Any]) -> None:
    assert report["machine"]["cores"] >= 1
    for workload in report["workloads"].values():
        assert workload["command"].startswith("python -m benchmarks peers")
        assert len(workload["runs"]) == 2
        assert workload["distinct_prompt_tokens"] <= workload["prompt_tokens"]


def test_medians_leave_out_faulty_runs(report: dict[str, Any]) -> None:
    first, second = report["workloads"]["w1"]["runs"]
    first["wall_s"], second["wall_s"], second["faults"] = 2.0, 9.0, ["1 output token of 2"]
    assert medians_of(report)["w1"]["yaie"]["wall_s"] == 2.0
    first["error"] = "gone"
    assert "yaie" not in medians_of(report)["w1"]


def test_the_table_shows_ratios_work_and_failures(report: dict[str, Any]) -> None:
    made = beside(report, "other", "bf16", 2.0)
    made["workloads"]["w4"]["runs"][-1]["faults"] = ["3 output tokens came of 4"]
    with (console := Console(width=150)).capture() as captured:
        print_report(made, console)
    text = captured.get()
    assert "<other>" in text and "2.00x" in text and "1/2" in text
    assert "W4 other: 3 output tokens came of 4" in text
    assert "W1 yaie: 2.00x other in wall time" in text


def test_bars_are_as_long_as_the_figures_and_labels_are_text(report: dict[str, Any]) -> None:
    root = ElementTree.fromstring(draw_chart(beside(report, "other", "bf16", 2.0)))
    lengths = {
        kind: [float(r.attrib["width"]) for r in root.iter(f"{SVG}rect") if r.get("class") == kind]
        for kind in ("ours", "theirs")
    }
    assert len(lengths["ours"]) == len(lengths["theirs"]) == 5
    for ours, theirs in zip(lengths["ours"], lengths["theirs"], strict=True):
        assert theirs == pytest.approx(2 * ours, abs=0.2)
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert words.count("<other>") == words.count("YAIE") == 5
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.attrib["x"]) <= width - 40
        assert 0 <= float(text.attrib["y"]) <= height
    assert "prefers-color-scheme: dark" in (root.find(f"{SVG}style").text or "")  # type: ignore[union-attr]


def test_a_file_gathers_commands_workload_by_workload(
    report: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "figures.json"
    later = copy.deepcopy(report)
    for name in ("w1", "w2", "w5"):
        del later["workloads"][name]
        del report["workloads"]["w4" if name == "w5" else name]
    later["workloads"]["w7"]["command"] = "later"
    add_to_file(report, path)
    merged, written = add_to_file(later, path)
    assert written == path
    assert merged == json.loads(path.read_text())
    assert list(merged["workloads"]) == ["w4", "w5", "w7"]
    assert merged["workloads"]["w7"]["command"] == "later"


@pytest.mark.parametrize("what", ["cpu", "instruction_set"])
def test_figures_of_another_machine_go_into_another_file(
    report: dict[str, Any], tmp_path: Path, what: str
) -> None:
    path = tmp_path / "figures.json"
    add_to_file(report, path)
    before = path.read_text()
    assert report["machine"][what]
    report["machine"][what] = "another"
    for expected in ("figures-2.json", "figures-3.json"):
        merged, written = add_to_file(report, path)
        assert written.name == expected
        assert json.loads(written.read_text()) == merged == report
    assert path.read_text() == before


def test_an_unfit_file_is_refused_before_measuring(
    report: dict[str, Any], facts: ModelFacts, options: Options, tmp_path: Path
) -> None:
    path = tmp_path / "deep" / "figures.json"
    check_file(facts, options, path)
    assert not path.parent.exists()
    add_to_file(report, path)
    check_file(facts, options, path)
    with pytest.raises(InvalidRequest, match="another model; name another file"):
        check_file(facts, replace(options, kv_bytes=1), path)
    path.write_text(path.read_text()[:-9])
    with pytest.raises(InvalidRequest, match="no figures that can be read"):
        check_file(facts, options, path)
    with pytest.raises(InvalidRequest, match="name another folder"):
        check_file(facts, options, path / "below a file.json")


def test_the_command_refuses_before_it_measures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[object] = []
    monkeypatch.setattr(runner, "measure_peers", lambda *given: measured.append(given))
    (tmp_path / "a.json").write_text('{"workloads": {}, "benchmark": "other"}')
    typed = ["peers", "--peers", "yaie", "--out", str(tmp_path), "--name", "a"]
    assert run_command_line([*typed, "--peers-home", str(tmp_path)]) == 2
    assert "another benchmark" in capsys.readouterr().err and not measured


def figures(wall: float, gap: float = 1.0, first: float = 1.0) -> dict[str, float]:
    return {"wall_s": wall, "between_tokens_p50_s": gap, "first_token_p50_s": first}


PRECISIONS = {"yaie": "bf16", "yaie-int8": "int8", "a": "bf16", "b": "int8", "c": "int4"}


def test_a_ratio_is_against_the_best_peer_of_equal_precision_or_more() -> None:
    peers = {"yaie": 10.0, "yaie-int8": 5.0, "a": 16.0, "b": 12.0, "c": 1.0}
    medians = {"w1": {name: figures(wall) for name, wall in peers.items()}}
    found = {v.yaie: v for v in judge("qwen3-0.6b-shape", medians, PRECISIONS)}
    assert (found["yaie"].best_peer, found["yaie"].ratio, found["yaie"].is_met) == ("a", 1.6, True)
    int8 = found["yaie-int8"]
    assert (int8.best_peer, int8.ratio, int8.goal, int8.is_met) == ("b", 2.4, 3.0, False)
    assert "MISSED" in int8.describe()


def test_time_between_tokens_has_its_own_targets() -> None:
    medians = {"w4": {"yaie": figures(5, gap=0.040), "a": figures(4, gap=0.048)}}
    wall, gap = judge("qwen3-0.6b-shape", medians, PRECISIONS)
    assert (wall.goal, wall.is_met, wall.ratio) == (None, None, 0.8)
    assert (gap.goal, gap.is_met) == (1.1, True)
    assert gap.ratio == pytest.approx(1.2)


def test_other_models_have_ratios_without_targets() -> None:
    medians = {"w1": {"yaie": figures(5), "a": figures(4)}}
    (verdict,) = judge("builtin", medians, PRECISIONS)
    assert (verdict.goal, verdict.ratio) == (None, 0.8)


def test_the_first_token_of_a_replay_is_measured_in_steps(report: dict[str, Any]) -> None:
    for run in report["workloads"]["w7"]["runs"]:
        run["first_token_p50_s"], run["between_tokens_p50_s"] = 0.3, 0.1
    assert "W7 yaie: first token after 3.00 steps, target 1.5: MISSED" in standing(report)


def test_the_price_of_sharing_is_measured_without_sharing() -> None:
    medians = {"w3": {"yaie": figures(101), "yaie-unshared": figures(100)}}
    assert price_of_sharing(medians) == (1.01, True)
    medians["w3"]["yaie"] = figures(103)
    assert price_of_sharing(medians) == (1.03, False)
    assert price_of_sharing({"w3": {"yaie": figures(1)}}) is None


def test_every_target_names_a_workload() -> None:
    targets: Sequence[Any] = [target for of_model in TARGETS.values() for target in of_model]
    assert {target.workload for target in targets} == set(SHAPES)


@pytest.mark.slow
def test_the_command_measures_writes_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "wait_until_idle", lambda **_: True)  # other tests run beside it
    typed = ["peers", "--peers", "yaie,vllm", "--workloads", "w4", "--quick"]
    typed += ["--repeats", "1", "--kv-bytes", "32M", "--out", str(tmp_path)]
    assert run_command_line([*typed, "--peers-home", str(tmp_path / "none")]) == 0
    shown = capsys.readouterr()
    assert "vLLM is not installed" in shown.err and "YAIE" in shown.out
    written = json.loads((tmp_path / "peers-builtin-quick.json").read_text())
    assert list(written["workloads"]) == ["w4"]
    ElementTree.parse(tmp_path / "peers-builtin-quick.svg")


def test_without_peers_the_error_names_the_list_of_peers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["peers", "--peers", "vllm", "--peers-home", str(tmp_path)]
    assert run_command_line(typed) == 1
    assert "python -m benchmarks peers --list" in capsys.readouterr().err
    assert run_command_line([*typed, "--list"]) == 0
    assert "pip install" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["--workloads=w9", "--peers=ollama", "--quantization=int3"])
def test_unknown_names_are_a_usage_error(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["peers", wrong]) == 2
    assert wrong.partition("=")[2] in capsys.readouterr().err
