"""The comparison of attention with float64: right backends pass, wrong ones do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu import attention_check
from benchmarks.gpu.attention_cases import DECODE_STEPS, NUM_SLOTS, STEPS
from benchmarks.gpu.attention_timing import Steps, time_attention
from benchmarks.gpu.results import Results, read_results
from tests.device.padded_backend import PaddedBackend, PaddedStep
from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend
from yaie.device.queue import make_queue

CPU = torch.device("cpu")
LONGEST = 1 + max(int(plan.positions.max()) for plan in DECODE_STEPS.values())


class WrongStep(PaddedStep):
    """Keeps the slots of the first plan."""

    def refill(self, plan: StepPlan) -> None:
        if not hasattr(self, "is_filled"):
            super().refill(plan)
        self.is_filled = True


class StaleBackend(PaddedBackend):
    def make_static(self, num_rows: int, spare_slot: int, device: torch.device) -> PaddedStep:
        return WrongStep(self._queue, num_rows, self._context_len, spare_slot)


class Changed:
    """A prepared step whose results are changed."""

    def __init__(self, step: Any, change: Any) -> None:
        self.write, self._attend, self._change = step.write, step.attend, change

    def attend(self, *arguments: Any) -> torch.Tensor:
        return self._change(self._attend(*arguments))


class ChangedBackend(ReferenceBackend):
    def __init__(self, change: Any) -> None:
        self._change = change

    def prepare(self, plan: StepPlan, device: torch.device) -> Any:
        return Changed(super().prepare(plan, device), self._change)


class UnwrittenBackend(ReferenceBackend):
    def prepare(self, plan: StepPlan, device: torch.device) -> Any:
        step = super().prepare(plan, device)
        step.write = lambda *arguments: None  # type: ignore[method-assign]
        return step


def check(tmp_path: Path, backend: Any) -> dict[str, dict[str, Any]]:
    path = tmp_path / "results.ndjson"
    attention_check.check_methods(Results(path, CPU), "double", {"method": backend}, ("tiny",))
    return {line["case"]: line for line in read_results(path)}


@pytest.fixture(autouse=True)
def _fewer_cases(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    few = {name: STEPS[name] for name in ("tree 0", *DECODE_STEPS)}
    monkeypatch.setattr(attention_check, "STEPS", few)
    yield


def test_a_right_backend_passes_eager_and_captured(tmp_path: Path) -> None:
    found = check(tmp_path, PaddedBackend(make_queue(CPU), LONGEST))
    assert set(found) == {"open", "tree 0", *DECODE_STEPS, "captured"}
    assert not [line for line in found.values() if "error" in line]
    assert set(found["captured"]["steps"]) == set(DECODE_STEPS)
    assert 0 < found["tree 0"]["relative_error"] < 0.01


def test_a_step_that_keeps_its_first_plan_fails(tmp_path: Path) -> None:
    found = check(tmp_path, StaleBackend(make_queue(CPU), LONGEST))
    assert [name for name, line in found.items() if "error" in line] == ["captured"]
    assert "differs from float64" in found["captured"]["error"]


def test_steps_beyond_the_buffers_are_told(tmp_path: Path) -> None:
    found = check(tmp_path, PaddedBackend(make_queue(CPU), 100))
    assert found["captured"]["steps"]["decode 5 x 333"] == "not held"
    assert "error" not in found["captured"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda output: output * 1.05, "0 values are NaN"),
        (lambda output: output.flip(1), "0 values are NaN"),
        (lambda output: output.index_fill(0, torch.tensor([1]), torch.nan), "values are NaN, row"),
    ],
)
def test_a_wrong_result_fails(tmp_path: Path, change: Any, told: str) -> None:
    found = check(tmp_path, ChangedBackend(change))
    assert told in found["tree 0"]["error"]
    assert found["tree 0"]["versions"]["torch"] == torch.__version__


def test_new_keys_that_are_not_written_fail(tmp_path: Path) -> None:
    found = check(tmp_path, UnwrittenBackend())
    failed = {name for name, line in found.items() if "error" in line}
    assert failed == {"tree 0", *DECODE_STEPS}
    assert found["decode 1 x 7"]["nan"] == 2 * 128  # all of its row


def test_a_backend_that_cannot_open_is_not_asked_further(tmp_path: Path) -> None:
    class Closed(ReferenceBackend):
        def open_layers(self, *arguments: object) -> None:
            raise RuntimeError("no driver")

    assert list(check(tmp_path, Closed())) == ["open"]


def test_plans_fit_into_the_pool() -> None:
    for plan in STEPS.values():
        assert max(int(segment.slots.max()) for segment in plan.segments) < NUM_SLOTS - 1


def test_timed_steps_have_a_time_of_device_and_host(tmp_path: Path) -> None:
    path = tmp_path / "results.ndjson"
    time_attention(Results(path, CPU), ("tiny",), Steps((3,), 12, 4))
    traits, opened, *timed = read_results(path)
    assert traits["bytes_per_s"] > 0
    assert opened["case"] == "open"
    assert [(line["case"], line["batch"]) for line in timed] == [("unshared", 3), ("shared", 3)]
    assert all(line["us"] > 0 and line["host_us"] > 0 for line in timed)
    assert all(line["estimate_us"] is None for line in timed)  # of the reference backend
