"""The warm-up on the strict device: it runs every kind of step that requests will need."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch

from tests.device.delayed_queue import DelayedQueue
from tests.device.device_model import config_of, device_executor
from yaie.attention.plan import StepPlan
from yaie.engine.core import EngineCore
from yaie.engine.execution.decode_graphs import DecodeGraphs
from yaie.engine.warm_up import warm_up


def test_prefill_captured_and_eager_decode_steps_run(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Graphs are for up to two rows, so that the last batch decodes eagerly."""
    queue, ran = DelayedQueue(), Counter[tuple[str, str]]()
    real = DecodeGraphs.execute

    def execute(graphs: DecodeGraphs, plan: StepPlan) -> torch.Tensor | None:
        logits = real(graphs, plan)
        kind = "decode" if len(plan.logit_rows) == plan.num_rows else "prefill"
        ran[kind, "eager" if logits is None else "captured"] += 1
        return logits

    monkeypatch.setattr(DecodeGraphs, "execute", execute)
    monkeypatch.setattr("yaie.engine.execution.executor_choice.make_queue", lambda _: queue)
    config = config_of(tiny_model_dir)
    core = EngineCore(config, device_executor(config, queue, max_rows=2))
    assert warm_up(core) > 0
    assert ran["prefill", "eager"] >= 2  # of the first prompt, and of those behind its prefix
    assert ran["decode", "captured"] >= 2
    assert ran["decode", "eager"] >= 2
    assert core.stats.num_failed == 0
    assert core.stats.num_replayed_steps == 0  # the engine counts from its first request
    core.check()
