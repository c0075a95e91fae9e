"""Captured decode steps: one CUDA graph for each batch size, replayed with the step's plan.

A decode step launches hundreds of small kernels, and their launches take the host longer than the
device takes to run them. A graph launches all kernels at once. A step of fewer rows than its graph
is padded. Steps with more rows than the largest graph, or with rows without logits, run eagerly. A
backend that selects a method per step has graphs for each method that can be captured.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from yaie.attention.backend import CapturableBackend, ChoosingBackend, StaticStep
from yaie.attention.cost_model import Method
from yaie.attention.method_selector import MethodSelector, is_decode
from yaie.attention.plan import StepPlan, one_row_plan
from yaie.device.available_memory import is_out_of_memory, release_unused
from yaie.device.buckets import buckets_up_to
from yaie.device.packed import PackedField, Upload
from yaie.device.queue import DeviceQueue, Graph
from yaie.engine.execution.batch import Batch, PooledModel, RowTensors, row_slots
from yaie.models.fused.adapter_pools import AdapterPools
from yaie.process.progress import report_each

log = logging.getLogger(__name__)

MOST_ROWS = 512  # larger decode steps keep a device busy without a graph

Forward = Callable[[Batch], torch.Tensor]  # to logits [rows, vocab]


@dataclass(frozen=True, slots=True)
class GraphReport:
    """An executor's captured decode steps."""

    sizes: tuple[int, ...]  # rows, ascending, over all methods
    capture_s: float
    nbytes: int  # device memory


class DecodeGraphs:
    """One model's captured decode steps."""

    def __init__(
        self,
        steps: Mapping[Method, list[_CapturedStep]],
        report: GraphReport,
        chooser: MethodSelector | None,
    ) -> None:
        """`steps` by method, ascending in size. Without a `chooser` there is one method."""
        self._steps = steps
        self._chooser = chooser
        self.report = report
        self.num_replayed = 0

    @classmethod
    def capture(
        cls,
        model: PooledModel,
        backend: CapturableBackend | ChoosingBackend,
        queue: DeviceQueue,
        forward: Forward,
        *,
        max_rows: int,
        adapters: AdapterPools | None = None,
    ) -> DecodeGraphs:
        """Capture every size up to `max_rows`, the largest first: smaller steps reuse its memory.

        With `adapters`, each size has two graphs: one for rows of the model alone. If a step with
        adapters cannot be captured, such steps run eagerly.

        The last slot of the pool belongs to no token. Sizes that do not fit into memory are
        skipped; all sizes of a method or a model that cannot be captured.
        """
        began = time.perf_counter()
        chooser: MethodSelector | None = None
        backends: Mapping[Method, CapturableBackend]
        if isinstance(backend, ChoosingBackend):
            chooser, backends = backend.chooser, backend.capturable
        else:
            backends = {"decode": backend}
        release_unused(queue.device)  # captures allocate from a separate pool
        maker = _StepMaker(model, queue, forward, adapters)
        sizes = buckets_up_to(min(max_rows, MOST_ROWS))
        steps = {method: maker.steps(each, sizes) for method, each in backends.items()}
        captured = [step for each in steps.values() for step in each]
        report = GraphReport(
            sizes=tuple(sorted({step.size for step in captured})),
            capture_s=time.perf_counter() - began,
            nbytes=sum(step.nbytes for step in captured),
        )
        if captured:
            log.info(
                "captured decode steps of %s rows in %.1f s, %d MiB",
                ", ".join(map(str, report.sizes)),
                report.capture_s,
                report.nbytes // 2**20,
            )
        return cls(steps, report, chooser)

    def execute(self, plan: StepPlan) -> torch.Tensor | None:
        """Return a decode step's logits [rows, vocab]; None if no graph serves it.

        The next call overwrites them.
        """
        if not is_decode(plan):
            return None
        chooser = self._chooser
        methods = chooser.rank(plan, self._steps) if chooser is not None else self._steps
        for method in methods:
            for step in self._steps[method]:
                if step.serves(plan):
                    self.num_replayed += 1
                    if chooser is not None:
                        chooser.take(plan, method)
                    return step.replay(plan)
        return None


