"""The matrix of simulated runs as a command: NDJSON on standard output, or tables."""

from __future__ import annotations

import itertools
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Annotated, Any

import typer

from benchmarks.schedule import report
from benchmarks.schedule.runs import BURST, LOADS, Point, run_point
from benchmarks.schedule.simulation import COSTS
from benchmarks.schedule.workloads import EIGHT, WORKLOADS
from yaie.cli.failures import usage_error
from yaie.engine.queue.policies import POLICIES as ADMISSION
from yaie.kvcache.eviction import POLICIES as EVICTION

POLICIES = (*ADMISSION, "depth-first")
EVICTIONS = (*EVICTION, "belady")
ANCHOR_POOL = 0.25

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def schedule(
    *,
    workloads: Annotated[
        str, typer.Option(help="names, separated by commas; `eight`: those of the hit table")
    ] = "eight",
    loads: Annotated[str, typer.Option(help=f"of {', '.join(LOADS)} (of capacity)")] = BURST,
    pools: Annotated[str, typer.Option(help="shares of the working set")] = "0.5,0.2",
    policies: Annotated[str, typer.Option(help=f"of {', '.join(POLICIES)}")] = (
        "prefix-aware,fcfs,lpm,depth-first"
    ),
    evictions: Annotated[str, typer.Option(help=f"of {', '.join(EVICTIONS)}")] = "adaptive",
    cost: Annotated[str, typer.Option(help=f"cost model, of {', '.join(COSTS)}")] = "h100",
    seeds: Annotated[int, typer.Option(min=1, help="number of seeds, from 0")] = 1,
    reply: Annotated[
        float, typer.Option(min=0.0, help="time of a caller before its next turn, s")
    ] = 0.0,
    json_lines: Annotated[bool, typer.Option("--json", help="one record a line")] = False,
) -> None:
    """Simulate the scheduler and the tree under load: hit rates, first-token times, tenants.

    The scheduler and the radix tree are the engine's; the time of a step is a cost model.
    """
    names = list(EIGHT) if workloads == "eight" else _of(workloads, WORKLOADS, "--workloads")
    points = [
        Point(workload, load, float(pool), policy, eviction, cost, seed, reply)
        for workload, load, pool, policy, eviction, seed in itertools.product(
            names,
            _of(loads, LOADS, "--loads"),
            pools.split(","),
            _of(policies, POLICIES, "--policies"),
            _of(evictions, EVICTIONS, "--evictions"),
            range(seeds),
        )
    ]
    records = []
    with ProcessPoolExecutor() as processes:
        for number, record in enumerate(processes.map(run_point, points), 1):
            records.append(record)
            if json_lines:
                print(json.dumps(record), flush=True)
            elif sys.stderr.isatty():
                print(f"\r{number} of {len(points)} runs", end="", file=sys.stderr, flush=True)
    if not json_lines:
        print("\n\n".join(make_tables(records)))


def _of(listed: str, known: Any, option: str) -> list[str]:
    names = listed.split(",")
    for name in names:
        if name not in known:
            raise usage_error(f"{option}: unknown {name!r}; choose from {', '.join(known)}")
    return names


def make_tables(records: list[dict[str, Any]]) -> list[str]:
    """Return the tables of these records, each with its title."""
    eight = [record for record in records if record["workload"] in EIGHT]
    anchor = [record for record in records if record["workload"] == "anchor"]
    tenants = [record for record in records if "tenants" in record and record not in eight]
    tables = []
    for load, pool in sorted({(record["load"], record["pool"]) for record in eight}):
        title = f"Hit rate over the best in the pool, load {load}, pool {pool:.0%}:"
        tables.append(f"{title}\n\n{report.hit_table(eight, pool, load)}")
    has_baseline = any(report.variant(record) == report.BASELINE for record in records)
    if eight and has_baseline:
        title = "First-token times and throughput over fcfs, geometric means:"
        tables.append(f"{title}\n\n{report.time_table(eight)}")
    if anchor:
        tables.append(f"Anchor, medians over seeds:\n\n{report.anchor_table(anchor)}")
    if tenants:
        tables.append(f"Tenants:\n\n{report.tenant_table(tenants)}")
    return tables
