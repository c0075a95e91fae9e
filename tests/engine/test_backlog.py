"""The backlog: the service rate of steps, and the time that the waiting work takes."""

from __future__ import annotations

import pytest

from tests.engine.fake_model import Bench, make_prompt
from yaie.attention.plan import StepPlan
from yaie.base.stats import EngineStats
from yaie.engine.queue.queue_limits import MEMORY_S, RETRY_AFTER_S, Backlog, ServiceRate
from yaie.engine.request import SequenceState


class TimedBench(Bench):
    """A bench whose model takes `step_s` seconds a step."""

    step_s = 0.5

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]
        compute = self.model.compute

        def compute_slowly(plan: StepPlan) -> tuple[list[list[int]], list[list[int]]]:
            self.now += self.step_s
            return compute(plan)

        self.model.compute = compute_slowly  # type: ignore[method-assign]


def test_the_rate_is_rows_over_the_seconds_of_steps() -> None:
    rate = ServiceRate()
    assert (rate.rows_per_s, rate.uncached_share, rate.output_len) == (0.0, 1.0, 0.0)
    rate.observe(EngineStats(rows_computed=100), 2.0)
    rate.observe(EngineStats(rows_computed=200), 2.0)
    assert rate.rows_per_s == pytest.approx(50.0)


def test_the_rate_follows_a_change_within_its_memory() -> None:
    rate, rows = ServiceRate(), 0
    for _ in range(100):
        rate.observe(EngineStats(rows_computed=(rows := rows + 10)), 1.0)
    for _ in range(int(2 * MEMORY_S)):
        rate.observe(EngineStats(rows_computed=(rows := rows + 1000)), 1.0)
    assert 800 < rate.rows_per_s < 1000


def test_idle_time_leaves_the_rate() -> None:
    bench = TimedBench(max_step_rows=8)
    for number in range(3):
        bench.add(f"r{number}", make_prompt(number, 16))
        bench.run()
        bench.now += 1000.0
    stats = bench.scheduler.stats
    found = bench.scheduler.backlog.rate.rows_per_s
    assert found == pytest.approx(stats.rows_computed / (stats.num_steps * bench.step_s), rel=0.02)


def test_a_quiet_minute_leaves_the_rate_of_full_steps() -> None:
    bench = TimedBench(max_step_rows=64, max_running=8)
    bench.add("quiet", make_prompt(0, 4), max_new=120)
    bench.run()
    rate = bench.scheduler.backlog.rate
    quiet = rate.rows_per_s
    for number in range(40):
        bench.add(f"r{number}", make_prompt(number + 1, 60), max_new=1)
    bench.step()
    full = rate.rows_per_s
    assert full == pytest.approx(64 / bench.step_s)
    assert full > 20 * quiet
    bench.run()
    bench.add("later", make_prompt(0, 4), max_new=120)
    bench.run()
    assert rate.rows_per_s > full / 2


def test_the_share_and_the_length_are_those_of_served_requests() -> None:
    bench = TimedBench()
    for number in range(8):  # 30 of 40 tokens are shared; the first computes them
        bench.add(f"r{number}", make_prompt(number, 40, shared=30), max_new=6)
        bench.run()
    rate = bench.scheduler.backlog.rate
    assert rate.uncached_share == pytest.approx((8 * 10 + 30) / (8 * 40), rel=0.1)
    assert rate.output_len == pytest.approx(6.0, rel=0.1)


@pytest.mark.parametrize("policy", ["prefix-aware", "fcfs"])
@pytest.mark.parametrize("shared", [0, 30])
def test_the_estimate_is_the_time_to_the_last_admission(policy: str, shared: int) -> None:
    """Under a steady load, to a fifth."""
    bench = TimedBench(policy=policy, num_slots=2000, max_step_rows=32, max_running=8)
    for number in range(60):
        bench.add(f"r{number}", make_prompt(number, 40, shared=shared), max_new=6)
    while bench.scheduler.num_waiting > 40:
        bench.step()
    estimate, began = bench.scheduler.backlog.retry_after_s, bench.now
    while len(bench.scheduler.waiting):
        bench.step()
    assert bench.now - began == pytest.approx(estimate, rel=0.2)


def test_the_estimate_is_within_its_limits() -> None:
    least, most = RETRY_AFTER_S
    bench = TimedBench()
    request = bench.add("r", make_prompt(0, 40))
    backlog = Backlog()
    assert backlog.retry_after_s == least
    backlog.add(request)
    assert backlog.retry_after_s == least  # no rate was measured
    backlog.rate.observe(EngineStats(rows_computed=1), 100.0)
    assert backlog.retry_after_s == most
    backlog.remove(request)
    assert backlog.retry_after_s == least


def test_answers_are_no_longer_than_requests_allow() -> None:
    bench = TimedBench()
    request = bench.add("r", make_prompt(0, 40), max_new=3, n=2)
    backlog = Backlog()
    backlog.rate.observe(EngineStats(rows_computed=1, output_tokens=1000, num_started=1), 1.0)
    backlog.add(request)
    assert backlog.num_rows == 40 + 2 * 3


def test_the_backlog_is_that_of_the_waiting() -> None:
    bench = TimedBench(max_running=2)
    for number in range(6):
        bench.add(f"r{number}", make_prompt(number, 20), n=2)
    while bench.step() is not None:
        waiting = sum(
            len(request.sequences)
            for request in bench.requests.values()
            if any(seq.admitted_s is None for seq in request.sequences)
            and all(seq.state is SequenceState.WAITING for seq in request.sequences)
        )
        assert bench.scheduler.backlog.num_sequences == waiting
        if waiting == 4:
            bench.abort("r5")
    assert bench.scheduler.backlog.num_rows == 0
