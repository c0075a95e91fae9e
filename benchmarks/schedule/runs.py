"""Runs of the simulation: a point of the matrix becomes one record of figures."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks.schedule.simulation import UNLIMITED, Setting, Simulation
from benchmarks.schedule.workloads import EIGHT, WORKLOADS, Workload, make_workload

BURST = "burst"
LOADS = (BURST, "0.6", "0.9", "1.1")
POOLS = (0.2, 0.5, 1.0)
_LEAST_SLOTS = {"mixed": 20_000}  # holds its longest document beside the others
_CAPACITY_POOL = 0.5


@dataclass(frozen=True, slots=True)
class Point:
    """One run of the matrix."""

    workload: str
    load: str = BURST  # or a share of capacity: Poisson arrivals
    pool: float = 0.5  # of the working set; infinity: unlimited
    policy: str = "prefix-aware"
    eviction: str = "adaptive"
    cost: str = "h100"
    seed: int = 0
    reply_s: float = 0.0  # of a caller, before the next turn of its session


def run_point(point: Point) -> dict[str, Any]:
    """Simulate a point; return its coordinates and figures (times in simulated seconds)."""
    rate = None
    if point.load != BURST and point.workload in EIGHT:
        rate = float(point.load) * capacity(point.workload, point.cost, point.seed)
    setting = Setting(
        policy=point.policy,
        eviction=point.eviction,
        num_slots=num_slots(point),
        cost=point.cost,
        reply_s=point.reply_s,
    )
    workload = _workload(point, thinks=point.load != BURST)
    return {
        **asdict(point),
        **figures(Simulation(workload, setting, rate=rate, seed=point.seed).run()),
    }


def figures(run: Simulation) -> dict[str, Any]:
    """Return the figures of a finished run; first-token times also for each tenant."""
    stats = run.scheduler.stats
    first = np.array([each.timings.first_token_s for each in run.served])
    queued = np.array([each.timings.queued_s for each in run.served])
    result: dict[str, Any] = {
        "requests": len(first),
        "hit": stats.cached_tokens / stats.prompt_tokens,
        **_times(first),
        "longest_wait_s": float(queued.max()),
        "longest_after_admission_s": float((first - queued).max()),
        "tokens_per_s": (stats.prompt_tokens + stats.output_tokens) / run.now,
        "makespan_s": run.now,
        "evicted_tokens": run.tree.num_evicted_tokens,
        "preemptions": stats.num_preemptions,
    }
    tenants = sorted({each.call.tenant for each in run.served} - {""})
    if tenants:
        result["tenants"] = {
            tenant: _times(
                np.array([e.timings.first_token_s for e in run.served if e.call.tenant == tenant])
            )
            for tenant in tenants
        }
    return result


def _times(first_token_s: np.ndarray) -> dict[str, float]:
    p50, p99 = np.percentile(first_token_s, (50, 99))
    return {"mean_s": float(first_token_s.mean()), "p50_s": float(p50), "p99_s": float(p99)}


def num_slots(point: Point) -> int:
    """Return the pool of a point: a share of what an unlimited pool holds in the end."""
    if point.pool == float("inf"):
        return UNLIMITED
    share = int(point.pool * working_set(point.workload, point.seed))
    return max(least_slots(point.workload), share)


def least_slots(workload: str) -> int:
    """Return the smallest pool of a workload of full length, in slots."""
    return _LEAST_SLOTS.get(workload, 4000)


@functools.cache
def working_set(workload: str, seed: int) -> int:
    """Return the number of slots that an unlimited pool holds after a burst of the workload."""
    return slots_in_the_end(make_workload(workload, seed=seed, thinks=False))


def slots_in_the_end(workload: Workload) -> int:
    """Return the number of slots that an unlimited pool holds after a workload."""
    run = Simulation(workload, Setting()).run()
    return run.tree.num_slots - run.tree.num_free


@functools.cache
def capacity(workload: str, cost: str, seed: int) -> float:
    """Return the sessions a second of a burst under the default policies in half a pool."""
    point = Point(workload, pool=_CAPACITY_POOL, cost=cost, seed=seed)
    made = _workload(point, thinks=False)
    setting = replace(Setting(), num_slots=num_slots(point), cost=cost, policy="fcfs")
    return len(made.sessions) / Simulation(made, setting).run().now


def _workload(point: Point, *, thinks: bool) -> Workload:
    if point.workload not in WORKLOADS:
        raise KeyError(point.workload)
    return make_workload(point.workload, seed=point.seed, thinks=thinks)
