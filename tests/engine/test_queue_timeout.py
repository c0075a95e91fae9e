"""Limits of waiting for admission: the engine's, a request's own, and their exactness."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.asking import Answers, MakeCore, ask, run, tokens_of
from tests.engine.fake_model import Bench, make_prompt
from yaie.base.stats import EngineStats
from yaie.base.types import TokenDelta
from yaie.engine.loop import EngineLoop
from yaie.engine.queue.queue_limits import Backlog


def last_of(bench: Bench, name: str, index: int = 0) -> TokenDelta:
    last = bench.answers[(name, index)].last
    assert last is not None
    return last


def test_a_request_that_waits_too_long_ends_with_its_own_code() -> None:
    bench = Bench(max_running=2, queue_timeout_s=10.0)
    bench.add("runs", make_prompt(0, 20), n=2, max_new=50)
    bench.add("waits", make_prompt(1, 20), n=2)
    bench.now = 10.0
    bench.step()
    assert bench.answers[("waits", 0)].last is None
    bench.now = 10.1
    bench.step()
    for index in range(2):
        last = last_of(bench, "waits", index)
        assert last.error is not None
        assert (last.error.status, last.error.code, last.error.param) == (
            503,
            "queue_timeout",
            None,
        )
        assert last.error.retry_after_s is not None and last.error.retry_after_s >= 1
        assert last.timings is not None and last.timings.queued_s == pytest.approx(10.1)
    bench.run()
    bench.expect("runs", "length")
    assert bench.scheduler.stats.num_queue_timeouts == 1
    assert bench.scheduler.stats.num_failed == 2


def test_an_admitted_request_has_all_the_time() -> None:
    """Also while it is suspended, or its prompt is read in many steps."""
    bench = Bench(num_slots=110, max_step_rows=4, max_running=4, queue_timeout_s=1.0)
    prompt = make_prompt(0, 12)
    bench.add("r", prompt, n=3, salts=[1, 2, 3], max_new=50, prompt_logprobs=0)
    bench.step()
    bench.now = 1e6
    bench.run()
    assert bench.scheduler.stats.num_preemptions > 0
    bench.expect("r", "length")


def test_the_lower_limit_of_engine_and_request_holds() -> None:
    bench = Bench(max_running=1, queue_timeout_s=10.0)
    bench.add("runs", make_prompt(0, 20), max_new=100)
    bench.add("default", make_prompt(1, 20))
    bench.add("sooner", make_prompt(2, 20), queue_timeout_s=2.0)
    bench.add("later", make_prompt(3, 20), queue_timeout_s=99.0)
    bench.now = 3.0
    bench.step()
    error = last_of(bench, "sooner").error
    assert error is not None and error.param == "queue_timeout_s"
    assert "waited 2 s in the queue" in error.message
    assert "queue_timeout_s" in error.message
    assert bench.scheduler.num_waiting == 2
    bench.now = 11.0
    bench.step()
    assert bench.scheduler.num_waiting == 0
    error = last_of(bench, "later").error
    assert error is not None and error.param is None
    assert "queue_timeout_s" not in error.message


def test_without_a_limit_requests_wait() -> None:
    bench = Bench(max_running=1)
    bench.add("runs", make_prompt(0, 20), max_new=100)
    bench.add("patient", make_prompt(1, 20))
    bench.add("hurried", make_prompt(2, 20), queue_timeout_s=5.0)
    bench.now = 1e9
    bench.step()
    assert last_of(bench, "hurried").finish_reason == "error"
    bench.run()
    bench.expect("patient", "length")


def test_a_request_with_a_free_place_is_served_after_a_long_step() -> None:
    bench = Bench(max_running=2, queue_timeout_s=1.0)
    bench.add("runs", make_prompt(0, 20))
    bench.step()
    bench.add("arrives", make_prompt(1, 20))
    bench.now += 2.0
    bench.run()
    bench.expect("arrives", "length")


def test_errors_of_one_moment_leave_each_other_out() -> None:
    bench = Bench(max_running=1, queue_timeout_s=10.0)
    bench.scheduler.backlog.rate.observe(EngineStats(rows_computed=10), 10.0)  # 1 row a second
    bench.add("runs", make_prompt(0, 20), max_new=50)
    for number in range(4):
        bench.add(f"late{number}", make_prompt(number + 1, 80))
    bench.now = 10.1
    bench.step()
    for number in range(4):
        error = last_of(bench, f"late{number}").error
        assert error is not None and error.retry_after_s == 1.0


def test_message_and_header_name_the_same_seconds() -> None:
    bench, backlog = Bench(), Backlog(timeout_s=1.0)
    backlog.rate.observe(EngineStats(rows_computed=10), 1.0)
    request = bench.add("waits", make_prompt(0, 23))
    backlog.add(request)
    error = backlog.make_timeout(request)
    assert error.retry_after_s == 3.0
    assert "retry in 3 s" in error.message


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=25)
def test_each_request_is_served_or_overdue(seed: int) -> None:
    rng = random.Random(seed)
    bench = Bench(num_slots=150, max_step_rows=16, max_running=3, queue_timeout_s=9.0)
    for number in range(30):
        own = rng.choice([None, None, 3.0, 20.0])
        bench.add(f"r{number}", make_prompt(number, rng.randint(1, 40)), queue_timeout_s=own)
        for _ in range(rng.choice([0, 0, 1])):
            bench.now += rng.random()
            bench.step()
        if rng.random() < 0.1:
            bench.abort(f"r{rng.randint(0, number)}")
    while bench.step() is not None:
        bench.now += rng.random()
    bench.expect_all()
    for name, request in bench.requests.items():
        last = last_of(bench, name)
        assert last.timings is not None
        limit = min(9.0, request.queue_timeout_s or 9.0)
        if last.finish_reason == "error":
            assert last.timings.queued_s > limit
        else:
            assert last.timings.queued_s <= limit + 1.0  # a step may admit before it ends
    assert not bench.scheduler.has_work


def test_requests_that_left_do_not_pile_up() -> None:
    bench, backlog = Bench(), Backlog(timeout_s=100.0)
    for number in range(1000):
        request = bench.add(f"r{number}", [1])
        backlog.add(request)
        backlog.remove(request)
    assert len(backlog._deadlines) <= 65
    assert backlog.take_overdue(1e9) == []


@pytest.mark.usefixtures("one_thread")
def test_the_engine_obeys_its_setting(make_core: MakeCore) -> None:
    core = make_core(max_running=1, queue_timeout_s=1e-9)
    loop, answers = EngineLoop(core), Answers()
    for number in range(2):
        loop.submit(ask(f"r{number}", tokens_of(number, 20)))
    while loop.has_work:
        answers.take(loop.step())
    errors = [answers.last(f"r{number}").error for number in range(2)]
    # Both are late at the first step; it has a place for one.
    assert [error and error.code for error in errors] == [None, "queue_timeout"]
    assert core.stats.num_queue_timeouts == 1
    assert len(run(make_core(queue_timeout_s=600.0), ask("r", tokens_of(0, 20))).tokens("r")) == 6
