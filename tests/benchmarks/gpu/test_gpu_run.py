"""The bounded GPU run: its stages, its figures, and all of it once on a CPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu.__main__ import Stage, main, read_results, run_stages
from benchmarks.gpu.report import as_table
from benchmarks.gpu.runs import attention_choices
from benchmarks.gpu.shapes import SHAPES, write_shape
from benchmarks.gpu.trace import device_use
from yaie.stats import EngineStats


def python(name: str, code: str, limit_s: float = 60.0) -> Stage:
    return Stage(name, (sys.executable, "-c", code), limit_s)


def test_a_stage_that_hangs_or_fails_costs_only_itself(tmp_path: Path) -> None:
    stages = [
        python("hangs", "import time; time.sleep(600)", 1.0),
        python("fails", "print('seen'); raise SystemExit(3)"),
        python("works", "pass"),
    ]
    outcomes = run_stages(stages, tmp_path, 120.0)
    assert outcomes["hangs"].startswith("cut off after 1 s")
    assert outcomes["fails"] == "exit code 3; see fails.log"
    assert outcomes["works"] == "ok"
    assert (tmp_path / "fails.log").read_text(encoding="utf-8") == "seen\n"


def test_no_stage_starts_without_time(tmp_path: Path) -> None:
    outcomes = run_stages([python("late", "pass")], tmp_path, 0.0)
    assert outcomes == {"late": "left out: no time was left"}


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "results.ndjson"
    assert read_results(file) == []
    file.write_text('{"kind": "start"}\n{"kind": "dec', encoding="utf-8")
    assert read_results(file) == [{"kind": "start"}]


def test_chosen_methods_are_reported_with_their_estimate() -> None:
    stats = EngineStats()
    assert attention_choices(stats) == {}
    stats.count_attention("tree", 0.003)
    stats.count_attention("tree", 0.002)
    stats.count_attention("decode", 0.001)
    assert attention_choices(stats) == {
        "attention_steps": {"decode": 1, "tree": 2},
        "attention_estimate_ms": 2.0,
    }


def kernel(begin: float, length: float, category: str = "kernel") -> dict[str, Any]:
    return {"cat": category, "ts": begin, "dur": length}


def test_parallel_kernels_count_once_and_gaps_are_idle() -> None:
    events = [
        kernel(0, 10),
        kernel(5, 10),  # 5 of it beside the first
        kernel(20, 5, "gpu_memcpy"),
        kernel(21, 2),  # inside the copy
        kernel(0, 100, "cpu_op"),
        {"ph": "M", "name": "process_name"},
    ]
    assert device_use(events, 2) == {"launches_per_step": 2.0, "idle_share": 0.2}
    assert device_use([], 2) == {"launches_per_step": 0.0, "idle_share": None}


def test_the_table_joins_targets_and_traces() -> None:
    decode = {"shape": "qwen3-0.6b", "kind": "decode", "batch": 64, "own": 1024, "steps": 48}
    decode |= {"step_ms": 2.5, "scheduler_share": 0.031}
    lines = [
        decode | {"shared": 0, "tokens_per_s": 25_600.0},
        decode | {"shared": 896, "tokens_per_s": 60_000.0},
        {"shape": "qwen3-0.6b", "kind": "trace", "batch": 64}
        | {"launches_per_step": 12.0, "idle_share": 0.024},
        {"shape": "llama-3.1-8b", "kind": "prefill", "error": "OutOfMemoryError: 3 GiB"},
        {"shape": "6144 x 4096", "kind": "product", "weights": "int4", "rows": 1}
        | {"us": 9.25, "gb_per_s": 1443.2},
    ]
    rows = as_table(lines).splitlines()[2:]
    assert rows == [
        "| qwen3-0.6b | decode 64 | 25,600 | 24,000 | 2.50 | 3.1% | 12 | 2.4% |",
        "| qwen3-0.6b | decode 64, 896 shared | 60,000 |  | 2.50 | 3.1% |  |  |",
        "| llama-3.1-8b | prefill | OutOfMemoryError: 3 GiB |  |  |  |  |  |",
        "| 6144 x 4096 | int4, 1 rows | 9.2 us, 1,443 GB/s |  |  |  |  |  |",
    ]


@pytest.mark.parametrize(("name", "millions"), [("qwen3-0.6b", 596), ("llama-3.1-8b", 8030)])
def test_the_shapes_are_those_of_the_models(name: str, millions: int) -> None:
    import torch
    import transformers

    shape = SHAPES[name]
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(
            getattr(transformers, shape.config)(**shape.settings)
        )
    assert round(sum(each.numel() for each in model.parameters()) / 1e6) == millions


@pytest.mark.integration
def test_the_whole_run_on_a_cpu(tmp_path: Path) -> None:
    model = write_shape(tmp_path / "models", "tiny")
    assert write_shape(tmp_path / "models", "tiny") == model
    shapes = "tiny,products,tiny+int4"
    arguments = ["--out", str(tmp_path), "--device", "cpu", "--scale", "tiny", "--shapes", shapes]
    assert main(arguments) == 0
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["stages"] == dict.fromkeys(shapes.split(","), "ok")
    assert not [line for line in report["results"] if "error" in line]
    kinds = [line["kind"] for line in report["results"]]
    assert kinds == [
        *("start", *["decode"] * 3, "prefill", "offline"),
        *["product"] * 8,
        *("start", *["decode"] * 2, "prefill"),
    ]
    shared = report["results"][3]
    assert (shared["batch"], shared["shared"]) == (4, 48)
    assert shared["keys_unshared_over_read"] > 1.5  # the shared keys were read once
