"""Discrete-event simulation on the real scheduler and tree; only the time of a step is modelled.

    step time = fixed + rows x row + KV tokens read x kv_token

Rows and KV reads come from the real step plan. The scheduler's own time is left out.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np

from benchmarks.schedule.bounds import DepthFirst, FurthestNextUse, FutureCalls
from benchmarks.schedule.sessions import Call, Session
from benchmarks.schedule.workloads import Workload
from yaie.base.types import FinishReason, GenerationRequest, SamplingParams, Timings
from yaie.engine.request import Request, Sequence
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import SampledToken
from yaie.engine.scheduler import Scheduler
from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.node import Tokens
from yaie.kvcache.radix_tree import RadixTree


@dataclass(frozen=True, slots=True)
class StepCost:
    """Cost model of a machine and a model, in seconds."""

    name: str
    fixed_s: float
    row_s: float
    kv_token_s: float

    def step_s(self, num_rows: int, kv_tokens_read: int) -> float:
        """Return the duration of a step."""
        return self.fixed_s + self.row_s * num_rows + self.kv_token_s * kv_tokens_read


COSTS = {
    # 8B bf16 on an H100: 16 GB of weights and 128 KiB of KV a token at 3.35 TB/s; 19,000 rows/s.
    "h100": StepCost("h100", 6e-3, 0.05e-3, 0.04e-6),
    # 0.6B bf16 on two CPU cores: 112 KiB of KV a token at 40 GB/s.
    "cpu": StepCost("cpu", 30e-3, 1.2e-3, 2.8e-6),
}
UNLIMITED = 50_000_000  # slots: no workload fills them


@dataclass(frozen=True, slots=True)
class Setting:
    """One configuration of the engine in a simulation."""

    policy: str = "prefix-aware"  # of the engine, or "depth-first", a bound
    eviction: str = "adaptive"  # of the engine, or "belady", a bound
    num_slots: int = UNLIMITED
    max_step_rows: int = 2048
    max_running: int = 256
    cost: str = "h100"
    reply_s: float = 0.0  # least time from the end of a call to the next one of its session
    finish_reason: FinishReason = "stop"  # of every answer; a cut one does not linger


@dataclass(frozen=True, slots=True)
class Served:
    """A call that has ended, with the times of its first sequence."""

    call: Call
    timings: Timings


@dataclass(slots=True)
class Live:
    """A call in the engine."""

    session: Session
    call: Call
    num_unfinished: int  # sequences whose last token has not been scheduled
    num_open: int = 0
    timings: Timings | None = None

    def __post_init__(self) -> None:
        self.num_open = self.num_unfinished


class Script:
    """Sampling progress of a sequence whose output is known."""

    grammar = None

    def __init__(self, output: Tokens, reason: FinishReason) -> None:
        self.output = output
        self._reason = reason
        self._left = len(output)

    def observe(self, token_id: int) -> None:
        """Count an accepted token."""
        self._left -= 1

    def find_forced(self) -> tuple[int, ...]:
        """Return no tokens: a script has no grammar."""
        return ()

    def finish_reason(self, token_id: int) -> tuple[FinishReason, int | None] | None:
        """Return the end of the sequence with the last token of its script."""
        return None if self._left else (self._reason, token_id)


class Simulation:
    """One run of a workload on one setting."""

    def __init__(
        self, workload: Workload, setting: Setting, *, rate: float | None = None, seed: int = 0
    ) -> None:
        """`rate`: Poisson arrivals of sessions a second; None: the workload's own, or a burst."""
        self.now = 0.0
        self.served: list[Served] = []
        self._cost = COSTS[setting.cost]
        self._reply_s = setting.reply_s
        self._finish_reason = setting.finish_reason
        self._future = FutureCalls(workload.segment_starts)
        is_bound = setting.eviction == "belady"
        self.tree = RadixTree(
            setting.num_slots,
            FurthestNextUse(self._future).policy
            if is_bound
            else make_eviction_policy(setting.eviction, setting.num_slots),
        )
        self.scheduler = Scheduler(
            self.tree,
            clock=lambda: self.now,
            policy=DepthFirst() if setting.policy == "depth-first" else setting.policy,
            max_step_rows=setting.max_step_rows,
            max_running=setting.max_running,
        )
        self._arrivals: list[tuple[float, int, Session, Call]] = []
        self._numbers = itertools.count()
        self._live: dict[str, Live] = {}
        for at_s, session in zip(
            arrival_times(workload, rate, seed), workload.sessions, strict=True
        ):
            for call in session.first():
                self._expect(at_s, session, call)

    def run(self) -> Simulation:
        """Run until every session has ended."""
        while True:
            while self._arrivals and self._arrivals[0][0] <= self.now:
                self._send(*heapq.heappop(self._arrivals)[1:])
            step = self.scheduler.schedule()
            if step is None:
                if not self._arrivals:
                    return self
                self.now = max(self.now, self._arrivals[0][0])
                continue
            self.now += self._cost.step_s(step.plan.num_rows, step.plan.kv_tokens_read)
            sampled = []
            for task in step.sample_tasks:
                sampled.append(self._next_token(task.sequence))
            for delta in self.scheduler.update(step, sampled):
                if delta.error is not None:
                    raise RuntimeError(f"{delta.request_id} failed: {delta.error}")
                if delta.timings is not None:
                    self._end(delta.request_id, delta.timings)

    def _expect(self, at_s: float, session: Session, call: Call) -> None:
        heapq.heappush(self._arrivals, (at_s, next(self._numbers), session, call))
        self._future.expect(call, at_s)

    def _send(self, number: int, session: Session, call: Call) -> None:
        request_id = f"r{number}"
        length = max(map(len, call.outputs))
        spec = GenerationRequest(
            request_id=request_id,
            prompt_token_ids=(),
            tenant=call.tenant,
            sampling=SamplingParams(n=len(call.outputs), max_tokens=length),
        )
        request = Request(
            spec,
            namespace="",
            max_new_tokens=length,
            samplings=[
                cast(SamplingState, Script(output, self._finish_reason)) for output in call.outputs
            ],
        )
        request.prompt = np.concatenate(call.prompt)
        self._live[request_id] = Live(session, call, len(call.outputs))
        self.scheduler.add(request)

    def _next_token(self, sequence: Sequence) -> SampledToken:
        """Return the next token of a script; its last one releases the calls that follow.

        They are known before the tree ranks the leaves of the ended call, as Belady needs it.
        """
        script = cast(Script, sequence.sampling)
        live = self._live[sequence.request.request_id]
        place = len(sequence.output)
        if place == 0:
            self._future.serve(live.call)
        if place + 1 == len(script.output):
            live.num_unfinished -= 1
            if not live.num_unfinished:
                for call in live.session.after(live.call):
                    wait_s = max(call.think_s, self._reply_s)
                    self._expect(self.now + wait_s, live.session, call)
        return SampledToken(int(script.output[place]))

    def _end(self, request_id: str, timings: Timings) -> None:
        live = self._live[request_id]
        live.timings = timings if live.timings is None else live.timings
        live.num_open -= 1
        if not live.num_open:
            del self._live[request_id]
            self.served.append(Served(live.call, live.timings))


def arrival_times(workload: Workload, rate: float | None, seed: int) -> Iterable[float]:
    """Yield the arrival of each session, in seconds."""
    if workload.arrivals_s is not None:
        return workload.arrivals_s
    if rate is None:
        return (0.0 for _ in workload.sessions)
    random = np.random.default_rng(seed + 1000)
    return itertools.accumulate(random.exponential(1 / rate) for _ in workload.sessions)
