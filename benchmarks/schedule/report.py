"""Tables of simulated runs, in Markdown: hit rates against the best, times against `fcfs`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from benchmarks.schedule.workloads import EIGHT

Record = Mapping[str, Any]
BASELINE = "fcfs"
_Key = TypeVar("_Key")


def variant(record: Record) -> str:
    """Return the name of a record's policy and eviction policy."""
    if record["eviction"] == "adaptive":
        return str(record["policy"])
    return f"{record['policy']} + {record['eviction']}"


def hit_table(records: Sequence[Record], pool: float, load: str) -> str:
    """Return hits of each workload over the best hit that any variant reached in that pool."""
    chosen = [r for r in records if r["pool"] == pool and r["load"] == load]
    best = {w: max(r["hit"] for r in chosen if r["workload"] == w) for w in _workloads(chosen)}
    rows = []
    for name, runs in _by_variant(chosen).items():
        shares = {
            w: statistics.fmean(r["hit"] for r in runs if r["workload"] == w) / best[w]
            for w in best
        }
        rows.append(
            [name, _percent(statistics.fmean(shares.values())), *map(_percent, shares.values())]
        )
    return table(["variant", "mean", *best], rows)


def time_table(records: Sequence[Record]) -> str:
    """Return geometric means over the eight workloads of times and throughput, over `fcfs`."""
    rows = []
    for (load, pool), chosen in _group(records, lambda r: (r["load"], r["pool"])).items():
        base = {(r["workload"], r["seed"]): r for r in chosen if variant(r) == BASELINE}
        for name, runs in _by_variant(chosen).items():
            pairs = [(r, base[r["workload"], r["seed"]]) for r in runs if r["workload"] in EIGHT]
            if pairs:
                rows.append([load, _percent(pool), name, *_ratios(pairs)])
    return table(["load", "pool", "variant", "mean", "p99", "tokens/s"], rows)


def anchor_table(records: Sequence[Record]) -> str:
    """Return the anchor's medians over seeds of each seed's ratio to `fcfs`."""
    base = {r["seed"]: r for r in records if variant(r) == BASELINE}
    rows = []
    for name, runs in _by_variant(records).items():
        pairs = [(run, base[run["seed"]]) for run in runs]
        ratios = [
            statistics.median(run[key] / other[key] for run, other in pairs)
            for key in ("mean_s", "p99_s", "tokens_per_s")
        ]
        middle = [
            statistics.median(run[key] for run in runs)
            for key in ("hit", "mean_s", "p50_s", "p99_s", "longest_wait_s")
        ]
        rows.append([name, *(f"{r:.2f}" for r in ratios), *(f"{value:.2f}" for value in middle)])
    head = ["variant", "mean / fcfs", "p99 / fcfs", "tokens/s / fcfs"]
    return table([*head, "hit", "mean s", "p50 s", "p99 s", "longest wait s"], rows)


def tenant_table(records: Sequence[Record]) -> str:
    """Return first-token times of two tenants."""
    rows = [
        [record["workload"], variant(record), tenant, *(f"{times[key]:.2f}" for key in times)]
        for record in records
        for tenant, times in record["tenants"].items()
    ]
    return table(["workload", "variant", "tenant", "mean s", "p50 s", "p99 s"], rows)


def real_table(records: Sequence[Record]) -> str:
    """Return medians over rounds on real servers, and the times over those of `fcfs`.

    The last two columns are of the simulation with the same sessions and pool.
    """
    groups = _group(records, lambda r: (r["workload"], r["pool"], r["variant"]))
    rows = []
    for (workload, pool, name), runs in groups.items():
        base = groups.get((workload, pool, BASELINE))
        mean, p99, total = (_median(runs, key) for key in ("mean_s", "p99_s", "total_s"))
        ratio = "" if base is None else f"{mean / _median(base, 'mean_s'):.2f}"
        simulated: Record = runs[0]["simulated"] or {}
        first: Record = (base[0]["simulated"] if base else None) or {}
        rows.append(
            [
                workload,
                _percent(pool),
                name,
                _percent(_median(runs, "hit")),
                f"{_median(runs, 'computed_tokens'):,.0f}",
                *(f"{value:.1f}" for value in (mean, p99, total)),
                ratio,
                _percent(simulated["hit"]) if simulated else "",
                f"{simulated['mean_s'] / first['mean_s']:.2f}" if simulated and first else "",
            ]
        )
    head = ["workload", "pool", "variant", "hit", "computed tokens", "mean s", "p99 s", "total s"]
    return table([*head, "mean / fcfs", "simulated hit", "simulated mean / fcfs"], rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _median(runs: Iterable[Record], key: str) -> float:
    return float(statistics.median(run[key] for run in runs))


def _ratios(pairs: Sequence[tuple[Record, Record]]) -> list[str]:
    keys = ("mean_s", "p99_s", "tokens_per_s")
    return [
        f"{statistics.geometric_mean(run[key] / base[key] for run, base in pairs):.2f}"
        for key in keys
    ]


def _workloads(records: Iterable[Record]) -> list[str]:
    present = {record["workload"] for record in records}
    return [name for name in EIGHT if name in present]


def _by_variant(records: Iterable[Record]) -> dict[str, list[Record]]:
    return _group(records, variant)


def _group(records: Iterable[Record], key: Callable[[Record], _Key]) -> dict[_Key, list[Record]]:
    groups: dict[_Key, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
