"""One simulated replica: the engine's scheduler and radix tree, and a cost model for its steps."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from benchmarks.schedule.sessions import Call
from benchmarks.schedule.simulation import Script, Setting, StepCost
from yaie.base.types import GenerationRequest, SamplingParams, Timings
from yaie.engine.request import Request
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import SampledToken, ScheduledStep
from yaie.engine.scheduler import Scheduler
from yaie.kvcache.cache_events import CacheEvents
from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.radix_tree import RadixTree

MODEL = "simulated"
NAMESPACE = ""


@dataclass(slots=True)
class StepResult:
    """Events of one step, by request: first tokens, and ended sequences with their timings."""

    first_tokens: list[str]
    last_tokens: list[str]  # requests whose every sequence has its last token
    ended: list[tuple[str, Timings]]


class Replica:
    """An engine of a fleet. The fleet begins and ends its steps."""

    def __init__(
        self, name: str, setting: Setting, cost: StepCost, clock: Callable[[], float]
    ) -> None:
        """Make an idle engine; `clock` returns simulated seconds."""
        self.name = name
        self.tree = RadixTree(
            setting.num_slots, make_eviction_policy(setting.eviction, setting.num_slots)
        )
        self.scheduler = Scheduler(
            self.tree,
            clock=clock,
            policy=setting.policy,
            max_step_rows=setting.max_step_rows,
            max_running=setting.max_running,
        )
        self.busy_s = 0.0
        self.num_requests = 0
        self.work_s = 0.0  # without the fixed time of each step
        self.step: ScheduledStep | None = None
        self._cost, self._reason = cost, setting.finish_reason
        self._unfinished: dict[str, int] = {}  # sequences without their last token
        self._uncomputed: set[str] = set()  # requests without a first token
        self._named = CacheEvents(self.tree, MODEL)

    def add(self, request_id: str, call: Call) -> None:
        """Queue a call."""
        length = max(map(len, call.outputs))
        spec = GenerationRequest(
            request_id=request_id,
            prompt_token_ids=(),
            tenant=call.tenant,
            sampling=SamplingParams(n=len(call.outputs), max_tokens=length),
        )
        request = Request(
            spec,
            namespace=NAMESPACE,
            max_new_tokens=length,
            samplings=[
                cast(SamplingState, Script(output, self._reason)) for output in call.outputs
            ],
        )
        request.prompt = np.concatenate(call.prompt)
        self._unfinished[request_id] = len(call.outputs)
        self._uncomputed.add(request_id)
        self.num_requests += 1
        self.scheduler.add(request)

    def begin_step(self) -> float | None:
        """Schedule a step; return its duration in seconds, or None without work."""
        self.step = self.scheduler.schedule()
        if self.step is None:
            return None
        plan = self.step.plan
        duration_s = self._cost.step_s(plan.num_rows, plan.kv_tokens_read)
        self.busy_s += duration_s
        self.work_s += duration_s - self._cost.fixed_s
        return duration_s

    def sample(self) -> StepResult:
        """Draw the tokens of the present step; `end_step` applies them to the tree."""
        assert self.step is not None
        result = StepResult([], [], [])
        self._sampled: list[SampledToken] = []
        for task in self.step.sample_tasks:
            sequence = task.sequence
            request_id = sequence.request.request_id
            output = cast(Script, sequence.sampling).output
            place = len(sequence.output)
            if request_id in self._uncomputed:
                self._uncomputed.remove(request_id)
                result.first_tokens.append(request_id)
            if place + 1 == len(output):
                self._unfinished[request_id] -= 1
                if not self._unfinished[request_id]:
                    del self._unfinished[request_id]
                    result.last_tokens.append(request_id)
            self._sampled.append(SampledToken(int(output[place])))
        return result

    def end_step(self, result: StepResult) -> None:
        """Apply the drawn tokens, and add the sequences that ended to `result`."""
        assert self.step is not None
        for delta in self.scheduler.update(self.step, self._sampled):
            if delta.error is not None:
                raise RuntimeError(f"{delta.request_id} failed: {delta.error}")
            if delta.timings is not None:
                result.ended.append((delta.request_id, delta.timings))
        self.step = None

    def held_names(self) -> Sequence[int]:
        """Return the names of the cached blocks."""
        packed, _ = self._named.newest(len(self._named))
        return array("Q", packed)

    @property
    def queued_tokens(self) -> int:
        """Prompt tokens of the waiting requests."""
        return self.scheduler.backlog.num_prompt_tokens

    @property
    def running_rows(self) -> int:
        """Live sequences."""
        return len(self.scheduler.running)
