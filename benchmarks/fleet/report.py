"""Tables of simulated fleets, in Markdown: means over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.fleet.runs import ONE_TREE
from benchmarks.schedule.report import table

Record = Mapping[str, Any]
BASELINES = ("round-robin", "prefix-affinity")


def make_tables(records: Sequence[Record]) -> list[str]:
    """Return one table for each number of replicas and change, each with its title."""
    tables = []
    for count, change in dict.fromkeys((r["num_replicas"], r["change"]) for r in records):
        chosen = [r for r in records if (r["num_replicas"], r["change"]) == (count, change)]
        title = f"{count} replicas" + (f", {change} halfway" if change else "")
        tables.append(f"{title}:\n\n{(_cold_table if change else fleet_table)(chosen)}")
    return tables


def fleet_table(records: Sequence[Record]) -> str:
    """Return hits, loads and first-token times of each workload and router."""
    rows = []
    for workload in dict.fromkeys(r["workload"] for r in records):
        chosen = by_router([r for r in records if r["workload"] == workload])
        for router, runs in chosen.items():
            share = mean_ratio(chosen, router, ONE_TREE, "hit")
            ratios = [mean_ratio(chosen, router, base, "mean_s") for base in BASELINES]
            rows.append(
                [
                    workload,
                    router,
                    f"{100 * _mean(runs, 'hit'):.1f} %",
                    "" if share is None else f"{100 * share:.0f} %",
                    f"{_mean(runs, 'work_apart'):.2f}",
                    f"{_mean(runs, 'requests_apart'):.2f}",
                    f"{1e3 * _mean(runs, 'mean_s'):,.0f}",
                    f"{1e3 * _mean(runs, 'p99_s'):,.0f}",
                    *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios),
                ]
            )
    head = ["workload", "router", "hits", "of one tree's", "highest / mean work"]
    head += ["highest / mean requests", "mean first token ms", "p99 ms"]
    return table([*head, *(f"mean / {base}" for base in BASELINES)], rows)


def _cold_table(records: Sequence[Record]) -> str:
    """Return how soon a cold replica has its share of the requests."""
    rows = []
    for workload in dict.fromkeys(r["workload"] for r in records):
        for router, runs in by_router([r for r in records if r["workload"] == workload]).items():
            times = [run["recovered_s"] for run in runs]
            shares = zip(*(run["share_after_join"] for run in runs), strict=False)
            rows.append(
                [
                    workload,
                    router,
                    ", ".join("never" if each is None else f"{each:g}" for each in times),
                    ", ".join(f"{statistics.fmean(each):.2f}" for each in shares),
                    f"{100 * _mean(runs, 'hit'):.1f} %",
                    f"{1e3 * _mean(runs, 'mean_s'):,.0f}",
                ]
            )
    head = ["workload", "router", "share after s (each seed)", "share in the first windows"]
    return table([*head, "hits", "mean first token ms"], rows)


def by_router(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return records by router, in order of appearance."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record["router"], []).append(record)
    return groups


def mean_ratio(
    runs: Mapping[str, Sequence[Record]], router: str, base: str, key: str
) -> float | None:
    """Return the geometric mean over seeds of a figure over a baseline's; None without it."""
    others = {run["seed"]: run for run in runs.get(base, ())}
    if not others:
        return None
    return statistics.geometric_mean(run[key] / others[run["seed"]][key] for run in runs[router])


def _mean(runs: Sequence[Record], key: str) -> float:
    return statistics.fmean(run[key] for run in runs)
