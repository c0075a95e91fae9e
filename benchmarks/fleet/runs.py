"""Runs of simulated fleets: a point of the matrix becomes one record of figures."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.fleet.replica import Replica
from benchmarks.fleet.routers import Radix, Router, make_router
from benchmarks.fleet.simulation import Change, Fleet
from benchmarks.schedule import runs
from benchmarks.schedule.simulation import COSTS, Setting, StepCost, arrival_times
from benchmarks.schedule.workloads import make_workload

ONE_TREE = "one-tree"  # one engine with the pool and the speed of all
WORKLOADS = {
    "agents": "agents",
    "chats": "short-chat",
    "retrieval": "retrieval",
    "mixed": "mixed",
}
LOADS = {"agents": 1.5, "chats": 1.2, "retrieval": 1.0, "mixed": 1.2}
_RESTART_S = 5.0
_WINDOW_S = 2.0  # of a new replica's share
_FAIR = 0.8  # of the other replicas' mean: a new one has its share


@dataclass(frozen=True, slots=True)
class Point:
    """One run of the matrix."""

    workload: str
    router: str
    num_replicas: int = 4
    sessions: float = 1.0  # for each replica, over the workload's own number
    pool: float = 0.3  # of the working set, divided among the replicas
    load: float = 1.0  # of the sessions a second that one engine of half the pool serves, fcfs
    cost: str = "h100"
    seed: int = 0
    change: str = ""  # "restart" or "scale-up": a replica that is cold, halfway


def run_point(point: Point, **placement: float) -> dict[str, Any]:
    """Simulate a point; return its coordinates and figures (times in simulated seconds)."""
    name, count = WORKLOADS[point.workload], point.num_replicas
    workload = make_workload(name, seed=point.seed, scale=point.sessions * count, thinks=True)
    rate = point.load * runs.capacity(name, point.cost, point.seed) * count
    arrivals_s = list(arrival_times(workload, rate, point.seed))
    slots = max(runs.least_slots(name), int(point.pool * _working_set(point) / count))
    base = COSTS[point.cost]
    setting = Setting(num_slots=slots, cost=point.cost)
    if point.router == ONE_TREE:
        setting = Setting(
            num_slots=slots * count, max_step_rows=2048 * count, max_running=256 * count
        )
        base = StepCost("all", base.fixed_s, base.row_s / count, base.kv_token_s / count)
    num_engines = 1 if point.router == ONE_TREE else count
    halfway_s = arrivals_s[len(arrivals_s) // 2]
    changes = [Change(0.0, f"r{index}", True) for index in range(num_engines)]
    if point.change == "restart":
        leaves_s = halfway_s - min(_RESTART_S, halfway_s / 2)
        changes += [Change(leaves_s, "r0", False), Change(halfway_s, "cold", True)]
    elif point.change:
        changes += [Change(halfway_s, "cold", True)]
    fleet = Fleet(setting, base, changes=changes)
    router = make_router(
        "round-robin" if point.router == ONE_TREE else point.router,
        lambda: fleet.now,
        point.seed,
        **placement,
    )
    fleet.run(workload, router, arrivals_s)
    found = {**asdict(point), "num_slots": slots, **figures(fleet, router)}
    if point.change:
        found |= _recovery(fleet, halfway_s)
    return found


def figures(fleet: Fleet, router: Router) -> dict[str, Any]:
    """Return the figures of a finished run."""
    every: list[Replica] = [*fleet.replicas.values(), *fleet.gone]
    first = np.array([each.timings.first_token_s for each in fleet.served])
    prompt, cached = (
        sum(getattr(each.scheduler.stats, name) for each in every)
        for name in ("prompt_tokens", "cached_tokens")
    )
    work = np.array([each.work_s for each in every])
    requests = np.array([each.num_requests for each in every])
    output = sum(each.scheduler.stats.output_tokens for each in every)
    result: dict[str, Any] = {
        "requests": len(first),
        "hit": cached / prompt,
        "mean_s": float(first.mean()),
        "p99_s": float(np.percentile(first, 99)),
        "work_apart": float(work.max() / work.mean()),
        "requests_apart": float(requests.max() / requests.mean()),
        "tokens_per_s": (prompt + output) / fleet.now,
        "makespan_s": fleet.now,
        "evicted_tokens": sum(each.tree.num_evicted_tokens for each in every),
    }
    if isinstance(router, Radix):
        decisions = np.array(router.decisions_s) * 1e6
        result |= {
            "decision_us": float(np.median(decisions)),
            "decision_p99_us": float(np.percentile(decisions, 99)),
            "predicted": router.predicted_tokens / cached,
            "reasons": router.reasons,
        }
    return result


def _recovery(fleet: Fleet, joined_s: float) -> dict[str, Any]:
    """Return how soon a cold replica has its share: requests in a window over the others' mean."""
    others = len(fleet.replicas) - 1
    last_s = max(each.sent_s for each in fleet.served)
    shares = []
    for start_s in np.arange(joined_s, last_s - _WINDOW_S, _WINDOW_S):
        names = [
            each.replica for each in fleet.served if start_s <= each.sent_s < start_s + _WINDOW_S
        ]
        cold = names.count("cold")
        shares.append(cold * others / max(1, len(names) - cold))
    fair = next((index for index, share in enumerate(shares) if share >= _FAIR), None)
    return {
        "recovered_s": None if fair is None else (fair + 1) * _WINDOW_S,
        "share_after_join": shares[:5],
    }


@functools.cache
def _slots(name: str, scale: float, seed: int) -> int:
    return runs.slots_in_the_end(make_workload(name, seed=seed, scale=scale, thinks=False))


def _working_set(point: Point) -> int:
    """Return what an unlimited pool of one engine holds in the end."""
    return _slots(WORKLOADS[point.workload], point.sessions * point.num_replicas, point.seed)
