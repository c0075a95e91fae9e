"""Figures of a GPU run, the tables of its report, and the models that it writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import shapes
from benchmarks.gpu.report import as_text, speed_table
from benchmarks.gpu.runs import attention_choices
from benchmarks.gpu.shapes import SHAPES, write_shape
from benchmarks.gpu.trace import device_use
from benchmarks.shapes import train_tokenizer
from yaie.base.stats import EngineStats


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
        {"shape": "6144 x 4096", "kind": "product", "weights": "int4", "rows": 1}
        | {"us": 9.25, "gb_per_s": 1443.2},
    ]
    rows = speed_table(lines).splitlines()[2:]
    assert rows == [
        "| qwen3-0.6b | decode 64 | 25,600 | 24,000 | 2.50 | 3.1% | 12 | 2.4% |",
        "| qwen3-0.6b | decode 64, 896 shared | 60,000 |  | 2.50 | 3.1% |  |  |",
        "| 6144 x 4096 | int4, 1 rows | 9.2 us, 1,443 GB/s |  |  |  |  |  |",
    ]


def test_the_report_joins_equal_failures_and_the_worst_of_attention() -> None:
    compared = {"kind": "attention", "shape": "qwen3-0.6b", "backend": "triton", "method": "tree"}
    failure = {"error": "RuntimeError: no\n driver", "traceback": "...", "versions": {}}
    lines = [
        compared | {"case": "tree 0", "relative_error": 0.0012},
        compared | {"case": "tree 1", "relative_error": 0.0021},
        compared | {"case": "captured", "relative_error": 0.0017},
        *(compared | {"case": f"tree {seed}", **failure} for seed in range(2, 8)),
        {"kind": "prefill", "shape": "llama-3.1-8b", "error": "OutOfMemoryError: 3 GiB"},
        {"kind": "timing", "shape": "tiny", "backend": "triton", "case": "open"},
        {"kind": "timing", "shape": "tiny", "method": "tree", "case": "shared", "batch": 64}
        | {"us": 31.44, "host_us": 80.0, "estimate_us": None},
    ]
    text = as_text(lines)
    assert text.startswith(
        "7 of 12 figures failed\n"
        "- RuntimeError: no driver\n"
        "  attention qwen3-0.6b triton tree tree 2, attention qwen3-0.6b triton tree tree 3, "
        "attention qwen3-0.6b triton tree tree 4, attention qwen3-0.6b triton tree tree 5 "
        "and 2 more\n"
        "- OutOfMemoryError: 3 GiB\n"
        "  prefill llama-3.1-8b\n"
    )
    assert "| qwen3-0.6b | tree | eager | 2 | 0.0021 |" in text
    assert "| qwen3-0.6b | tree | captured | 1 | 0.0017 |" in text
    assert "| tiny | tree | 64 shared | 31.4 |  | 80.0 |" in text
    assert as_text([]).startswith("0 of 0 figures failed")


def test_models_share_a_tokenizer_and_the_numbers_of_their_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load_file

    trained = []

    def train(vocabulary: int) -> Any:
        trained.append(vocabulary)
        return train_tokenizer(vocabulary)

    monkeypatch.setattr(shapes, "train_tokenizer", train)
    deeper = replace(SHAPES["tiny"], settings={**SHAPES["tiny"].settings, "num_hidden_layers": 12})
    monkeypatch.setitem(SHAPES, "deeper", deeper)
    folder = write_shape(tmp_path, "deeper")
    changed = (folder / "config.json").stat().st_mtime_ns
    assert write_shape(tmp_path, "tiny") == tmp_path / "tiny"
    assert write_shape(tmp_path, "deeper") == folder
    assert len(trained) == 1
    assert (folder / "config.json").stat().st_mtime_ns == changed
    first, last = (load_file(folder / f"layer-{layer}.safetensors") for layer in (0, 11))
    assert len(first) == 11
    for name, numbers in first.items():
        assert numbers.equal(last[name.replace(".layers.0.", ".layers.11.")])


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
