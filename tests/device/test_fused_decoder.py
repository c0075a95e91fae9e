"""The fused decoder on the strict device: it never waits, and a graph of it serves any plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import MAX_ROWS, config_of, device_executor
from tests.device.strict import device, on_host
from tests.device.test_decode_graphs import decode_plan
from tests.device.test_experts import histc_of_integers
from tests.models.fused.test_decoder import fuse
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.fused.plain import PlainOperations


def check_captured_steps(
    executor: TransformersExecutor,
    original: TransformersExecutor,
    queue: DelayedQueue,
    tolerance: float,
) -> None:
    """Fuse and capture an executor; each of four replayed plans gives the original's logits."""
    fuse(executor, PlainOperations())
    assert executor.name == "fused"
    for tensor in (*executor.pool.tensors(), *original.pool.tensors()):
        tensor.zero_()  # a comparison wrote there
    executor.capture_decoding(queue, MAX_ROWS)
    for seed, lengths in enumerate([[5], [3, 9], [7, 1, 4], [2, 8, 30, 6]]):
        plan = decode_plan(seed, lengths)
        plan.token_ids[:] %= executor.loaded.vocab_size
        with device.forbid_waits():
            launched = executor.execute(plan)
        found, expected = on_host(launched), on_host(original.execute(plan))
        torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)
    assert executor._graphs is not None and executor._graphs.num_replayed == 4


def test_a_captured_fused_step_is_the_original_one(tiny_model_dir: Path) -> None:
    queue = DelayedQueue()
    config = config_of(tiny_model_dir)
    original = device_executor(config, queue, max_rows=0)
    fused = device_executor(config, queue, max_rows=0)
    check_captured_steps(fused, original, queue, tolerance=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["gemma3", "olmo2", "cohere2", "qwen3-moe"])
def test_captured_steps_of_other_layers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(case for case in CASES if case.name == name)
    save(case, case.build(), tmp_path)
    monkeypatch.setattr(torch, "histc", histc_of_integers)
    has_experts = name == "qwen3-moe"
    # torch has grouped products on devices in bfloat16 only.
    dtype, tolerance = ("bfloat16", 0.05) if has_experts else ("float32", 1e-4)
    queue, config = DelayedQueue(), replace(config_of(tmp_path), dtype=dtype)
    original = device_executor(config, queue, max_rows=0)
    fused = device_executor(config, queue, max_rows=0)
    if has_experts:  # a rounding of the original's may choose another expert
        fuse(original, PlainOperations())
    check_captured_steps(fused, original, queue, tolerance)
