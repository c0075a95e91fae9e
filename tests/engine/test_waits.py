"""Records of waiting: by tenant and as a distribution, and the reasons of admissions."""

from __future__ import annotations

import random

import pytest

from tests.engine.fake_model import Bench, make_prompt
from tests.engine.test_policy import Queue
from yaie.base.stats import WAIT_BOUNDS_S, TenantStats, WaitStats
from yaie.engine.queue.wait_stats import WaitTracker


def report(bench: Bench) -> WaitStats:
    return bench.scheduler.backlog.waits.report(bench.now)


def by_tenant(bench: Bench) -> dict[str, TenantStats]:
    return {each.tenant: each for each in report(bench).tenants}


@pytest.mark.parametrize("policy", ["prefix-aware", "fcfs"])
def test_waits_are_counted_by_tenant(policy: str) -> None:
    bench = Bench(max_running=1, policy=policy)
    bench.add("first", make_prompt(0, 20), max_new=3, tenant="a")
    bench.add("second", make_prompt(1, 20), max_new=3, tenant="b")
    bench.add("gone", make_prompt(2, 20), max_new=3, tenant="b")
    bench.step()
    assert [by_tenant(bench)[name].num_waiting for name in "ab"] == [0, 2]
    assert bench.scheduler.backlog.waits.num_waiting_tenants == 1
    bench.abort("gone")
    bench.now = 7.0
    assert bench.scheduler.backlog.oldest_wait_s(bench.now) == 7.0
    bench.run()
    found = by_tenant(bench)
    assert (found["a"].mean_wait_s, found["b"].mean_wait_s) == (0.0, 7.0)
    assert found["b"].longest_wait_s == 7.0
    assert [(each.num_waiting, each.num_admitted) for each in found.values()] == [(0, 1)] * 2
    assert [each.tokens for each in found.values()] == [23, 23]
    waits = report(bench)
    assert (sum(waits.counts), waits.total_s) == (2, 7.0)
    assert waits.counts[WAIT_BOUNDS_S.index(10.0)] == 1
    assert bench.scheduler.stats.num_admitted == 2
    assert bench.scheduler.backlog.oldest_wait_s(bench.now) == 0.0


def test_the_report_and_the_memory_of_tenants_are_bounded() -> None:
    bench, waits, rng = Bench(), WaitTracker(), random.Random(0)
    waiting = [bench.add(f"w{number}", [1], tenant=f"waits {number}") for number in range(20)]
    for request in waiting:
        waits.arrive(request)
    for number in range(5000):
        request = bench.add(f"r{number}", [1], tenant=f"user {number}")
        waits.arrive(request)
        waits.leave(request)
        waits.admit(request, bench.now, rng.randint(1, 9))
    assert waits.num_waiting_tenants == 20
    assert len(waits._records) <= 1100
    shown = waits.report(10.0).tenants
    assert len(shown) == 10
    assert all(each.tenant.startswith("waits") for each in shown)
    for request in waiting:
        waits.leave(request)
    assert waits.num_waiting_tenants == 0
    assert all(each.tokens == 9 for each in waits.report(10.0).tenants)


def test_the_reasons_of_admissions() -> None:
    queue = Queue("prefix-aware", max_step_rows=1)  # patience of 64 tokens; no free slots
    queue.add("short", length=100, cost=100)
    queue.add("cached", length=1100, cost=200)
    found = []
    for clock in (0, 1000):
        request = queue.policy.next(clock)
        assert request is not None
        found.append((request.request_id, queue.policy.reason(request)))
        queue.policy.remove(request)
    assert found == [("cached", "credit"), ("short", "age")]
    queue.add("cheap", cost=1, at=2000)
    queue.add("expensive", cost=50, at=2000)
    request = queue.policy.next(2000)
    assert request is not None
    assert (request.request_id, queue.policy.reason(request)) == ("cheap", "order")


def test_aged_and_credited_admissions_are_counted() -> None:
    bench = Bench(num_slots=60, max_step_rows=4, max_running=2)
    for number in range(60):
        bench.add(f"r{number}", make_prompt(number % 7, 24, shared=8), max_new=2)
    bench.run()
    stats = bench.scheduler.stats
    assert stats.num_admitted == 60
    assert 0 < stats.num_aged_admissions < 60
    assert stats.num_aged_admissions + stats.num_credited_admissions <= 60


def test_weights_share_the_engine() -> None:
    bench = Bench(num_slots=400, max_step_rows=16, max_running=2, weights={"heavy": 3.0})
    for number in range(150):
        for offset, tenant in ((0, "heavy"), (1000, "light")):
            bench.add(f"{tenant} {number}", make_prompt(number + offset, 16), tenant=tenant)
    for _ in range(120):
        bench.step()
    found = by_tenant(bench)
    assert found["heavy"].num_waiting > 0
    assert 2.0 < found["heavy"].tokens / found["light"].tokens < 4.0
