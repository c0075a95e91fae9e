"""The workloads on real replicas of the built-in model, on this machine.

`python -m benchmarks.fleet.real --replicas 2 --out FILE`. One server with the pool of all, Ray
replicas behind YAIE's router (needs the extra `yaie[ray]`), and plain servers behind the other
rules, which this process applies. Segments are a quarter as long; each variant gets other tokens.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx
import numpy as np
import typer

from benchmarks.commands import stopping_in_order
from benchmarks.fleet.routers import ROUTERS, make_router
from benchmarks.fleet.runs import ONE_TREE, WORKLOADS
from benchmarks.peers.client import AnswerStream, OpenAiDialect
from benchmarks.peers.exchange import PeerFailed, exchange
from benchmarks.peers.figures import Answer
from benchmarks.peers.running import free_port
from benchmarks.peers.workloads import read_vocabulary
from benchmarks.schedule.replay import Replay, Words, figures
from benchmarks.schedule.report import table
from benchmarks.schedule.runs import least_slots, slots_in_the_end
from benchmarks.schedule.sessions import Call
from benchmarks.schedule.simulation import arrival_times
from benchmarks.schedule.workloads import Workload, make_workload
from yaie.kvcache.block_names import root_name, routing_names
from yaie.models.load.folder import resolve_model_path

_LENGTHS = 0.25  # of the segments: the model's context is 4,096 tokens
_MODEL = "builtin"
_START_LIMIT_S, _RUN_LIMIT_S, _END_LIMIT_S, _POLL_S = 180.0, 400.0, 60.0, 0.2
_DEFAULTS = (ONE_TREE, "radix", "prefix-affinity", "round-robin")


@dataclass(frozen=True, slots=True)
class Case:
    """One workload; its sessions arrive over `spread_s` seconds."""

    workload: str
    num_replicas: int
    sessions: float
    pool: float
    spread_s: float
    seed: int

    def make(self) -> Workload:
        """Return the sessions; they are used up by one run."""
        return make_workload(
            WORKLOADS[self.workload],
            seed=self.seed,
            scale=self.sessions * self.num_replicas,
            lengths=_LENGTHS,
            thinks=True,
        )

    def num_slots(self) -> int:
        """Return the pool of one replica."""
        share = int(self.pool * slots_in_the_end(self.make()) / self.num_replicas)
        return max(share, int(_LENGTHS * least_slots(WORKLOADS[self.workload])), 4200)


class Server:
    """`yaie serve` with its children; `end` ends them all."""

    def __init__(
        self, num_slots: int, log: Path, ray_replicas: int = 0, program: str = "yaie"
    ) -> None:
        port = free_port()
        words = [sys.executable, "-m", program, "serve", "--model", _MODEL, "--port", str(port)]
        words += ["--num-slots", str(num_slots), "--threads", "1", "--log-level", "warning"]
        words += ["--max-step-rows", "256", "--no-prepare-turns"]
        if ray_replicas:
            words += ["--ray", "--replicas", str(ray_replicas)]
        self.url = f"http://127.0.0.1:{port}"
        self._ray_replicas = ray_replicas
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                words, stdout=output, stderr=output, start_new_session=True
            )
        self._log = log

    def wait_until_ready(self) -> None:
        """Return when every engine of the server is ready. Raises `PeerFailed`."""
        end_s = time.monotonic() + _START_LIMIT_S
        while time.monotonic() < end_s and self._process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if self._is_ready():
                    return
            time.sleep(_POLL_S)
        raise PeerFailed(f"the server did not become ready; its log is {self._log}")

    def _is_ready(self) -> bool:
        if not self._ray_replicas:
            return httpx.get(f"{self.url}/readiness").is_success
        ready = f'yaie_replicas{{state="ready"}} {self._ray_replicas:.1f}'
        return ready in httpx.get(f"{self.url}/metrics").text

    def end(self) -> None:
        """Stop in order, then by force."""
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_LIMIT_S)
            return
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class RoutedReplay(Replay):
    """A replay over several servers, with a router of the simulation in this process."""

    def __init__(self, urls: Sequence[str], router: str, words: Words, seed: int) -> None:
        super().__init__(urls[0], OpenAiDialect(_MODEL), words)
        self._urls = urls
        self._router = make_router(router, time.monotonic, seed)
        self._prompts, self._root, self._count = words, root_name(_MODEL), 0
        self.num_sent = dict.fromkeys(urls, 0)

    async def ask(self, call: Call, request: bytes, answer: Answer) -> None:
        """Send the request of a call where the router says."""
        self._count += 1
        request_id = str(self._count)
        prompt = np.array(self._prompts.prompt(call), dtype=np.int32)
        names = routing_names(prompt, self._root)
        url = self._router.choose(request_id, names, len(prompt), self._urls)
        self.num_sent[url] += 1
        try:
            await exchange(url, request, AnswerStream(OpenAiDialect(_MODEL), answer).read)
        finally:
            self._router.completed(request_id)


def measure(case: Case, variant: str, log: Path) -> dict[str, Any]:
    """Return the figures of one workload on fresh servers."""
    count, num_slots = case.num_replicas, case.num_slots()
    if variant == ONE_TREE:
        servers = [Server(num_slots * count, log)]
    elif variant == "radix":
        servers = [Server(num_slots, log, count)]
    else:
        servers = [Server(num_slots, log) for _ in range(count)]
    try:
        for server in servers:
            server.wait_until_ready()
        urls = [server.url for server in servers]
        words = Words(read_vocabulary(resolve_model_path(_MODEL)), case.seed)
        rule = variant if len(urls) > 1 else "round-robin"
        replay = RoutedReplay(urls, rule, words, case.seed)
        workload = case.make()
        rate = len(workload.sessions) / case.spread_s
        arrivals_s = list(arrival_times(workload, rate, case.seed))
        done = asyncio.run(replay.run(workload, _RUN_LIMIT_S, arrivals_s))
        sent = replay.num_sent.values()
        if variant == "radix":
            sent = requests_by_replica(urls[0]).values()
    finally:
        for server in servers:
            server.end()
    return {
        **asdict(case),
        "router": variant,
        "num_slots": num_slots,
        **figures(done),
        "requests_apart": max(sent) * (count if variant != ONE_TREE else 1) / sum(sent),
    }


def requests_by_replica(url: str) -> Counter[str]:
    """Return the requests that the router on Ray sent to each replica, from its metrics."""
    sent: Counter[str] = Counter()
    for line in httpx.get(f"{url}/metrics").text.splitlines():
        if found := re.match(
            r'yaie_router_requests_total\{.*replica="([^"]*)".*\} ([\d.e+]+)', line
        ):
            sent[found[1]] += int(float(found[2]))
    return sent


def real_table(records: Sequence[dict[str, Any]]) -> str:
    """Return hits and loads by workload and router."""
    best = {
        (each["workload"], each["num_replicas"], each["seed"]): each["hit"]
        for each in records
        if each["router"] == ONE_TREE
    }
    rows = []
    for each in records:
        base = best.get((each["workload"], each["num_replicas"], each["seed"]))
        rows.append(
            [
                str(each["num_replicas"]),
                each["workload"],
                each["router"],
                f"{100 * each['hit']:.1f} %",
                "" if base is None else f"{100 * each['hit'] / base:.0f} %",
                f"{each['computed_tokens']:,}",
                f"{each['requests_apart']:.2f}",
                f"{1e3 * each['mean_s']:,.0f}",
            ]
        )
    head = ["replicas", "workload", "router", "hits", "of one tree's", "computed tokens"]
    return table([*head, "highest / mean requests", "mean first token ms"], rows)


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def real(
    *,
    out: Annotated[Path, typer.Option(help="file that records are added to, one a line")],
    replicas: Annotated[int, typer.Option(min=2)] = 2,
    workloads: Annotated[str, typer.Option(help=f"of {', '.join(WORKLOADS)}")] = (
        "agents,chats,mixed"
    ),
    routers: Annotated[str, typer.Option(help=f"of {ONE_TREE}, {', '.join(ROUTERS)}")] = (
        ",".join(_DEFAULTS)
    ),
    sessions: Annotated[float, typer.Option(help="factor of the sessions, each replica")] = 0.2,
    pool: Annotated[float, typer.Option(help="pools, as a share of the working set")] = 0.3,
    spread: Annotated[float, typer.Option(help="time in which sessions arrive, s")] = 25.0,
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Run workloads on real replicas of the built-in model; print the table of the whole file."""
    cases = [Case(name, replicas, sessions, pool, spread, seed) for name in workloads.split(",")]
    with stopping_in_order(), out.open("a", encoding="utf-8") as file:
        for record in _measure_all(cases, routers.split(","), out.with_suffix(".log")):
            print(json.dumps(record), file=file, flush=True)
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    print(real_table(records))


def _measure_all(
    cases: Sequence[Case], routers: Sequence[str], log: Path
) -> Iterator[dict[str, Any]]:
    for case in cases:
        for router in routers:
            record = measure(case, router, log)
            print(
                f"{case.workload:10} {router:16} hit {record['hit']:.3f}, first token "
                f"{record['mean_s']:.3f} s, {record['requests']} requests in "
                f"{record['total_s']:.0f} s {'; '.join(record['faults'])}",
                file=sys.stderr,
                flush=True,
            )
            yield record


if __name__ == "__main__":
    app()