class _StepMaker:
    """One model's captures; all write into the same logits."""

    def __init__(
        self,
        model: PooledModel,
        queue: DeviceQueue,
        forward: Forward,
        adapters: AdapterPools | None,
    ) -> None:
        self._model = model
        self._queue = queue
        self._forward = forward
        self._adapters = adapters
        self._logits: torch.Tensor | None = None
        self._captures_adapters = adapters is not None

    def steps(self, backend: CapturableBackend, sizes: Sequence[int]) -> list[_CapturedStep]:
        """Return the captured steps with a backend, ascending in size like `sizes`."""
        spare_slot = self._model.pool.num_slots - 1
        steps: list[_CapturedStep] = []
        for size in report_each(reversed(sizes), "capturing decode steps", len(sizes), "sizes"):
            try:
                static = backend.make_static(size, spare_slot, self._queue.device)
                step = _CapturedStep(
                    size,
                    static,
                    self._model,
                    self._queue,
                    self._forward,
                    adapters=self._adapters,
                )
                plan = one_row_plan(spare_slot)
                logits = step.capture(plan, self._logits)
                self._capture_adapters(step, plan, logits)
                self._logits = logits
                steps.append(step)
                continue
            except Exception as error:
                if not is_out_of_memory(error):
                    # For example a forward that reads device values on the host.
                    log.warning("decode steps cannot be captured and run slower: %s", error)
                    return []
                log.warning("decode steps of %d rows are not captured: %s", size, error)
            release_unused(self._queue.device)  # here the error and its tensors are gone
        return steps[::-1]

    def _capture_adapters(self, step: _CapturedStep, plan: StepPlan, logits: torch.Tensor) -> None:
        """Capture a step's rows with adapters, until that fails. Raises if memory runs out."""
        if not self._captures_adapters:
            return
        try:
            step.capture(plan, logits, has_adapters=True)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            log.warning("steps with adapters cannot be captured and run slower: %s", error)
            self._captures_adapters = False


class _CapturedStep:
    """One batch size's graphs, with their buffers."""

    def __init__(
        self,
        size: int,
        static: StaticStep,
        model: PooledModel,
        queue: DeviceQueue,
        forward: Forward,
        *,
        adapters: AdapterPools | None,
    ) -> None:
        self.size = size
        self.static = static
        self.nbytes = 0
        self._queue = queue
        self._forward = forward
        self._adapters = adapters
        rows = dict.fromkeys(RowTensors._fields, PackedField("int64", (size,)))
        more = adapters.fields(size) if adapters is not None else {}
        self._inputs = Upload(queue, {**rows, **more})
        device = self._inputs.device
        tensors = RowTensors(*(device[name] for name in rows))
        # By whether a row has an adapter.
        self._batches = {False: Batch(tensors, 0, model, static)}
        if adapters is not None:
            self._batches[True] = Batch(tensors, 0, model, static, adapted=adapters.view(device))
        self._graphs: dict[bool, Graph] = {}
        self._logits = torch.empty(0)

    def capture(
        self, plan: StepPlan, logits: torch.Tensor | None, *, has_adapters: bool = False
    ) -> torch.Tensor:
        """Run the step once, for its allocations and compilations, then capture it.

        It writes into the first rows of `logits`; without enough it allocates and returns them.
        """
        batch = self._batches[has_adapters]
        self._load(plan)
        computed = self._forward(batch)
        if logits is None or len(logits) < self.size:
            logits = torch.empty_like(computed)
        self._logits = logits[: self.size]
        del computed  # its memory serves the steps that run eagerly
        self._queue.mark().wait()  # an error here belongs to the first run, not to the capture
        self._graphs[has_adapters] = graph = self._queue.capture(partial(self._run, batch))
        self.nbytes += graph.nbytes
        return logits

    def _run(self, batch: Batch) -> None:
        self._logits.copy_(self._forward(batch))

    def serves(self, plan: StepPlan) -> bool:
        """Return True if a graph computes the plan."""
        fits = self.size >= plan.num_rows and self.static.holds(plan)
        return fits and bool(plan.adapters.any()) in self._graphs

    def replay(self, plan: StepPlan) -> torch.Tensor:
        graph = self._graphs[bool(plan.adapters.any())]
        self._load(plan)
        graph.replay()
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
        if self._adapters is not None:
            self._adapters.fill(inputs, plan.adapters)
        self._inputs.send()
        self.static.refill(plan)
