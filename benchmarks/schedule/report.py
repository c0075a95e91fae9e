"""Tables of simulated runs, in Markdown: hit rates against the best, times against `fcfs`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from benchmarks.schedule.workloads import EIGHT

Record = Mapping[str, Any]
BASELINE = "fcfs"
_RATIOS = {"mean": "mean_s", "p99": "p99_s", "tokens/s": "tokens_per_s"}  # title, figure
_Key = TypeVar("_Key")


def variant(record: Record) -> str:
    """Return the name of a record's policy and eviction policy."""
    if record["eviction"] == "adaptive":
        return str(record["policy"])
    return f"{record['policy']} + {record['eviction']}"


def hit_table(records: Sequence[Record], pool: float, load: str) -> str:
    """Return hits of each workload over the best hit that any variant reached in that pool."""
    chosen = [r for r in records if r["pool"] == pool and r["load"] == load]
    rows = [
        [name, _percent(statistics.fmean(shares.values())), *map(_percent, shares.values())]
        for name, shares in hit_shares(chosen).items()
    ]
    return table(["variant", "mean", *_workloads(chosen)], rows)


def hit_shares(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Return, by variant and workload, hits over the best of all variants in one pool."""
    best = {w: max(r["hit"] for r in records if r["workload"] == w) for w in _workloads(records)}
    return {
        name: {
            w: statistics.fmean(r["hit"] for r in runs if r["workload"] == w) / best[w]
            for w in best
        }
        for name, runs in _by_variant(records).items()
    }


def time_table(records: Sequence[Record]) -> str:
    """Return geometric means over the eight workloads of times and throughput, over `fcfs`."""
    rows = [
        [load, _percent(pool), name, *(f"{ratio:.2f}" for ratio in ratios.values())]
        for (load, pool), chosen in _group(records, lambda r: (r["load"], r["pool"])).items()
        for name, ratios in time_ratios(chosen).items()
    ]
    return table(["load", "pool", "variant", *_RATIOS], rows)


def time_ratios(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Return, by variant, geometric means over workloads of figures over `fcfs`, in one pool."""
    chosen = [record for record in records if record["workload"] in EIGHT]
    base = {(r["workload"], r["seed"]): r for r in chosen if variant(r) == BASELINE}
    return {
        name: {
            title: statistics.geometric_mean(
                run[key] / base[run["workload"], run["seed"]][key] for run in runs
            )
            for title, key in _RATIOS.items()
        }
        for name, runs in _by_variant(chosen).items()
    }


def anchor_table(records: Sequence[Record]) -> str:
    """Return the anchor's medians over seeds, and of each seed's ratio to `fcfs` where it ran."""
    rows = []
    for (load, pool), chosen in _group(records, lambda r: (r["load"], r["pool"])).items():
        base = {r["seed"]: r for r in chosen if variant(r) == BASELINE}
        for name, runs in _by_variant(chosen).items():
            pairs = [(run, base[run["seed"]]) for run in runs if base]
            ratios = [
                f"{statistics.median(run[key] / other[key] for run, other in pairs):.2f}"
                if pairs
                else ""
                for key in ("mean_s", "p99_s", "tokens_per_s")
            ]
            middle = [
                f"{_median(runs, key):.2f}"
                for key in ("hit", "mean_s", "p50_s", "p99_s", "longest_wait_s")
            ]
            rows.append([load, _percent(pool), name, *ratios, *middle])
    head = ["load", "pool", "variant", "mean / fcfs", "p99 / fcfs", "tokens/s / fcfs"]
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
    """Return medians over rounds on real servers, and the mean over that of `fcfs`.

    The last two columns are of the simulation with the same sessions and pool.
    """
    groups = _group(records, lambda r: (r["step_rows"], r["workload"], r["pool"], r["variant"]))
    rows = []
    for (step_rows, workload, pool, name), runs in groups.items():
        base = groups.get((step_rows, workload, pool, BASELINE))
        seconds = [_median(runs, key) for key in ("mean_s", "p99_s", "total_s", "own_cpu_s")]
        ratio = "" if base is None else f"{seconds[0] / _median(base, 'mean_s'):.2f}"
        simulated: Record = runs[0]["simulated"] or {}
        first: Record = (base[0]["simulated"] if base else None) or {}
        rows.append(
            [
                f"{step_rows:,}",
                workload,
                _percent(pool),
                name,
                _percent(_median(runs, "hit")),
                f"{_median(runs, 'computed_tokens'):,.0f}",
                *(f"{value:.1f}" for value in seconds),
                ratio,
                _percent(simulated["hit"]) if simulated else "",
                f"{simulated['mean_s'] / first['mean_s']:.2f}" if simulated and first else "",
            ]
        )
    head = ["step", "workload", "pool", "variant", "hit", "computed tokens"]
    head += ["mean s", "p99 s", "total s", "CPU s"]
    return table([*head, "mean / fcfs", "simulated hit", "simulated mean / fcfs"], rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _median(runs: Iterable[Record], key: str) -> float:
    return float(statistics.median(run[key] for run in runs))


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
