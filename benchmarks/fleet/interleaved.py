"""YAIE's router and Ray's `PrefixCacheAffinityRouter`, in turns on the same replicas.

`python -m benchmarks.fleet.interleaved --out FILE` starts `yaie serve --ray` once for each
workload. Each round has new tokens; each router gets them once, with flushed caches, and the
routers change places from round to round. Needs the extra `yaie[ray]`.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from benchmarks.commands import stopping_in_order
from benchmarks.fleet.real import Case, Server, requests_by_replica
from benchmarks.fleet.routers import THEIRS
from benchmarks.fleet.runs import WORKLOADS
from benchmarks.peers.client import OpenAiDialect
from benchmarks.peers.workloads import Shape, read_vocabulary
from benchmarks.schedule.replay import Replay, Words, figures
from benchmarks.schedule.report import table
from benchmarks.schedule.simulation import arrival_times
from yaie.models.load.folder import resolve_model_path

_MODEL = "builtin"
_OURS = "radix"
_ADMIN = "benchmark"
_RUN_LIMIT_S = 400.0

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class SaltedDialect(OpenAiDialect):
    """Requests whose `cache_salt` names their router and their round."""

    def __init__(self, salt: str) -> None:
        super().__init__(_MODEL)
        self._salt = salt

    def body(self, prompt: Sequence[int], shape: Shape) -> dict[str, Any]:
        """Return the request for one prompt."""
        return {**super().body(prompt, shape), "cache_salt": self._salt}


@app.command()
def interleaved(
    *,
    out: Annotated[Path, typer.Option(help="file that records are added to, one a line")],
    replicas: Annotated[int, typer.Option(min=2)] = 2,
    workloads: Annotated[str, typer.Option(help=f"of {', '.join(WORKLOADS)}")] = (
        "agents,chats,mixed"
    ),
    rounds: Annotated[int, typer.Option(min=1)] = 4,
    sessions: Annotated[float, typer.Option(help="factor of the sessions, each replica")] = 0.2,
    pool: Annotated[float, typer.Option(help="pools, as a share of the working set")] = 0.3,
    spread: Annotated[float, typer.Option(help="time in which sessions arrive, s")] = 25.0,
) -> None:
    """Run each workload in rounds of both routers; print the table of the whole file."""
    with stopping_in_order(), out.open("a", encoding="utf-8") as file:
        for name in workloads.split(","):
            cases = [Case(name, replicas, sessions, pool, spread, seed) for seed in range(rounds)]
            for record in _measure(cases, out.with_suffix(".log")):
                print(json.dumps(record), file=file, flush=True)
    print(interleaved_table([json.loads(line) for line in out.read_text().splitlines()]))


def _measure(cases: Sequence[Case], log: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of each round and router, on one set of replicas."""
    num_slots = cases[0].num_slots()
    os.environ["YAIE_ADMIN_KEY"] = _ADMIN
    server = Server(num_slots, log, cases[0].num_replicas, "benchmarks.fleet.both_routers")
    try:
        server.wait_until_ready()
        for case in cases:
            order = (_OURS, THEIRS) if case.seed % 2 else (THEIRS, _OURS)
            for router in order:
                record = {**_run(server.url, case, router), "router": router}
                print(
                    f"{case.workload:10} {router:16} hit {record['hit']:.3f}, first token "
                    f"{record['mean_s']:.3f} s {'; '.join(record['faults'])}",
                    file=sys.stderr,
                    flush=True,
                )
                yield record | {"num_slots": num_slots}
    finally:
        server.end()


def _run(url: str, case: Case, router: str) -> dict[str, Any]:
    httpx.post(f"{url}/v1/cache/flush", headers={"X-API-Key": _ADMIN}).raise_for_status()
    before = requests_by_replica(url)
    words = Words(read_vocabulary(resolve_model_path(_MODEL)), case.seed)
    workload = case.make()
    arrivals_s = list(arrival_times(workload, len(workload.sessions) / case.spread_s, case.seed))
    replay = Replay(url, SaltedDialect(f"{router} {case.seed}"), words)
    done = asyncio.run(replay.run(workload, _RUN_LIMIT_S, arrivals_s))
    sent = (requests_by_replica(url) - before).values()
    apart = max(sent) * case.num_replicas / sum(sent)
    return {**asdict(case), **figures(done), "requests_apart": apart}


def interleaved_table(records: Sequence[dict[str, Any]]) -> str:
    """Return means over the rounds, and the ratio of first-token times within a round."""
    rows = []
    for workload in dict.fromkeys(each["workload"] for each in records):
        runs = {
            router: {r["seed"]: r for r in records if (r["workload"], r["router"]) == key}
            for router in (_OURS, THEIRS)
            for key in [(workload, router)]
        }
        for router, by_seed in runs.items():
            means = [
                statistics.fmean(each[name] for each in by_seed.values())
                for name in ("hit", "computed_tokens", "requests_apart", "mean_s", "p99_s")
            ]
            ratios = [
                each["mean_s"] / runs[THEIRS][seed]["mean_s"] for seed, each in by_seed.items()
            ]
            rows.append(
                [
                    workload,
                    router,
                    f"{100 * means[0]:.1f} %",
                    f"{means[1]:,.0f}",
                    f"{means[2]:.2f}",
                    f"{1e3 * means[3]:,.0f}",
                    f"{1e3 * means[4]:,.0f}",
                    f"{statistics.geometric_mean(ratios):.2f}",
                    " ".join(f"{each:.2f}" for each in ratios),
                ]
            )
    head = ["workload", "router", "hits", "computed tokens", "highest / mean requests"]
    head += ["mean first token ms", "p99 ms", f"mean / {THEIRS}", "in each round"]
    return table(head, rows)


if __name__ == "__main__":
    app()
