"""Admission order: the next request, the cost of look-ups, bounded waiting."""

from __future__ import annotations

import itertools
import math
import random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fake_model import Bench, FakeSampling
from yaie.base.errors import ConfigError
from yaie.base.settings import Policy
from yaie.base.types import GenerationRequest
from yaie.cli.options import ENGINE_FLAGS
from yaie.engine.queue.policies import POLICIES, make_policy
from yaie.engine.queue.policy_protocol import AdmissionPolicy
from yaie.engine.queue.prefix_aware import AGED_SHARE
from yaie.engine.request import Request

FAIR = ["prefix-aware", "fcfs"]


class Queue:
    """A policy with costs set and counted by the test."""

    def __init__(
        self, name: str, max_step_rows: int = 64, free_slots: int = 0, aging: int = 0
    ) -> None:
        self.costs: dict[str, int] = {}
        self.num_lookups = 0
        self.arrivals = itertools.count(1)
        self.policy: AdmissionPolicy = make_policy(
            name, self._cost, max_step_rows, lambda: free_slots, aging=aging
        )

    def _cost(self, request: Request) -> int:
        self.num_lookups += 1
        return self.costs[request.request_id]

    def add(
        self, name: str, *, cost: int, at: int = 0, length: int = 100, priority: int = 0
    ) -> Request:
        spec = GenerationRequest(
            request_id=name, prompt_token_ids=tuple(range(length)), priority=priority
        )
        request = Request(spec, namespace="", max_new_tokens=1, samplings=[FakeSampling()])
        request.arrival = next(self.arrivals)
        request.arrived_at = at
        self.costs[name] = cost
        self.policy.add(request)
        return request

    def add_equal(self, count: int) -> list[str]:
        """Add requests that differ in arrival only; return their names."""
        return [self.add(f"r{number}", cost=100).request_id for number in range(count)]

    def order(self, clock: int) -> list[str]:
        """Admit all requests now; return their names in order."""
        names = []
        while (request := self.policy.next(clock)) is not None:
            assert self.policy.next(clock) is request  # it stays queued
            names.append(request.request_id)
            self.policy.remove(request)
        assert len(self.policy) == 0
        return names


def test_fcfs_is_by_arrival() -> None:
    queue = Queue("fcfs")
    for name, cost in (("a", 90), ("b", 1), ("c", 50)):
        queue.add(name, cost=cost)
    assert len(queue.policy) == 3
    assert queue.order(10) == ["a", "b", "c"]
    assert queue.num_lookups == 0


def test_priority_is_lowest_first_then_by_arrival() -> None:
    queue = Queue("priority")
    for name, priority in (("a", 1), ("b", 0), ("c", 1), ("d", -5), ("e", 0)):
        queue.add(name, cost=1, priority=priority)
    queue.policy.remove(queue.add("gone", cost=1, priority=-9))
    assert queue.order(10) == ["d", "b", "e", "a", "c"]


def test_a_number_ages_by_one_in_so_many_full_steps() -> None:
    """Of 64 rows, 2 steps a number: 128 tokens."""
    queue = Queue("priority", aging=2)
    for name, priority, at in (("a", 1, 0), ("b", 0, 127), ("c", 0, 128), ("d", 0, 129)):
        queue.add(name, cost=1, priority=priority, at=at)
    queue.add("e", cost=1, priority=-1, at=1000)
    assert queue.order(2000) == ["b", "a", "c", "d", "e"]


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 500)), max_size=40))
def test_keys_give_the_order_of_aged_numbers(given: list[tuple[int, int]]) -> None:
    """At any later time, by the definition: the number less the wait over the aging."""
    queue, now, aging = Queue("priority", aging=1), 900, 64
    requests = [
        queue.add(f"r{number}", cost=1, priority=priority, at=at)
        for number, (priority, at) in enumerate(sorted(given, key=lambda each: each[1]))
    ]
    by_age = sorted(
        requests, key=lambda each: (each.priority - (now - each.arrived_at) / aging, each.arrival)
    )
    assert queue.order(now) == [each.request_id for each in by_age]


