"""Deep unary chains: a client that requests every prefix of a prompt makes each token a node.

Sequences below that chain must not walk it at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.attention.plain_plan import assert_same, plain_plan
from tests.attention.work import count_lines
from tests.engine.fake_model import Bench
from tests.engine.test_scheduler import EVICTIONS, POLICIES, run_schedule
from yaie.attention.plan import FoldingCost, PlannedStep, RowSelection, plan_step
from yaie.engine.scheduled_step import ScheduledStep
from yaie.engine.step import batch_builder


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Compare every plan of a scheduler with one made from scratch; yield their row counts."""
    found = []

    def plan_and_compare(selection: RowSelection, cost: FoldingCost | None = None) -> PlannedStep:
        planned = plan_step(selection, cost)
        assert_same(planned.plan, plain_plan(selection, cost))
        found.append(planned.plan.num_rows)
        return planned

    monkeypatch.setattr(batch_builder, "plan_step", plan_and_compare)
    yield found
    assert found


@pytest.mark.integration
@given(
    st.integers(0, 2**32),
    st.sampled_from(POLICIES),
    st.sampled_from(EVICTIONS),
    st.sampled_from([1, 7, 128]),
)
@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_plans_of_random_schedules_are_those_made_from_scratch(
    compared: list[int], seed: int, policy: str, eviction: str, max_step_rows: int
) -> None:
    """With preemption, eviction, aborts, samples and prompt passes."""
    bench = run_schedule(seed, policy, eviction, max_step_rows=max_step_rows)
    assert not any(node.chain for node in bench.tree.nodes())


class CountedBench(Bench):
    """A bench that counts the lines of the scheduler's Python in a step."""

    work = 0

    def step(self) -> ScheduledStep | None:
        self.work = 0
        return super().step()

    def count(self, patch: pytest.MonkeyPatch) -> None:
        for name in ("schedule", "update"):
            patch.setattr(self.scheduler, name, self._counted(getattr(self.scheduler, name)))

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            results: list[Any] = []
            self.work += count_lines(lambda: results.append(method(*arguments)))
            return results[0]

        return call


def bench_with_chain(depth: int, policy: str = "prefix-aware") -> tuple[CountedBench, list[int]]:
    """Return a bench that has cached every prefix of a prompt, each with another next token."""
    bench = CountedBench(num_slots=8 * depth + 1000, max_step_rows=1000, policy=policy)
    prompt = [number % 100 for number in range(depth)]
    for end in [*range(1, depth), depth]:
        bench.add(f"prefix {end}", [*prompt[:end], 200], max_new=1)
    bench.run()
    bench.expect_all()
    assert bench.tree.num_nodes == 2 * depth - 1
    return bench, prompt


def test_decoding_below_a_chain_takes_constant_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work: dict[int, list[int]] = {}
    for depth in (60, 180):
        bench, prompt = bench_with_chain(depth)
        bench.count(monkeypatch)
        for number in range(3):
            bench.add(f"new {number}", [*prompt, 300 + number], max_new=20)
        bench.step()
        assert bench.work > 20 * depth  # they were admitted
        bench.step()
        work[depth] = []
        for _ in range(8):
            bench.step()
            work[depth].append(bench.work)
        bench.run()
        bench.expect_all()
    assert work[60] == work[180]


@pytest.mark.parametrize("policy", POLICIES)
def test_admission_below_a_chain_costs_in_proportion_to_it(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = {}
    for depth in (60, 180):
        bench, prompt = bench_with_chain(depth, policy)
        bench.count(monkeypatch)
        for number in range(8):
            bench.add(f"new {number}", [*prompt, 300 + number], max_new=2)
        bench.step()
        work[depth] = bench.work
        bench.run()
        bench.expect_all()
    assert work[180] < 3 * work[60]
