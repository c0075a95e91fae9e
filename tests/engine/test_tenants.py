"""Shares of tenants: service, turns, weights and what a flood costs another tenant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yaie.base.settings import EngineConfig
from yaie.base.tenants import BATCHES
from yaie.base.types import GenerationRequest
from yaie.engine.queue.policies import make_policy
from yaie.engine.queue.tenant_shares import TenantShares
from yaie.engine.request import Request
from yaie.engine.step.preemption import first_to_resume

from .fake_model import Bench, FakeSampling


def request(tenant: str, name: str, length: int = 100) -> Request:
    spec = GenerationRequest(request_id=name, prompt_token_ids=tuple(range(length)), tenant=tenant)
    return Request(spec, namespace="", max_new_tokens=1, samplings=[FakeSampling()])


def turns(shares: TenantShares, numbers: list[int]) -> list[bool]:
    have_turn = shares.have_turn(np.array(numbers))
    return [True] * len(numbers) if have_turn is None else have_turn.tolist()


def test_the_least_served_tenant_has_its_turn() -> None:
    shares = TenantShares(slack=10)
    a, b = shares.enter("a"), shares.enter("b")
    assert turns(shares, [a, b]) == [True, True]
    shares.charge("a", 11)
    assert turns(shares, [a, b, a]) == [False, True, False]
    shares.charge("b", 1)
    assert turns(shares, [a, b]) == [True, True]


def test_service_is_divided_by_the_weight() -> None:
    shares = TenantShares(slack=10, weights={"a": 3.0})
    a, b = shares.enter("a"), shares.enter("b")
    shares.charge("a", 300)
    shares.charge("b", 100)
    assert turns(shares, [a, b]) == [True, True]


def test_idle_time_earns_no_credit() -> None:
    shares = TenantShares(slack=10)
    a, b = shares.enter("a"), shares.enter("b")
    shares.leave(b)
    shares.charge("a", 5000)
    assert turns(shares, [a]) == [True]
    assert shares.enter("b") == b
    shares.charge("b", 20)
    assert turns(shares, [a, b]) == [True, False]


def test_idle_tenants_are_forgotten_but_not_their_debt() -> None:
    shares = TenantShares(slack=10)
    stays = shares.enter("stays")
    shares.charge("greedy", 10**6)
    for number in range(5000):
        shares.leave(shares.enter(f"once {number}"))
    assert shares.num_known < 2000
    greedy = shares.enter("greedy")
    assert turns(shares, [stays, greedy]) == [True, False]


def test_a_newcomer_gets_no_credit_for_the_time_of_a_lone_tenant() -> None:
    policy = make_policy("prefix-aware", lambda each: 100, 64, lambda: 10**6)
    for number in range(50):  # one tenant alone, served at once
        each = request("old", f"r{number}")
        policy.add(each)
        assert policy.next(0) is each
        policy.remove(each)
        policy.charge(each.tenant, 1000)
    order = [request("old", "old"), request("new", "new 1"), request("new", "new 2")]
    for arrival, each in enumerate(order):
        each.arrival = arrival
        policy.add(each)
    served = []
    while (chosen := policy.next(0)) is not None:
        policy.remove(chosen)
        policy.charge(chosen.tenant, 1000)
        served.append(chosen.request_id)
    assert served == ["new 1", "old", "new 2"], "a turn each, not 50 for the newcomer"


def test_the_number_of_remembered_tenants_is_bounded() -> None:
    """Also of tenants that come one at a time, each served beyond the slack."""
    shares = TenantShares(slack=10)
    for number in range(5000):
        tenant = shares.enter(f"user {number}")
        shares.have_turn(np.array([tenant]))
        shares.leave(tenant)
        shares.charge(f"user {number}", 100 + number % 7)
    assert shares.num_known < 2100


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 500)), min_size=1, max_size=80))
@settings(deadline=None, max_examples=50)
def test_backlogged_tenants_get_equal_service(costs: list[tuple[str, int]]) -> None:
    """Within the slack and one request, as long as each of them waits."""
    policy = make_policy("prefix-aware", lambda each: len(each.prompt), 64, lambda: 10**6)
    left = dict.fromkeys("abc", 0)
    for arrival, (tenant, length) in enumerate(costs):
        each = request(tenant, f"r{arrival}", length)
        each.arrival = arrival
        policy.add(each)
        left[tenant] += 1
    served = dict.fromkeys((tenant for tenant in left if left[tenant]), 0)
    longest = max(length for _, length in costs)
    while all(left[tenant] for tenant in served):
        chosen = policy.next(0)
        assert chosen is not None
        policy.remove(chosen)
        policy.charge(chosen.tenant, len(chosen.prompt))
        served[chosen.tenant] += len(chosen.prompt)
        left[chosen.tenant] -= 1
        assert max(served.values()) - min(served.values()) <= 64 + longest


def first_token_steps(bench: Bench, names: list[str]) -> dict[str, int]:
    """Return the number of steps until each named request has its first token."""
    steps: dict[str, int] = {}
    for step in range(1, 400):
        bench.step()
        for name in names:
            if name not in steps and bench.answers[(name, 0)].tokens:
                steps[name] = step
        if len(steps) == len(names):
            return steps
    raise AssertionError(f"only {steps} of {names}")


@pytest.mark.parametrize("max_new", [1, 60])
def test_a_flood_does_not_delay_another_tenant(max_new: int) -> None:
    """By many requests, or by long ones that hold every place.

    These are displaced after one slack of service: 16 tokens, at 4 a step.
    """
    bench = Bench(policy="prefix-aware", num_slots=2000, max_step_rows=16, max_running=4)
    for number in range(40):
        bench.add(f"flood {number}", [100 + number] * 12, max_new=max_new, tenant="flood")
    for _ in range(6):
        bench.step()
    bench.add("polite", [7] * 12, max_new=2, tenant="polite")
    assert first_token_steps(bench, ["polite"])["polite"] <= 5
    bench.run()
    for number in range(40):
        bench.expect(f"flood {number}", "length")


@pytest.mark.parametrize("served", [0, 400])
def test_a_batch_yields_places_to_live_requests_at_once(served: int) -> None:
    """Whatever the live tenant was served before, and however little the batch was."""
    weights = EngineConfig().weights
    bench = Bench(
        policy="prefix-aware", num_slots=4000, max_step_rows=64, max_running=4, weights=weights
    )
    if served:
        bench.add("before", [9] * served, max_new=40, tenant="live")
        bench.run()
    for number in range(40):
        bench.add(f"line {number}", [100 + number] * 12, max_new=60, tenant=BATCHES)
    for _ in range(3):
        bench.step()
    bench.add("live", [7] * 12, max_new=2, tenant="live")
    assert first_token_steps(bench, ["live"])["live"] <= 2
    bench.run()
    for number in range(40):
        bench.expect(f"line {number}", "length")


def test_tenants_of_equal_service_do_not_displace_each_other() -> None:
    bench = Bench(policy="prefix-aware", num_slots=2000, max_step_rows=16, max_running=4)
    for number in range(12):
        tenant = "ab"[number % 2]
        bench.add(f"r{number}", [100 + number] * 12, max_new=30, tenant=tenant)
    bench.run()
    assert bench.scheduler.stats.num_preemptions <= 2


def test_nothing_is_displaced_for_a_request_that_would_still_lack_places() -> None:
    """Its tenant waits for all 16 places, of which the flood keeps one."""
    bench = Bench(policy="prefix-aware", num_slots=4000, max_step_rows=64, max_running=16)
    for number in range(32):
        bench.add(f"flood {number}", [100 + number] * 12, max_new=40, tenant="flood")
    for _ in range(6):
        bench.step()
    bench.add("polite", [7] * 12, n=16, max_new=2, tenant="polite")
    bench.run()
    assert bench.scheduler.stats.num_preemptions == 0


def test_requests_that_end_while_they_wait_do_not_count_as_admitted() -> None:
    """Aborts of cheap requests would else pay the debt of the aged ones, with nothing admitted."""
    policy = make_policy("prefix-aware", lambda each: len(each.prompt), 1, lambda: 10**6)
    for number in range(60):
        policy.add(request("", f"aged {number}", 1000))
    admitted = {"aged": 0, "cheap": 0}
    for number in range(60):
        cheap = [request("", f"cheap {number} {at}", 100) for at in range(10)]
        for arrival, each in enumerate(cheap):
            each.arrived_at = 1000
            each.arrival = 100 + 10 * number + arrival
            policy.add(each)
        for each in cheap[:5]:
            policy.withdraw(each)
        chosen = policy.next(1000)
        assert chosen is not None
        admitted[chosen.request_id.split()[0]] += len(chosen.prompt)
        policy.remove(chosen)
    assert 0.5 < admitted["aged"] / sum(admitted.values()) < 0.75


@pytest.mark.parametrize("lead", [1000, 10_000])
def test_newcomers_do_not_hold_up_a_tenant_that_waits(lead: int) -> None:
    """Each has a new name, a short request, and less service than the one that waits."""
    policy = make_policy("prefix-aware", lambda each: len(each.prompt), 64, lambda: 10**6)
    old = request("old", "old", 100)
    policy.add(old)
    policy.charge(old.tenant, lead)
    clock = 0
    for number in range(1, 1000):
        newcomer = request(f"new {number}", f"r{number}", 50)
        newcomer.arrival, newcomer.arrived_at = number, clock
        policy.add(newcomer)
        chosen = policy.next(clock)
        assert chosen is not None
        policy.remove(chosen)
        policy.charge(chosen.tenant, 50)
        clock += 50
        if chosen is old:
            break
    assert clock <= max(2 * lead, 64 * 64) + 200, "its share, or its patience"


def test_a_suspended_sequence_resumes_behind_one_that_is_outranked() -> None:
    shares = {"flood": 1000.0, "polite": 0.0}
    policy = make_policy("prefix-aware", lambda each: len(each.prompt), 16, lambda: 10**6)
    requests = {name: request(name, name, 10) for name in shares}
    for arrival, (name, service) in enumerate(shares.items()):
        requests[name].arrival = arrival
        policy.charge(requests[name].tenant, service)
    policy.add(request("polite", "waiting", 10))
    suspended = [requests[name].sequences[0] for name in shares]
    assert first_to_resume(suspended, policy) is suspended[1]
    assert first_to_resume(suspended[:1], policy) is None


def test_shared_rows_are_charged_once() -> None:
    bench = Bench(policy="prefix-aware", num_slots=4000, max_step_rows=256, max_running=16)
    for number in range(10):
        bench.add(f"r{number}", list(range(100, 300)), max_new=1, tenant="a")
    bench.run()
    served = bench.scheduler.backlog.waits.report(bench.scheduler.stats.num_steps)
    assert sum(each.tokens for each in served.tenants) < 300
