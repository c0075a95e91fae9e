"""Captured decode steps: one graph for each batch size, replayed with the plan of the moment.

A decode step launches hundreds of small kernels, and their launches take the host longer than the
device takes to run them. A graph launches all of them at once. A step of fewer rows than its graph
is padded. Steps with more rows than the largest graph, or with rows without logits, run eagerly.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from yaie.attention.backend import CapturableBackend, StaticStep
from yaie.attention.plan import Segment, StepPlan
from yaie.device.buckets import buckets_up_to
from yaie.device.packed import Field, Upload
from yaie.device.queue import DeviceQueue, Graph
from yaie.engine.batch import Batch, PooledModel, RowTensors, row_slots
from yaie.models.memory import is_out_of_memory

log = logging.getLogger(__name__)

MOST_ROWS = 512  # larger decode steps keep a device busy without a graph

Forward = Callable[[Batch], torch.Tensor]  # to logits [rows, vocab]


@dataclass(frozen=True, slots=True)
class GraphReport:
    """The captured decode steps of an executor."""

    sizes: tuple[int, ...]  # rows, ascending
    capture_s: float
    nbytes: int  # device memory


class DecodeGraphs:
    """The captured decode steps of one model."""

    def __init__(self, steps: list[_CapturedStep], report: GraphReport) -> None:
        self._steps = steps  # ascending in size
        self.report = report
        self.num_replayed = 0

    @classmethod
    def capture(
        cls,
        model: PooledModel,
        backend: CapturableBackend,
        queue: DeviceQueue,
        forward: Forward,
        *,
        max_rows: int,
    ) -> DecodeGraphs:
        """Capture steps of every size up to `max_rows`, the largest first: others reuse its memory.

        The last slot of the pool belongs to no token. Sizes that memory does not suffice for are
        left out; of a model that cannot be captured, all of them.
        """
        began = time.perf_counter()
        spare_slot = model.pool.num_slots - 1
        steps: list[_CapturedStep] = []
        logits: torch.Tensor | None = None  # of any graph
        for size in reversed(buckets_up_to(min(max_rows, MOST_ROWS))):
            try:
                static = backend.make_static(size, spare_slot, queue.device)
                step = _CapturedStep(size, static, model, queue, forward)
                logits = step.capture(_warm_up_plan(spare_slot), logits)
                steps.append(step)
            except Exception as error:
                if is_out_of_memory(error):
                    log.warning("decode steps of %d rows are not captured: %s", size, error)
                    continue
                # Such as a forward that reads values of the device on the host.
                log.warning("decode steps cannot be captured and run slower: %s", error)
                steps.clear()
                break
        steps.reverse()
        report = GraphReport(
            sizes=tuple(step.size for step in steps),
            capture_s=time.perf_counter() - began,
            nbytes=sum(step.nbytes for step in steps),
        )
        if steps:
            log.info(
                "captured decode steps of %s rows in %.1f s, %d MiB",
                ", ".join(map(str, report.sizes)),
                report.capture_s,
                report.nbytes // 2**20,
            )
        return cls(steps, report)

    def execute(self, plan: StepPlan) -> torch.Tensor | None:
        """Return the logits [rows, vocab] of a decode step; None if no graph serves it.

        The next call overwrites them.
        """
        if plan.num_rows != len(plan.logit_rows) or not plan.num_rows:
            return None
        for step in self._steps:
            if step.size >= plan.num_rows and step.static.holds(plan):
                self.num_replayed += 1
                return step.replay(plan)
        return None


class _CapturedStep:
    """The graph of one batch size, with its buffers."""

    def __init__(
        self,
        size: int,
        static: StaticStep,
        model: PooledModel,
        queue: DeviceQueue,
        forward: Forward,
    ) -> None:
        self.size = size
        self.static = static
        self.nbytes = 0
        self._queue = queue
        self._forward = forward
        rows = Field("int64", (size,))
        self._inputs = Upload(queue, dict.fromkeys(RowTensors._fields, rows))
        self._batch = Batch(RowTensors(**self._inputs.device), 0, model, static)
        self._graph: Graph | None = None
        self._logits = torch.empty(0)

    def capture(self, plan: StepPlan, logits: torch.Tensor | None) -> torch.Tensor:
        """Run the step once, for its allocations and compilations, then capture it.

        It writes into the first rows of `logits`; without one it allocates and returns them.
        """
        self._load(plan)
        computed = self._forward(self._batch)
        if logits is None:
            logits = torch.empty_like(computed)
        self._logits = logits[: self.size]
        del computed  # its memory serves the capture
        self._graph = self._queue.capture(self._run)
        self.nbytes = self._graph.nbytes
        return logits

    def _run(self) -> None:
        self._logits.copy_(self._forward(self._batch))

    def replay(self, plan: StepPlan) -> torch.Tensor:
        assert self._graph is not None
        self._load(plan)
        self._graph.replay()
        return self._logits[: plan.num_rows]

    def _load(self, plan: StepPlan) -> None:
        inputs = self._inputs.fill()
        for name, values, padding in (
            ("token_ids", plan.token_ids, 0),
            ("positions", plan.positions, 0),
            ("row_slots", row_slots(plan), -1),
        ):
            inputs[name][: plan.num_rows] = values
            inputs[name][plan.num_rows :] = padding
        self._inputs.send()
        self.static.refill(plan)


def _warm_up_plan(spare_slot: int) -> StepPlan:
    """Return a step of one token in the spare slot."""
    one, slots = np.zeros(1, dtype=np.int64), np.array([spare_slot], dtype=np.int64)
    return StepPlan(
        token_ids=one,
        positions=one,
        slots=slots,
        written_rows=one,
        logit_rows=one,
        segments=(Segment(slots, first_position=0, first_row=0, end_row=1, level=0),),
        kv_tokens_read=1,
        kv_tokens_unshared=1,
    )
