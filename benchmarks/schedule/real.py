"""The simulated workloads on real servers: YAIE by policy and vLLM, in turns on one pool size.

`python -m benchmarks.schedule.real --model FOLDER --peers-home PEERS --out FILE`. Sessions are
those of the simulation, scaled, all at once; each server gets the same requests. A pool is a share
of the slots that an unlimited one holds in the end, as in the simulation.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.commands import stopping_in_order
from benchmarks.peers.client import OpenAiDialect
from benchmarks.peers.definitions import PEERS, SERVED_NAME, Peer, Start
from benchmarks.peers.processes import Usage, wait_until_idle
from benchmarks.peers.running import RunningPeer, free_port
from benchmarks.peers.workloads import TOUCH, WARM_UP, build, read_vocabulary
from benchmarks.schedule import report
from benchmarks.schedule.replay import Words, figures, replay
from benchmarks.schedule.runs import figures as simulated_figures
from benchmarks.schedule.runs import least_slots, slots_in_the_end
from benchmarks.schedule.simulation import Setting, Simulation
from benchmarks.schedule.workloads import EIGHT, Workload, make_workload
from yaie.bench.machine import describe_machine
from yaie.cli.failures import usage_error
from yaie.engine.queue.policies import POLICIES

VLLM = "vllm"
# The smallest of vLLM's attention on CPUs; its default of 128 hardly fits scaled segments.
VLLM_BLOCK_LEN = 32
_VLLM_MODEL_LEN, _VLLM_MAX_RUNNING = 2048, 256
VARIANTS = (*POLICIES, VLLM)
_START_LIMIT_S, _RUN_LIMIT_S = 400.0, 400.0
REPLY_S = 0.005  # of the simulated callers: one exchange on this machine
_WARM_UP_SEED = 1_000_003


@dataclass(frozen=True, slots=True)
class Case:
    """One workload in one pool. `counts` and `lengths` scale its sessions and segments.

    `step_rows` limits a step: a step of full size would replace most of a scaled pool.
    """

    workload: str
    pool: float
    counts: float
    lengths: float
    step_rows: int
    seed: int = 0

    def make(self) -> Workload:
        """Return the sessions; they are used up by one run."""
        return make_workload(
            self.workload, seed=self.seed, scale=self.counts, lengths=self.lengths, thinks=False
        )


@dataclass(frozen=True, slots=True)
class Pool:
    """Sizes that a case asks of a server, in tokens."""

    num_slots: int
    longest: int  # sequence of the workload or of the warm-up


def pool_of(case: Case) -> Pool:
    """Return the sizes of a case: a share of the working set, room for its longest sequence."""
    served = Simulation(case.make(), Setting()).run().served
    longest = max(each.call.prompt_len + max(map(len, each.call.outputs)) for each in served)
    share = int(case.pool * slots_in_the_end(case.make()))
    least = math.ceil(case.lengths * least_slots(case.workload))
    longest = max(longest, WARM_UP.longest)
    rounded = math.ceil(max(share, least, longest) / VLLM_BLOCK_LEN) * VLLM_BLOCK_LEN
    return Pool(rounded, longest)


def peer_of(variant: str, step_rows: int, longest: int) -> Peer:
    """Return the server of a variant: YAIE with a policy, or vLLM with the same pool and steps."""
    base = PEERS[VLLM if variant == VLLM else "yaie"]

    def command(start: Start) -> list[str]:
        words = base.command(start)
        if variant != VLLM:
            return [*words, "--policy", variant, "--max-step-rows", str(step_rows)]
        # Its compiled code serves one longest length: that of all cases where the pool holds it.
        longer = max(longest + 1, min(_VLLM_MODEL_LEN, start.kv_tokens))
        blocks = start.kv_tokens // VLLM_BLOCK_LEN
        options = {
            "--max-model-len": min(longer, start.kv_tokens),
            "--max-num-batched-tokens": step_rows,
            "--max-num-seqs": min(_VLLM_MAX_RUNNING, step_rows),
            "--block-size": VLLM_BLOCK_LEN,
            "--num-gpu-blocks-override": blocks,
        }
        pairs = [word for name, value in options.items() for word in (name, str(value))]
        return [*words, "--enable-prefix-caching", *pairs]

    return replace(base, command=command)


@dataclass(frozen=True, slots=True)
class Servers:
    """Starts the server of each variant on one model."""

    model: Path
    home: Path
    logs: Path

    def begin(
        self, variant: str, step_rows: int, pool: Pool, vocabulary: Sequence[int]
    ) -> RunningPeer:
        """Return a warm server. Raises `PeerFailed` if it does not start."""
        peer = peer_of(variant, step_rows, pool.longest)
        program = peer.find(self.home)
        if program is None:
            raise usage_error(
                f"{peer.title} is not in {self.home}", advice="python -m benchmarks peers --list"
            )
        start = Start(
            program=program,
            model=self.model,
            home=self.home,
            port=free_port(),
            longest=pool.longest,
            max_position=pool.longest,
            kv_tokens=pool.num_slots,
            kv_bytes=2**30,
            cores=tuple(sorted(os.sched_getaffinity(0))),
        )
        log = self.logs / f"{variant}.log"
        running = RunningPeer(peer, start, log, start_limit_s=_START_LIMIT_S)
        warm_up = build("warm-up", WARM_UP, _WARM_UP_SEED, vocabulary)
        try:
            running.run(warm_up, timeout_s=_RUN_LIMIT_S)
        except BaseException:
            running.end()
            raise
        return running


def measure(
    case: Case,
    variants: Sequence[str],
    servers: Servers,
    *,
    repeats: int,
    idle_wait_s: float,
    tell: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """Yield one record for each round and variant; between its turns a server is suspended.

    Rounds differ in their tokens; the first variant of a round changes.
    """
    vocabulary = read_vocabulary(servers.model)
    pool = pool_of(case)
    common = {
        **asdict(case),
        "num_slots": pool.num_slots,
        "model": servers.model.name,
        "machine": describe_machine(),
    }
    simulated = {variant: _simulate(case, variant, pool) for variant in variants if variant != VLLM}
    with contextlib.ExitStack() as ends:
        running: dict[str, RunningPeer] = {}
        for variant in variants:
            running[variant] = servers.begin(variant, case.step_rows, pool, vocabulary)
            ends.callback(running[variant].end)
            tell(f"{variant}: ready after {running[variant].start_s:.1f} s")
            running[variant].suspend()
        for index in range(repeats):
            turn = index % len(variants)
            for variant in (*variants[turn:], *variants[:turn]):
                server = running[variant]
                words = Words(vocabulary, case.seed + index)
                record = {
                    **common,
                    "variant": variant,
                    "round": index,
                    **_one_turn(case, server, words, idle_wait_s),
                    "simulated": simulated.get(variant),
                }
                tell(_one_line(record))
                yield record


def _one_turn(case: Case, server: RunningPeer, words: Words, idle_wait_s: float) -> dict[str, Any]:
    server.resume()
    touch = build("touch", TOUCH, _WARM_UP_SEED, words.vocabulary)
    server.run(touch, timeout_s=_RUN_LIMIT_S)  # a resumed server wakes up on it
    was_idle = wait_until_idle(at_most_s=idle_wait_s)
    dialect = OpenAiDialect(SERVED_NAME)
    with Usage(server.process.pid) as usage:
        done = replay(server.url, dialect, case.make(), words, timeout_s=_RUN_LIMIT_S)
    server.suspend()
    return {
        **figures(done),
        "own_cpu_s": usage.own_cpu_s,
        "other_cpu_s": usage.other_cpu_s,
        "was_idle_before": was_idle,
    }


def _simulate(case: Case, policy: str, pool: Pool) -> dict[str, float]:
    """Return the figures of the same sessions in the simulation, with the CPU cost model."""
    setting = Setting(
        policy=policy,
        num_slots=pool.num_slots,
        max_step_rows=case.step_rows,
        cost="cpu",
        reply_s=REPLY_S,
        finish_reason="length",  # peers ignore the end of a turn
    )
    found = simulated_figures(Simulation(case.make(), setting).run())
    return {name: found[name] for name in ("hit", "mean_s", "p99_s", "makespan_s")}


def _one_line(record: Mapping[str, Any]) -> str:
    others = record["other_cpu_s"] / record["total_s"]
    return (
        f"round {record['round'] + 1}  {record['workload']:10} {record['pool']:4.0%} "
        f"{record['variant']:12} hit {record['hit']:.2f}, first token {record['mean_s']:.2f} s "
        f"(p99 {record['p99_s']:.2f}), all {record['total_s']:.1f} s, others took {others:.0%} "
        f"of a core{''.join('; ' + fault for fault in record['faults'])}"
    )


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def real(
    *,
    model: Annotated[Path, typer.Option(help="folder; see `python -m benchmarks models`")],
    out: Annotated[Path, typer.Option(help="file that records are added to, one a line")],
    peers_home: Annotated[Path, typer.Option(help="folder with vLLM's environment")] = Path(
        "peers"
    ),
    workloads: Annotated[str, typer.Option(help="names, separated by commas")] = (
        "short-chat,agents,mixed"
    ),
    pools: Annotated[str, typer.Option(help="shares of the working set")] = "0.5,0.2",
    variants: Annotated[str, typer.Option(help=f"of {', '.join(VARIANTS)}")] = (
        "prefix-aware,fcfs,vllm"
    ),
    counts: Annotated[float, typer.Option(min=0.0, help="factor of the sessions")] = 0.25,
    lengths: Annotated[float, typer.Option(min=0.0, help="factor of the lengths")] = 0.25,
    step_rows: Annotated[
        int, typer.Option(min=1, help="rows of a step; the smaller the pool, the fewer")
    ] = 256,
    repeats: Annotated[int, typer.Option(min=1, help="rounds; figures are medians")] = 3,
    idle_wait: Annotated[
        float, typer.Option(min=0.0, help="longest wait for an idle machine, s")
    ] = 20.0,
) -> None:
    """Replay simulated workloads on real servers in turns; print the table of the whole file."""
    chosen = _of(variants, VARIANTS, "--variants")
    servers = Servers(
        model.expanduser().resolve(),
        peers_home.expanduser().resolve(),
        Path(tempfile.mkdtemp(prefix="yaie-real-")),
    )
    cases = [
        Case(workload, pool, counts, lengths, step_rows)
        for workload in _of(workloads, EIGHT, "--workloads")
        for pool in map(float, pools.split(","))
    ]
    with stopping_in_order(), out.open("a", encoding="utf-8") as file:
        for case in cases:
            for record in measure(
                case, chosen, servers, repeats=repeats, idle_wait_s=idle_wait, tell=_remark
            ):
                print(json.dumps(record), file=file, flush=True)
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    print(report.real_table(records))


def _of(listed: str, known: Sequence[str] | Mapping[str, Any], option: str) -> list[str]:
    names = listed.split(",")
    for name in names:
        if name not in known:
            raise usage_error(f"{option}: unknown {name!r}; choose from {', '.join(known)}")
    return names


def _remark(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    app()
