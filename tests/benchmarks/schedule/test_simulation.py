"""The simulation: it repeats itself, computes what the workload states, and keeps its bounds."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.schedule.runs import figures
from benchmarks.schedule.simulation import COSTS, UNLIMITED, Setting, Simulation
from benchmarks.schedule.workloads import EIGHT, WORKLOADS, make_workload

SCALE = 0.1


def simulate(
    name: str, *, thinks: bool = False, rate: float | None = None, **setting
) -> Simulation:
    workload = make_workload(name, scale=SCALE, thinks=thinks)
    return Simulation(workload, Setting(**setting), rate=rate).run()


def trie_size(name: str) -> int:
    """Count the distinct prompt tokens of a burst: the rows that no order can avoid."""
    seen: set[tuple[int, ...]] = set()
    total = 0
    for each in simulate(name).served:
        path: tuple[int, ...] = ()
        for segment in each.call.prompt:
            path = (*path, int(segment[0]))
            if path not in seen:
                seen.add(path)
                total += len(segment)
    return total


@pytest.mark.integration
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n.endswith("flood") else n for n in WORKLOADS],
)
def test_every_call_is_served_and_the_pool_is_audited(name: str) -> None:
    run = simulate(name)
    assert run.scheduler.stats.num_requests == len(run.served)
    assert not run.scheduler.has_work
    run.tree.check()


def test_a_run_repeats_itself() -> None:
    runs = [simulate("mixed", num_slots=20_000, thinks=True, rate=5.0) for _ in range(2)]
    assert figures(runs[0]) == figures(runs[1])


def test_another_seed_gives_other_lengths() -> None:
    one, other = (make_workload("agents", seed=seed, scale=SCALE, thinks=False) for seed in (0, 1))
    assert [c.prompt_len for c in one.sessions[0].first()] != [
        c.prompt_len for c in other.sessions[0].first()
    ]


@pytest.mark.parametrize("name", ["few-shot", "retrieval"])
def test_an_unlimited_pool_computes_each_token_once(name: str) -> None:
    run = simulate(name)
    prompt_rows = run.scheduler.stats.prompt_rows_computed
    # A prompt that is a whole path of the tree recomputes its last token for the logits.
    assert trie_size(name) <= prompt_rows <= trie_size(name) + len(run.served)


@pytest.mark.integration
@pytest.mark.parametrize("name", EIGHT)
def test_hits_of_an_unlimited_pool_do_not_depend_on_the_policy(name: str) -> None:
    hits = {
        policy: figures(simulate(name, policy=policy))["hit"]
        for policy in ("prefix-aware", "fcfs", "lpm", "depth-first")
    }
    assert max(hits.values()) - min(hits.values()) < 0.01, hits


def test_depth_first_order_reaches_the_unlimited_pool_in_a_small_one() -> None:
    unlimited = figures(simulate("few-shot"))["hit"]
    small = figures(simulate("few-shot", policy="depth-first", num_slots=8000))["hit"]
    assert small > 0.99 * unlimited
    assert figures(simulate("few-shot", policy="fcfs", num_slots=8000))["hit"] < 0.9 * unlimited


def test_belady_is_above_every_eviction_policy_of_the_engine() -> None:
    setting = {"thinks": True, "rate": 10.0, "num_slots": 12_000, "policy": "fcfs"}
    hits = {
        eviction: figures(simulate("retrieval", eviction=eviction, **setting))["hit"]
        for eviction in ("adaptive", "lru", "belady")
    }
    assert hits["belady"] == max(hits.values()), hits


def test_time_is_the_cost_model_of_the_steps() -> None:
    run = simulate("self-consistency", num_slots=UNLIMITED, cost="cpu")
    stats, cost = run.scheduler.stats, COSTS["cpu"]
    expected = (
        cost.fixed_s * stats.num_steps
        + cost.row_s * stats.rows_computed
        + cost.kv_token_s * stats.kv_tokens_read
    )
    assert run.now == pytest.approx(expected)


def test_poisson_sessions_arrive_at_their_rate() -> None:
    run = simulate("short-chat", thinks=True, rate=4.0)
    assert run.now > len(make_workload("short-chat", scale=SCALE, thinks=True).sessions) / 4 / 2


def test_a_caller_takes_its_time_to_reply() -> None:
    at_once, later = (simulate("short-chat", reply_s=reply_s) for reply_s in (0.0, 2.0))
    assert later.now > 3 * 2.0 > at_once.now  # three replies in four turns
    assert len(later.served) == len(at_once.served)


def test_tenants_have_figures_of_their_own() -> None:
    result = figures(simulate("expensive-flood", num_slots=400_000))
    assert set(result["tenants"]) == {"flood", "polite"}
    assert all(np.isfinite(list(times.values())).all() for times in result["tenants"].values())
