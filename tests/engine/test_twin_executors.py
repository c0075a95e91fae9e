"""The check of a device's engine, on a CPU: it passes right steps and refuses wrong ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.engine.twin_executors import make_twins, run_overlapping_prompts
from tests.engine.watched_executor import Execute
from tests.flashinfer.models import write_model
from yaie.attention.plan import StepPlan
from yaie.base.errors import InvariantViolated


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("llama"), "llama", head_dim=128)


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_a_right_engine_passes(folder: Path, backend: str) -> None:
    twins = make_twins(folder, backend, "cpu")  # type: ignore[arg-type]
    run_overlapping_prompts(twins.core, seed=1, num_requests=4)
    assert twins.seen.num_steps > 20
    assert twins.seen.num_tokens > twins.seen.num_near_ties
    stats = twins.core.stats
    assert stats.cached_tokens > 0 and stats.kv_tokens_read < stats.kv_tokens_unshared


def test_one_wrong_key_is_seen(folder: Path) -> None:
    def spoil(plan: StepPlan, execute: Execute) -> torch.Tensor:
        segments = []
        for segment in plan.segments:
            slots = segment.slots.copy()
            slots[2:3] = slots[1:2]
            segments.append(replace(segment, slots=slots))
        return execute(replace(plan, segments=tuple(segments)))

    twins = make_twins(folder, "reference", "cpu", spoil)
    with pytest.raises((AssertionError, InvariantViolated), match="not close"):
        run_overlapping_prompts(twins.core, seed=1)
