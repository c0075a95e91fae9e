"""The fused decoder computes what transformers computes, or is not used."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models.zoo_models import RECOGNISED, RECOGNISED_FOR_A_GPU, executor_of, fuse, load_case
from yaie.base.settings import EngineConfig
from yaie.engine.execution import executor_choice as choosing
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.fused.plain import PlainOperations
from yaie.models.native.decoder_structure import Norm
from yaie.models.native.numerics_check import comparison_plan

# The others that run fused are tested in `test_families`.
FUSED_ALONE = [
    *("glm4", "cohere2", "starcoder2", "arcee"),  # in parallel; layer norms; MLPs without a gate
    *("qwen3-moe", "gpt-oss", "olmoe", "granite-moe-shared"),
]
OTHERS = ["gpt2", "opt", "gemma4", "hunyuan", "ministral3", "nanochat", "deepseek-v3"]


def logits_before_and_after(executor: TransformersExecutor) -> tuple[torch.Tensor, torch.Tensor]:
    plan = comparison_plan(executor.loaded)
    expected = executor.execute(plan)
    fuse(executor, PlainOperations())
    return expected, executor.execute(plan)


@pytest.mark.integration
@pytest.mark.parametrize("name", RECOGNISED + RECOGNISED_FOR_A_GPU + FUSED_ALONE)
def test_equals_transformers_in_float32(name: str, tmp_path: Path) -> None:
    executor = executor_of(load_case(name, tmp_path))
    expected, found = logits_before_and_after(executor)
    assert executor.name == "fused"
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kv_dtype", ["int8", "bfloat16"])
def test_pools_of_other_dtypes(kv_dtype: str, tmp_path: Path) -> None:
    executor = executor_of(load_case("qwen3", tmp_path, kv_dtype=kv_dtype))
    expected, found = logits_before_and_after(executor)
    assert executor.name == "fused"
    assert float((found - expected).norm() / expected.norm()) < 0.02


@pytest.mark.parametrize("name", OTHERS)
def test_other_structures_stay_transformers(name: str, tmp_path: Path) -> None:
    executor = executor_of(load_case(name, tmp_path))
    expected, found = logits_before_and_after(executor)
    assert executor.name == "transformers"
    assert torch.equal(found, expected)


class _WrongGate(PlainOperations):
    def gate(self, rows: torch.Tensor, activation: Any) -> torch.Tensor:
        return super().gate(rows.flip(-1), activation)


class _NoNorm(PlainOperations):
    def norm(self, rows: torch.Tensor, norm: Norm) -> torch.Tensor:
        raise RuntimeError("no compiler")


@pytest.mark.parametrize(("operations", "why"), [(_WrongGate, "off by"), (_NoNorm, "no compiler")])
def test_a_failing_fusion_is_dropped(
    operations: type[PlainOperations],
    why: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    executor = executor_of(load_case("qwen3", tmp_path))
    plan = comparison_plan(executor.loaded)
    expected = executor.execute(plan)
    with caplog.at_level(logging.WARNING):
        fuse(executor, operations())
    assert why in caplog.text
    assert executor.name == "transformers"
    assert torch.equal(executor.execute(plan), expected)  # the merged weights are the original's


def test_merged_weights_exist_once(tmp_path: Path) -> None:
    loaded = load_case("qwen2", tmp_path)
    model: Any = loaded.model
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    fuse(executor_of(loaded), PlainOperations())
    for name, weight in model.named_parameters():
        assert torch.equal(weight, before[name]), name
    attention, mlp = model.model.layers[0].self_attn, model.model.layers[0].mlp
    for parts in (
        [attention.q_proj, attention.k_proj, attention.v_proj],
        [mlp.gate_proj, mlp.up_proj],
    ):
        places = {part.weight.untyped_storage().data_ptr() for part in parts}
        assert len(places) == 1
        size = sum(part.weight.nbytes for part in parts)
        assert parts[0].weight.untyped_storage().nbytes() == size


@pytest.mark.parametrize(
    ("name", "execution"),
    [("qwen3", "fused"), ("qwen3-moe", "fused"), ("hunyuan", "transformers")],
)
def test_the_executor_for_a_gpu(
    name: str,
    execution: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """On this CPU: the order of the steps, with the device's answers made up."""
    captured: list[int] = []
    monkeypatch.setattr(choosing, "size_pool", lambda loaded, *_: loaded)
    monkeypatch.setattr(choosing, "CudaMeter", lambda _: None)
    monkeypatch.setattr(choosing, "make_queue", lambda _: None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0))
    monkeypatch.setattr(
        TransformersExecutor, "capture_decoding", lambda self, queue, rows: captured.append(rows)
    )
    loaded = load_case(name, tmp_path)
    config = EngineConfig(model=str(tmp_path), max_running=7)
    executor = choosing._executor_for_a_gpu(loaded, executor_of, may_fuse=True, config=config)
    assert executor.name == execution
    if name == "qwen3-moe":  # experts wait on this device
        assert not captured and "decode steps are not captured" in caplog.text
    else:
        assert captured == [7]
    unfused = choosing._executor_for_a_gpu(loaded, executor_of, may_fuse=False, config=None)
    assert unfused.name == "transformers"
