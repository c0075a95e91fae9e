"""Timed runs whose steps fail: they end with the failure instead of a figure or an endless wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import runs
from yaie.base.settings import EngineConfig
from yaie.engine.core import EngineCore


@pytest.fixture
def core(tiny_model_dir: Path) -> Iterator[EngineCore]:
    config = EngineConfig(model=str(tiny_model_dir), device="cpu", num_slots=512, max_running=4)
    made = EngineCore(config)
    yield made
    made.close()


def fail_steps(core: EngineCore, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let the executor compute `after` more steps, and then none."""
    compute, left = core.executor.compute, [after]

    def compute_or_fail(plan: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise ArithmeticError("the kernel is broken")
        return compute(plan)

    monkeypatch.setattr(core.executor, "compute", compute_or_fail)


RUNS: dict[str, Callable[[EngineCore], object]] = {
    "decode": lambda core: runs.decode(core, 2, 0, 16, 4),
    "prefill": lambda core: runs.prefill(core, 16, 11),
    "offline": lambda core: runs.offline(core, 3, 12, 16),
    "traced": lambda core: runs.traced(core, 2, 16, lambda step: [step() for _ in range(4)]),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("after", [0, 1, 10])
@pytest.mark.parametrize("name", RUNS)
def test_a_failing_step_ends_the_run_with_its_failure(
    core: EngineCore, monkeypatch: pytest.MonkeyPatch, name: str, after: int
) -> None:
    with monkeypatch.context() as failing:
        fail_steps(core, failing, after)
        with pytest.raises(runs.SequenceEnded, match="the kernel is broken"):
            RUNS[name](core)
    assert not core.has_work  # the next figure has the device for itself
    RUNS[name](core)


@pytest.mark.timeout(30)
def test_an_aborted_sequence_ends_the_wait_for_its_first_token(
    core: EngineCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = core.executor.compute

    def abort_and_compute(plan: Any) -> Any:
        for request in {sequence.request.request_id for sequence in core.scheduler.running}:
            core.abort(request)
        return compute(plan)

    monkeypatch.setattr(core.executor, "compute", abort_and_compute)
    with pytest.raises(runs.SequenceEnded, match="abort"):
        runs.decode(core, 2, 0, 16, 4)
