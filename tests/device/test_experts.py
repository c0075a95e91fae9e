"""Experts on the strict device: transformers' grouped products wait for nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import MAX_ROWS, config_of, device_executor
from tests.device.strict import device, on_host
from tests.device.test_decode_graphs import decode_plan

_HISTC = torch.histc


def histc_of_integers(values: torch.Tensor, **bounds: Any) -> torch.Tensor:
    """Count in floats: CUDA counts integers, as a CPU cannot."""
    return _HISTC(values.float(), **bounds)


@pytest.mark.parametrize("name", ["qwen3-moe", "mixtral"])
def test_a_captured_step_with_experts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(case for case in CASES if case.name == name)
    save(case, case.build(), tmp_path)
    monkeypatch.setattr(torch, "histc", histc_of_integers)
    # torch has grouped products on devices in bfloat16 only.
    queue, config = DelayedQueue(), replace(config_of(tmp_path), dtype="bfloat16")
    eager = device_executor(config, queue, max_rows=0)
    captured = device_executor(config, queue, max_rows=MAX_ROWS)
    model: Any = captured.loaded.model
    assert model.config._experts_implementation == "grouped_mm"
    for seed, lengths in enumerate([[5], [3, 9], [2, 8, 30, 6]]):
        plan = decode_plan(seed, lengths)
        plan.token_ids[:] %= 128
        with device.forbid_waits():
            launched = captured.execute(plan)
        found, expected = on_host(launched), on_host(eager.execute(plan))
        torch.testing.assert_close(found, expected, atol=0.05, rtol=0.05)
    assert captured._graphs is not None and captured._graphs.num_replayed == 3
