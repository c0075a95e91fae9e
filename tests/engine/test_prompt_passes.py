"""Prompt passes: log-probabilities of prompts, computed before the samples start."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fake_model import Bench, continuation
from tests.engine.fake_model import make_prompt as prompt
from yaie.base.types import MIN_PROMPT_LOGITS
from yaie.engine.request import SequenceState
from yaie.engine.scheduled_step import ScheduledStep


def test_every_position_of_a_cached_prompt_gets_a_row() -> None:
    bench = Bench(num_slots=4096, max_step_rows=8)
    bench.add("a", prompt(1, 30))
    bench.run()
    bench.add("b", prompt(1, 30), prompt_logprobs=0)
    before = bench.scheduler.stats.prompt_rows_computed
    bench.run()
    assert bench.scheduler.stats.prompt_rows_computed - before == 30
    answer = bench.answers[("b", 0)]
    assert answer.prompt_logprobs is not None
    assert len(answer.prompt_logprobs) == 30
    assert answer.last is not None
    assert answer.last.num_cached_tokens == 0


@pytest.mark.parametrize("num_passes", [1, 4])
def test_passes_leave_the_rest_of_a_step_to_others(num_passes: int) -> None:
    """However long the prompts, a step holds no more logits than `max_running` allows."""
    bench = Bench(num_slots=4096, max_step_rows=128, max_running=40)
    for number in range(num_passes):
        bench.add(f"pass {number}", prompt(number, 600), max_new=1, prompt_logprobs=0)
    steps: list[ScheduledStep] = []
    bench.on_step.append(steps.append)
    bench.step()
    short = prompt(9, 20)
    bench.add("short", short)
    bench.step()
    assert bench.answers[("short", 0)].tokens == continuation(short, 1)
    assert [step.plan.num_rows for step in steps] == [40, 39 + len(short)]
    bench.run()
    bench.expect_all()


@pytest.mark.parametrize("max_running", [8, 64])
@pytest.mark.parametrize("n", [1, 3])
def test_many_passes_take_only_the_steps_of_their_rows(max_running: int, n: int) -> None:
    """Samples that wait for their pass take no room for logits from other passes."""
    bench = Bench(num_slots=20_000, max_step_rows=512, max_running=max_running)
    for number in range(100):
        bench.add(
            f"r{number}", prompt(number, 100), max_new=1, n=n, salts=[*range(n)], prompt_logprobs=0
        )
    steps: list[ScheduledStep] = []
    bench.on_step.append(steps.append)
    bench.run()
    bench.expect_all()
    for step in steps:
        num_prompt_logits = sum(len(one.logit_rows) for one in step.prompt_logits)
        assert len(step.sample_tasks) + num_prompt_logits <= max_running + MIN_PROMPT_LOGITS
    room = max(MIN_PROMPT_LOGITS, max_running - n)
    assert len(steps) <= 1.2 * 100 * 99 / room + 2


@pytest.mark.parametrize("num_passes", [1, 4])
def test_passes_that_fill_a_step_hold_others_back(num_passes: int) -> None:
    """Like any prompt that is longer than a step."""
    bench = Bench(num_slots=4096, max_step_rows=30, max_running=40)
    for number in range(num_passes):
        bench.add(f"pass {number}", prompt(number, 100), max_new=1, prompt_logprobs=0)
    bench.step()
    bench.add("short", prompt(9, 20))
    bench.step()
    assert len(bench.scheduler.waiting) == num_passes
    bench.run()
    bench.expect_all()


def test_the_cost_of_a_cached_prompt_with_a_pass_is_its_length() -> None:
    """`lpm` admits requests with most cached tokens first; a pass saves no row by them."""
    bench = Bench(num_slots=4096, policy="lpm", max_step_rows=64, max_running=1)
    bench.add("cached", prompt(1, 60), max_new=1)
    bench.run()
    bench.add("running", prompt(3, 10), max_new=6)
    bench.step()
    bench.add("with a pass", prompt(1, 60), max_new=1, prompt_logprobs=0)
    bench.add("continued", [*prompt(1, 10), 100], max_new=1)
    while not bench.answers[("continued", 0)].last:
        bench.step()
    assert bench.answers[("with a pass", 0)].last is None
    bench.run()
    bench.expect_all()


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize("max_step_rows", [16, 4096])
def test_a_pass_computes_the_prompt_once_for_all_samples(
    max_step_rows: int, *, is_cached: bool
) -> None:
    bench = Bench(num_slots=4096, max_step_rows=max_step_rows, max_running=40)
    tokens = prompt(1, 200)
    if is_cached:
        bench.add("cached", tokens, max_new=1)
        bench.run()
    before = bench.scheduler.stats.prompt_rows_computed
    bench.add("r", tokens, n=3, salts=[0, 1, 2], prompt_logprobs=0)
    samples: list[int] = []
    bench.on_step.append(lambda step: samples.append(len(step.sample_tasks)))
    bench.run()
    bench.expect("r", "length")
    assert next(count for count in samples if count) == 3  # their first tokens come together
    assert bench.scheduler.stats.prompt_rows_computed - before == 200
    for index in range(3):
        answer = bench.answers[("r", index)]
        assert answer.last is not None
        assert answer.last.num_cached_tokens == 0
        assert (answer.prompt_logprobs is not None) == (index == 0)


@pytest.mark.integration
@given(st.integers(0, 2**32), st.integers(1, 9))
@settings(deadline=None, max_examples=20)
def test_prompt_logprobs_survive_preemption(seed: int, max_step_rows: int) -> None:
    """A preempted pass may lose computed tokens that the rest of its positions need."""
    rng = random.Random(seed)
    bench = Bench(num_slots=100, max_step_rows=max_step_rows, max_running=6)
    for number in range(5):
        tokens = [rng.randrange(2) for _ in range(rng.randint(1, 40))]
        bench.add(f"r{number}", tokens, max_new=rng.randint(1, 60), prompt_logprobs=0)
        for _ in range(rng.randint(0, 4)):
            bench.step()
    bench.run()
    bench.expect_all()
    for name, request in bench.requests.items():
        got = bench.answers[(name, 0)].prompt_logprobs
        assert got is not None
        assert len(got) == len(request.prompt)


@pytest.mark.integration
@pytest.mark.parametrize("length", [1500, 1503])
def test_a_prompt_alone_shares_no_reads_with_or_without_a_pass(length: int) -> None:
    """In chunks; those of a pass are as small as the room for logits."""
    for num_top in (None, 0):
        bench = Bench(num_slots=4000, max_step_rows=512, max_running=64)
        bench.add("a", prompt(1, length), max_new=3, prompt_logprobs=num_top)
        bench.run()
        counters = bench.scheduler.stats
        assert counters.kv_tokens_unshared == counters.kv_tokens_read > 0


# -- aborts, errors and preemption of a pass ----------------------------------------------------


def start_pass(*, preempted: bool) -> Bench:
    """A request of three samples whose prompt pass runs, or was preempted by an older request."""
    bench = Bench(num_slots=200, max_step_rows=2, max_running=8, policy="fcfs")
    bench.add("old", prompt(7, 20), max_new=150)
    while not bench.answers[("old", 0)].tokens:
        bench.step()
    request = bench.add("r", prompt(1, 100), n=3, salts=[0, 1, 2], prompt_logprobs=0)
    for _ in range(3):
        bench.step()
    assert request.prompt_pass is not None
    while preempted and request.prompt_pass.state is not SequenceState.SUSPENDED:
        assert bench.step() is not None
        assert request.prompt_pass is not None, "the pool is too large"
    return bench


@pytest.mark.parametrize("preempted", [False, True])
@pytest.mark.parametrize("index", [None, 0, 1, 2])
def test_a_request_is_aborted_during_its_pass(index: int | None, *, preempted: bool) -> None:
    bench = start_pass(preempted=preempted)
    request = bench.requests["r"]
    bench.abort("r", index)
    assert ("r" in bench.scheduler) == (index is not None)
    assert (request.prompt_pass is None) == (index in (None, 0))  # sequence 0 would report it
    bench.run()
    bench.expect_all()
    lengths = [len(bench.answers[("r", i)].tokens) for i in range(3)]
    assert lengths == [0 if index in (None, i) else 4 for i in range(3)]
    logprobs = bench.answers[("r", 0)].prompt_logprobs
    assert (logprobs is None) == (index in (None, 0))
    assert bench.scheduler.stats.num_aborted == (3 if index is None else 1)


@pytest.mark.parametrize("preempted", [False, True])
def test_an_error_of_a_pass_ends_sequence_0_only(*, preempted: bool) -> None:
    bench = start_pass(preempted=preempted)
    request = bench.requests["r"]
    assert request.prompt_pass is not None
    delta = bench.scheduler.fail(request.prompt_pass, RuntimeError("no logprobs today"))
    assert (delta.request_id, delta.index, delta.finish_reason) == ("r", 0, "error")
    bench.answers[("r", 0)].last = delta
    bench.run()
    bench.expect_all()
    assert [len(bench.answers[("r", i)].tokens) for i in range(3)] == [0, 4, 4]


def test_samples_start_after_a_preempted_pass_resumes() -> None:
    bench = start_pass(preempted=True)
    bench.run()
    bench.expect("r", "length")
    logprobs = bench.answers[("r", 0)].prompt_logprobs
    assert logprobs is not None
    assert len(logprobs) == 100


def test_a_pass_computes_each_row_of_a_request_once() -> None:
    """Aborting sequence 0 keeps the rows of its pass for the other samples."""
    bench = Bench(num_slots=4096, max_step_rows=16, max_running=8)
    bench.add("r", prompt(1, 100), n=3, salts=[0, 1, 2], prompt_logprobs=0)
    for _ in range(3):
        bench.step()
    bench.abort("r", 0)
    bench.run()
    bench.expect("r")
    assert bench.scheduler.stats.prompt_rows_computed == 100


def test_a_pass_holds_the_places_of_its_samples() -> None:
    bench = Bench(num_slots=4096, max_step_rows=16, max_running=8)
    bench.add("r", prompt(1, 100), n=3, prompt_logprobs=0)
    bench.step()
    assert len(bench.scheduler.running) == 1
    assert bench.scheduler.num_free_places == 5
    bench.abort("r", 2)
    assert bench.scheduler.num_free_places == 6
    bench.run()
    bench.expect_all()


def test_a_preempted_sequence_leaves_the_samples_their_places() -> None:
    bench = Bench(num_slots=200, max_step_rows=16, max_running=4, policy="priority")
    bench.add("long", prompt(1, 20), max_new=100, priority=1)
    bench.add("preempted", prompt(2, 20), max_new=100, priority=2)
    while not bench.scheduler.suspended:
        bench.step()
    bench.add("r", prompt(3, 40), n=4, salts=[0, 1, 2, 3], prompt_logprobs=0)
    samples: list[int] = []
    bench.on_step.append(
        lambda step: samples.append(sum(seq.request.request_id == "r" for seq in step.members))
    )
    bench.run()
    bench.expect_all()
    assert [count for count in samples if count] == [1, 1, 1, 4, 4, 4, 4]


def test_a_pass_reserves_growth_for_each_of_its_samples() -> None:
    """Of 240 slots, the pass takes 100 and its three samples reserve 32 each."""
    bench = Bench(num_slots=240, max_step_rows=64, max_running=8)
    bench.add("r", prompt(1, 100), n=3, max_new=40, prompt_logprobs=0)
    bench.step()
    bench.add("other", prompt(2, 20), max_new=40)
    bench.step()
    assert [seq.request.request_id for seq in bench.scheduler.running] == ["r"]
    bench.run()
    bench.expect_all()


def test_samples_after_a_pass_count_as_waiting_but_not_as_preempted() -> None:
    bench = Bench(num_slots=4096, max_step_rows=64, max_running=8)
    request = bench.add("r", prompt(1, 20), n=3, prompt_logprobs=0)
    bench.step()
    assert request.prompt_pass is None
    assert {seq.state for seq in bench.sequences["r"]} == {SequenceState.SUSPENDED}
    assert bench.scheduler.num_waiting == 3
    bench.run()
    bench.expect_all()
    assert bench.scheduler.stats.num_preemptions == 0


def test_a_prompt_of_one_token_needs_no_pass() -> None:
    bench = Bench(num_slots=400)
    request = bench.add("r", [5], n=2, salts=[0, 1], prompt_logprobs=0)
    bench.step()
    assert request.prompt_pass is None
    bench.run()
    bench.expect_all()
    assert bench.answers[("r", 0)].prompt_logprobs == (None,)


def test_a_pass_over_cached_tokens_does_not_go_before_the_first() -> None:
    bench = Bench(max_step_rows=16, max_running=8)
    bench.add("cached", prompt(0, 60))
    bench.run()
    bench.add("first", prompt(1, 60))
    bench.add("pass", prompt(0, 60), prompt_logprobs=0)
    bench.run()  # requires that the first progresses in each step
    bench.expect_all()
