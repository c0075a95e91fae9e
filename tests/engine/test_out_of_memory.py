"""Steps that run out of memory: smaller ones compute their rows, and the engine lives on."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.asking import MakeCore, ask, run, tokens_of
from tests.engine.watched_executor import Execute
from yaie.attention.plan import StepPlan
from yaie.device.available_memory import is_out_of_memory
from yaie.engine.core import EngineCore
from yaie.engine.step.batch_builder import RowLimit

pytestmark = pytest.mark.usefixtures("one_thread")

REQUESTS = [
    ask("long", tokens_of(1, 100)),
    ask("shared", tokens_of(1, 90), n=3, temperature=1.0, seed=1),
    ask("short", tokens_of(2, 5), max_tokens=20),
    ask("scored", tokens_of(3, 40), prompt_logprobs=1),
]


def limited(make_core: MakeCore, room: int, **settings: object) -> tuple[EngineCore, list[int]]:
    """Return an engine with memory for steps of `room` rows, and the rows of all that it tried."""
    tried: list[int] = []

    def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
        tried.append(plan.num_rows)
        if plan.num_rows > room:
            raise torch.OutOfMemoryError(f"tried to allocate {plan.num_rows} rows")
        return execute(plan)

    return make_core(step, **settings), tried


@pytest.mark.integration
@pytest.mark.parametrize("room", [1, 2, 7, 60])
def test_answers_are_the_same_with_little_memory(make_core: MakeCore, room: int) -> None:
    expected = run(make_core(), *REQUESTS)
    core, tried = limited(make_core, room)
    found = run(core, *REQUESTS)
    for name, index in expected.deltas:
        assert found.tokens(name, index) == expected.tokens(name, index)
    assert core.stats.num_failed == 0
    assert core.stats.num_out_of_memory == sum(rows > room for rows in tried) > 0
    core.check()


def test_without_memory_for_one_row_requests_end_and_the_engine_lives(make_core: MakeCore) -> None:
    room = 0

    def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
        if plan.num_rows > room:
            raise torch.OutOfMemoryError("none left")
        return execute(plan)

    core = make_core(step)
    answers = run(core, *(ask(f"r{number}", tokens_of(number, 9)) for number in range(6)))
    for number in range(6):
        error = answers.last(f"r{number}").error
        assert error is not None and error.code == "request_failed"
        assert "none left" in error.message and "num_slots" in error.message
    assert core.stats.num_live_slots == 0
    room = 10**6
    expected = run(make_core(), ask("later", tokens_of(7, 30))).tokens("later")
    assert run(core, ask("later", tokens_of(7, 30))).tokens("later") == expected


def test_large_steps_return_after_many_that_succeeded(make_core: MakeCore) -> None:
    failing = True

    def step(plan: StepPlan, execute: Execute) -> torch.Tensor:
        nonlocal failing
        if failing:
            failing = False
            raise torch.OutOfMemoryError("for a moment")
        sizes.append(plan.num_rows)
        return execute(plan)

    sizes: list[int] = []
    core = make_core(step, max_step_rows=64)
    run(core, ask("first", tokens_of(1, 64), max_tokens=1), ask("more", (5,), max_tokens=130))
    assert max(sizes) <= 32
    run(core, ask("second", tokens_of(2, 200), max_tokens=1))
    assert max(sizes) == 64


def test_sampling_may_run_out_of_memory_too(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = make_core()
    expected = run(core, *REQUESTS)
    core.scheduler.tree.clear()
    real, failures = core._sampler.sample, iter([True, True])

    def sample(logits, tasks):
        if next(failures, False):
            raise torch.OutOfMemoryError("in the sampler")
        return real(logits, tasks)

    monkeypatch.setattr(core._sampler, "sample", sample)
    found = run(core, *REQUESTS)
    for name, index in expected.deltas:
        assert found.tokens(name, index) == expected.tokens(name, index)
    scored = [each.deltas[("scored", 0)][0].prompt_logprobs for each in (found, expected)]
    assert scored[0] is not None and len(scored[0]) == 40
    assert [each.rank for each in scored[0][1:]] == [each.rank for each in scored[1][1:]]
    assert core.stats.num_out_of_memory == 2


@given(st.integers(1, 100), st.lists(st.booleans()))
def test_the_limit_stays_between_one_row_and_the_setting(most: int, outcomes: list[bool]) -> None:
    rows = RowLimit(most)
    for is_good in outcomes:
        before = rows.limit
        if is_good:
            rows.note_success()
            assert before <= rows.limit <= most
        else:
            rows.shrink(rows.limit)
            assert rows.limit == max(1, before // 2)


def test_errors_of_every_allocator_are_known() -> None:
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert is_out_of_memory(MemoryError())
    with pytest.raises(RuntimeError) as refused:
        torch.empty(2**62, dtype=torch.uint8)
    assert is_out_of_memory(refused.value)
    assert not is_out_of_memory(RuntimeError("shapes differ"))