def test_lpm_is_most_cached_first() -> None:
    queue = Queue("lpm")
    for name, length, cost in (("a", 100, 90), ("b", 100, 20), ("c", 40, 1), ("d", 100, 100)):
        queue.add(name, length=length, cost=cost)
    assert queue.order(10) == ["b", "c", "a", "d"]


def test_prefix_aware_admits_cheap_prompts_first() -> None:
    queue = Queue("prefix-aware", free_slots=10**6)
    queue.add("long", cost=100)
    queue.add("cheap", cost=1)
    queue.add("middle", cost=50)
    assert queue.order(200) == ["cheap", "middle", "long"]


@pytest.mark.parametrize(
    ("free_slots", "order"),
    # Score of the cached one: (150 + 2 x risk x 900) / 200, of the other: 150 / 100.
    [(0, ["cached", "short"]), (10**6, ["short", "cached"])],
)
def test_prefix_aware_saves_prefixes_at_risk(free_slots: int, order: list[str]) -> None:
    queue = Queue("prefix-aware", free_slots=free_slots)
    queue.add("short", length=100, cost=100)
    queue.add("cached", length=1100, cost=200)
    assert queue.order(0) == order


def test_aged_requests_get_their_share_of_admitted_tokens() -> None:
    queue = Queue("prefix-aware", max_step_rows=1)  # patience of 64 tokens
    for number in range(50):
        queue.add(f"aged {number}", cost=1000)
    for number in range(50):
        queue.add(f"cheap {number}", length=1000, cost=100, at=1000)
    admitted = queue.order(1000)[:40]
    aged = sum(1000 for name in admitted if name.startswith("aged"))
    other = sum(100 for name in admitted if name.startswith("cheap"))
    assert aged / (aged + other) == pytest.approx(AGED_SHARE, abs=0.05)
    assert [name for name in admitted if name.startswith("aged")] == [
        f"aged {number}" for number in range(aged // 1000)
    ]


def test_prefix_aware_lets_age_decide_in_the_end() -> None:
    queue = Queue("prefix-aware", max_step_rows=2)  # patience of 128 tokens
    queue.add("cheap", cost=1, at=100)
    queue.add("second", cost=10**6, at=0)
    queue.add("third", cost=1, at=0)
    queue.add("first", cost=10**6, at=-1)
    assert queue.order(128)[0] == "first"
    assert Queue("prefix-aware", max_step_rows=2).order(0) == []
    queue.add("second", cost=10**6, at=0)
    queue.add("third", cost=1, at=0)
    assert queue.order(129) == ["second", "third"]


@pytest.mark.parametrize("name", ["prefix-aware", "lpm"])
def test_equal_requests_go_by_arrival(name: str) -> None:
    queue = Queue(name)
    names = queue.add_equal(12)
    assert queue.order(50) == names


@pytest.mark.parametrize("name", ["prefix-aware", "lpm"])
def test_equal_prompts_go_by_arrival_once_cached(name: str) -> None:
    """Their remembered costs have different ages then."""
    queue = Queue(name)
    names = queue.add_equal(12)
    served = []
    while (request := queue.policy.next(50)) is not None:
        served.append(request.request_id)
        queue.policy.remove(request)
        if len(served) == 2:
            queue.costs = dict.fromkeys(names, 1)
    assert served == names


class CountedRequest(Request):
    """A request that counts reads of its arrival."""

    __slots__ = ("_arrival",)
    num_reads = 0

    @property
    def arrival(self) -> int:  # type: ignore[override]
        CountedRequest.num_reads += 1
        return self._arrival

    @arrival.setter
    def arrival(self, number: int) -> None:
        self._arrival = number


def test_an_equal_burst_goes_by_arrival_in_one_vector_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Past the patience. Random departures mix the indexes first."""
    monkeypatch.setattr("tests.engine.test_policy.Request", CountedRequest)
    queue = Queue("prefix-aware", max_step_rows=2)  # patience of 128 tokens
    rng = random.Random(5)
    burst = [queue.add(f"r{number}", cost=50) for number in range(1000)]
    for request in rng.sample(burst, 900):
        queue.policy.remove(request)
        burst.remove(request)
    CountedRequest.num_reads = 0
    assert queue.order(129) == [request.request_id for request in burst]
    assert CountedRequest.num_reads == 0


def test_a_prefix_that_is_cached_meanwhile_counts() -> None:
    queue = Queue("prefix-aware")
    for number in range(20):
        queue.add(f"r{number}", cost=100, at=0)
    queue.costs["r13"] = 1  # its prefix was computed
    for _ in range(20):  # each call looks one more up in turn
        found = queue.policy.next(50)
    assert found is not None
    assert found.request_id == "r13"
    queue.costs["r13"] = 100  # evicted
    assert queue.policy.next(50).request_id != "r13"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["prefix-aware", "lpm"])
def test_looking_up_costs_has_no_cliff(name: str) -> None:
    """An admission looks up a handful of costs, however long the queue."""
    for length in (10, 100, 2000):
        queue = Queue(name)
        rng = random.Random(length)
        for number in range(length):
            queue.add(f"r{number}", cost=rng.randint(1, 100))
        assert queue.num_lookups == length  # one on arrival
        for key in queue.costs:  # all remembered costs are too low
            queue.costs[key] = rng.randint(50, 1000)
        for asked in range(1, length // 2):
            request = queue.policy.next(1000 + asked)
            assert request is not None
            queue.policy.remove(request)
            assert queue.num_lookups <= length + 10 * asked


@pytest.mark.integration
@given(st.data())
@settings(deadline=None, max_examples=60)
def test_each_request_is_served_once(data: st.DataObject) -> None:
    queue = Queue(data.draw(st.sampled_from(sorted(POLICIES))), max_step_rows=1)
    waiting: dict[str, Request] = {}
    for number in range(data.draw(st.integers(1, 60))):
        cost, priority = data.draw(st.integers(0, 100)), data.draw(st.integers(-2, 2))
        name = f"r{number}"
        waiting[name] = queue.add(name, cost=cost, at=number, priority=priority)
        if data.draw(st.integers(0, 3)) == 0:
            queue.policy.remove(waiting.pop(data.draw(st.sampled_from(sorted(waiting)))))
        assert len(queue.policy) == len(waiting)
    assert sorted(queue.order(1000)) == sorted(waiting)


def test_settings_and_help_name_every_policy() -> None:
    assert get_args(Policy) == tuple(POLICIES)
    (flag,) = [flag for flag in ENGINE_FLAGS if flag.name == "policy"]
    assert all(name in flag.help for name in POLICIES)


def test_unknown_policies_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="'lifo'; choose one of prefix-aware, fair, fcfs, lpm"):
        make_policy("lifo", lambda request: 1, 64)


# -- bounded waiting ---------------------------------------------------------------------------


def wait_of_a_long_prompt(
    policy: str, seed: int, *, num_slots: int, max_clock: int
) -> tuple[int | None, int]:
    """Return the tokens processed while a long request waited in an endless stream of cheap ones
    (None: still waiting at `max_clock`), and the promised bound.
    """
    rng = random.Random(seed)
    max_step_rows, max_running, max_new, longest = 4, 3, 6, 40
    bench = Bench(
        policy=policy, num_slots=num_slots, max_step_rows=max_step_rows, max_running=max_running
    )
    names = (f"cheap {number}" for number in itertools.count())
    cached = [1, 2, 3, 4]
    bench.add("warm", cached, max_new=1)
    bench.run()
    ahead = rng.randint(0, 12)
    for _ in range(ahead):
        bench.add(next(names), cached, max_new=rng.randint(1, max_new))
    arrived = bench.tree.clock
    length = rng.randint(10, longest)
    long = bench.add("long", [9, *(rng.randrange(50) for _ in range(length - 1))], max_new=max_new)
    # Past the patience each earlier arrival goes first, and after each, for AGED_SHARE, so many
    # cheap ones: they cost a token at least. One round more is due for an earlier aged one.
    cheap_ones = math.ceil(len(cached) * (1 / AGED_SHARE - 1))
    admitted = (ahead + 1) * (1 + cheap_ones)
    # With those that run they end first, each computed once, and once more for each older one.
    rows = max_running * (admitted + max_running) * (len(cached) + max_new)
    # The long one then gets on in every step.
    bound = 64 * max_step_rows + rows + (length + max_new) * max_step_rows
    while not bench.answers[("long", 0)].last:
        # Overload: more arrive than can be served.
        while bench.scheduler.num_waiting < 12:
            bench.add(next(names), cached, max_new=rng.randint(1, max_new))
        bench.step()
        if bench.tree.clock - arrived > max_clock:
            return None, bound
    assert long.is_finished
    bench.expect("long", "length")
    return bench.tree.clock - arrived, bound


@pytest.mark.integration
@given(st.integers(0, 2**32), st.sampled_from(FAIR), st.sampled_from([50, 64, 400]))
@settings(deadline=None, max_examples=25)
def test_waiting_is_bounded_under_overload(seed: int, policy: str, num_slots: int) -> None:
    waited, bound = wait_of_a_long_prompt(policy, seed, num_slots=num_slots, max_clock=10**5)
    assert waited is not None
    assert waited <= bound


@pytest.mark.integration
@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_the_tokens_admitted_before_an_aged_request_are_bounded(seed: int) -> None:
    """A / 0.6 and k + 2 longest prompts: the bound of decision 10."""
    rng = random.Random(seed)
    queue, longest = Queue("prefix-aware", max_step_rows=1), 100  # patience of 64 tokens
    numbers = itertools.count()

    def add(at: int, most: int) -> int:
        cost = rng.randint(1, most)
        queue.add(f"r{next(numbers)}", cost=cost, length=longest, at=at)
        return cost

    for _ in range(rng.randint(0, 5)):  # a debt of earlier aged ones
        add(at=-1000, most=longest)
    queue.order(0)
    ahead = [add(at=at, most=longest) for at in range(rng.randint(0, 10))]
    waits = queue.add("waits", cost=longest, length=longest, at=50)
    admitted = 0
    while (request := queue.policy.next(1000)) is not waits:
        assert request is not None
        admitted += queue.costs[request.request_id]
        queue.policy.remove(request)
        for _ in range(3):
            add(at=1000, most=rng.choice([3, longest]))
    assert admitted <= sum(ahead) / AGED_SHARE + (len(ahead) + 2) * longest


@pytest.mark.integration
def test_lpm_starves_the_long_prompt_under_this_overload() -> None:
    """The load of the test above starves the long request without fairness."""
    waited, bound = wait_of_a_long_prompt("lpm", 1, num_slots=400, max_clock=3000)
    assert waited is None
    waited, _ = wait_of_a_long_prompt("fcfs", 1, num_slots=400, max_clock=3000)
    assert waited is not None
    assert waited < bound


@pytest.mark.parametrize(("aging", "ends"), [(0, False), (5, True)])
def test_aging_ends_the_wait_of_a_high_number(aging: int, ends: bool) -> None:
    """Number 3 under an endless stream of number 0, in a pool that also preempts."""
    bench = Bench(policy="priority", num_slots=24, max_step_rows=4, max_running=3, aging=aging)
    names = (f"urgent {number}" for number in itertools.count())
    low = bench.add("low", [9, 8, 7, 6], max_new=8, priority=3)
    while bench.tree.clock < 3000 and not low.is_finished:
        while bench.scheduler.num_waiting < 6:
            bench.add(next(names), [1, 2, 3], max_new=6)
        bench.step()
    assert low.is_finished is ends
    if ends:
        bench.expect("low", "length")


@pytest.mark.parametrize("name", ["prefix-aware", "lpm"])
def test_no_cost_is_looked_up_twice_in_one_call(name: str) -> None:
    """A look-up walks a whole prompt, and a request alone is every candidate."""
    queue = Queue(name)
    queue.add("alone", cost=10)
    before = queue.num_lookups
    assert queue.policy.next(0) is not None
    assert queue.num_lookups == before + 1
