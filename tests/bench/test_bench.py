"""The figures of the benchmarks; times are not asserted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yaie.api.llm import LLM
from yaie.base.errors import InvalidRequest
from yaie.bench.offline import measure_offline
from yaie.bench.shared_prefix import Workload
from yaie.bench.tree import measure_tree
from yaie.cli.main import run_command_line


@pytest.mark.integration
def test_every_figure_of_the_tree_is_compared_with_a_goal() -> None:
    report = measure_tree(scale=0.01)
    figures = {figure["name"]: figure for figure in report["figures"]}
    assert set(figures) == {
        "match_8192_tokens",
        "insert_8192_tokens",
        "evict_100k_leaves",
        "evict_1m_leaves",
        "explain_100k_tokens_held",
        "explain_100k_tokens_evicted",
        "memory_per_held_token",
        "memory_per_grown_token",
        "memory_per_node",
    }
    assert all(figure["value"] > 0 for figure in figures.values())
    assert all(f["met"] == (f["value"] <= f["goal"]) for f in figures.values())
    assert report["all_met"] == all(figure["met"] for figure in figures.values())
    assert report["scaled"], "figures of a small tree must not pass for real ones"


@pytest.mark.slow
def test_quick_leaves_out_the_largest_tree() -> None:
    names = [figure["name"] for figure in measure_tree(quick=True, scale=0.001)["figures"]]
    assert "evict_1m_leaves" not in names
    assert "evict_100k_leaves" in names


@pytest.fixture(scope="module")
def report(tiny_model_dir: Path) -> dict[str, Any]:
    workload = Workload(requests=4, shared_prefix=100, own=10, output=5)
    with LLM(tiny_model_dir, num_slots=4096, threads=1, audit=True) as llm:
        return measure_offline(workload, llm, repeats=2)


def test_a_cold_batch_computes_what_is_shared_once(report: dict[str, Any]) -> None:
    cold = report["cold"]
    assert cold["prompt_tokens"] == 4 * 110
    assert cold["output_tokens"] == 4 * 5
    # A chance agreement of the first shared token with an earlier run saves a row or two.
    assert 100 + 4 * 10 - 2 <= cold["prompt_rows_computed"] <= 100 + 4 * 10
    assert cold["cached_tokens"] == cold["prompt_tokens"] - cold["prompt_rows_computed"]
    assert cold["rows_saved"] == 4 * 110 + 4 * 4 - cold["rows_computed"]
    assert cold["kv_tokens_read"] < cold["kv_tokens_without_sharing"]


def test_the_same_batch_again_computes_one_row_a_prompt(report: dict[str, Any]) -> None:
    again = report["again"]
    assert again["prompt_rows_computed"] == 4
    assert again["cached_tokens"] == again["prompt_tokens"] - 4


def test_without_the_cache_every_row_is_computed(tiny_model_dir: Path) -> None:
    workload = Workload(requests=3, shared_prefix=50, own=5, output=4)
    with LLM(tiny_model_dir, num_slots=4096, threads=1, prefix_cache=False) as llm:
        measured = measure_offline(workload, llm, repeats=1)
    for batch in (measured["cold"], measured["again"]):
        assert batch["prompt_rows_computed"] == batch["prompt_tokens"] == 3 * 55
        assert (batch["rows_saved"], batch["cached_tokens"]) == (0, 0)
        assert batch["kv_tokens_read"] == batch["kv_tokens_without_sharing"]


def test_the_report_has_the_machine_and_the_workload(report: dict[str, Any]) -> None:
    read = json.loads(json.dumps(report))
    assert read["workload"] == {"requests": 4, "shared_prefix": 100, "own": 10, "output": 5}
    assert {"cpu", "instruction_set", "cores", "python", "yaie", "device"} <= set(read["machine"])
    assert 0 < read["cold"]["scheduler_share_of_step"] < 1


def test_prompts_share_their_prefix_and_no_token_more() -> None:
    workload = Workload(requests=8, shared_prefix=20, own=3, output=1)
    prompts = workload.prompts(vocab_size=100, seed=1)
    assert prompts == workload.prompts(vocab_size=100, seed=1)
    assert prompts != workload.prompts(vocab_size=100, seed=2)
    assert {tuple(prompt[:20]) for prompt in prompts} == {tuple(prompts[0][:20])}
    assert len({prompt[20] for prompt in prompts}) == 8


@pytest.mark.parametrize(
    "wrong", [{"requests": 0}, {"own": 0}, {"output": 0}, {"shared_prefix": -1}]
)
def test_an_empty_workload_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(wrong))):
        Workload(**wrong)


def test_a_workload_beyond_the_context_is_refused(tiny_model_dir: Path) -> None:
    with (
        LLM(tiny_model_dir, num_slots=4096, threads=1) as llm,
        pytest.raises(InvalidRequest, match=r"3004 tokens .* context length of 2048"),
    ):
        measure_offline(Workload(shared_prefix=3000, own=2, output=2), llm, repeats=1)


def test_the_demo_computes_less_and_answers_the_same(
    tiny_model_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["demo", "-m", str(tiny_model_dir), "--requests", "4", "--repeats", "1"]
    assert run_command_line([*typed, "--threads", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["same_answers"] == report["answers"] == 4
    off, on = report["off"], report["on"]
    assert off["prompt_rows_computed"] == off["prompt_tokens"] == on["prompt_tokens"]
    assert on["prompt_rows_computed"] < off["prompt_rows_computed"] / 2
    assert (off["reused"], on["reused"] > 0.5) == (0, True)


def test_bench_offline_prints_one_json_object(
    tiny_model_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["bench", "offline", "-m", str(tiny_model_dir), "--requests", "2", "--own", "4"]
    typed += ["--shared-prefix", "16", "--output", "2", "--repeats", "1", "--num-slots", "1k"]
    assert run_command_line(typed) == 0
    assert json.loads(capsys.readouterr().out)["benchmark"] == "offline"
