"""An executor whose steps a test watches, or spoils."""

from __future__ import annotations

from collections.abc import Callable

import torch

from yaie.attention.cost_model import DeviceTraits, MethodChoice
from yaie.attention.plan import StepPlan
from yaie.engine.execution.decode_graphs import DecodeGraphs
from yaie.engine.execution.executor import Executor
from yaie.kernels.library import Library
from yaie.kvcache.pool import KVPool
from yaie.models.adapters.adapter import Adapted
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.row_outputs import RowOutputs

Execute = Callable[[StepPlan], torch.Tensor]
Step = Callable[[StepPlan, Execute], torch.Tensor]


class WatchedExecutor:
    """Calls `step(plan, execute)` in place of the inner executor's `execute(plan)`."""

    def __init__(self, inner: Executor, step: Step) -> None:
        self._inner = inner
        self._step = step

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def reason(self) -> str:
        return self._inner.reason

    @property
    def attention_backend(self) -> str:
        return self._inner.attention_backend

    @property
    def loaded(self) -> LoadedModel:
        return self._inner.loaded

    @property
    def pool(self) -> KVPool:
        return self._inner.pool

    @property
    def kernels(self) -> Library | None:
        return self._inner.kernels

    @property
    def graphs(self) -> DecodeGraphs | None:
        return self._inner.graphs

    @property
    def attention_choice(self) -> MethodChoice | None:
        return self._inner.attention_choice

    @property
    def attention_traits(self) -> DeviceTraits | None:
        return self._inner.attention_traits

    @property
    def adapted(self) -> Adapted | None:
        return self._inner.adapted

    def execute(self, plan: StepPlan) -> torch.Tensor:
        return self.compute(plan).logits

    def compute(self, plan: StepPlan) -> RowOutputs:
        hidden: list[torch.Tensor] = []

        def execute(plan: StepPlan) -> torch.Tensor:
            outputs = self._inner.compute(plan)
            hidden.append(outputs.hidden)
            return outputs.logits

        logits = self._step(plan, execute)
        return RowOutputs(logits, hidden[-1] if hidden else torch.empty(0))

    def use_idle_moment(self) -> bool:
        return self._inner.use_idle_moment()
