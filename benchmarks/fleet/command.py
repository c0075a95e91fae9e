"""Simulated and real fleets as a command: NDJSON on standard output, or tables."""

from __future__ import annotations

import itertools
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Annotated, Any

import typer

from benchmarks.fleet import report
from benchmarks.fleet.routers import ROUTERS
from benchmarks.fleet.runs import LOADS, ONE_TREE, WORKLOADS, Point, run_point
from benchmarks.schedule.simulation import COSTS
from yaie.cli.failures import usage_error

CHANGES = ("", "restart", "scale-up")


def fleet(
    *,
    workloads: Annotated[
        str, typer.Option(help=f"of {', '.join(WORKLOADS)}, separated by commas")
    ] = ",".join(WORKLOADS),
    routers: Annotated[
        str, typer.Option(help=f"of {', '.join(ROUTERS)} and {ONE_TREE}")
    ] = ",".join((ONE_TREE, *ROUTERS)),
    replicas: Annotated[str, typer.Option(help="numbers of replicas")] = "4",
    sessions: Annotated[
        float, typer.Option(min=0.01, help="sessions for each replica, over the workload's own")
    ] = 0.5,
    pool: Annotated[
        float, typer.Option(help="pool of all replicas, as a share of the working set")
    ] = 0.3,
    load: Annotated[
        float,
        typer.Option(
            help="arrivals over what first-come replicas of half the pool serve "
            f"[{', '.join(f'{name} {value:g}' for name, value in LOADS.items())}]"
        ),
    ] = 0.0,
    change: Annotated[
        str, typer.Option(help="a replica that is cold, halfway: restart or scale-up")
    ] = "",
    cost: Annotated[str, typer.Option(help=f"cost model, of {', '.join(COSTS)}")] = "h100",
    seeds: Annotated[int, typer.Option(min=1, help="number of seeds, from 0")] = 2,
    json_lines: Annotated[bool, typer.Option("--json", help="one record a line")] = False,
) -> None:
    """Simulate replicas behind a router: hits, load, first-token times, cold replicas.

    Placement, schedulers and radix trees are the product's; the time of a step is a cost model.
    """
    if change not in CHANGES:
        raise usage_error(f"--change: unknown {change!r}; choose from restart, scale-up")
    if cost not in COSTS:
        raise usage_error(f"--cost: unknown {cost!r}; choose from {', '.join(COSTS)}")
    points = [
        Point(workload, router, count, sessions, pool, load or LOADS[workload], cost, seed, change)
        for workload, count, seed, router in itertools.product(
            _of(workloads, WORKLOADS, "--workloads"),
            [int(each) for each in replicas.split(",")],
            range(seeds),
            _of(routers, (ONE_TREE, *ROUTERS), "--routers"),
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
        print("\n\n".join(report.make_tables(records)))


def _of(listed: str, known: Any, option: str) -> list[str]:
    names = listed.split(",")
    for name in names:
        if name not in known:
            raise usage_error(f"{option}: unknown {name!r}; choose from {', '.join(known)}")
    return names
