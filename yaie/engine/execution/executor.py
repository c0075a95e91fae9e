"""The executor protocol: a step plan in, the outputs of its rows out."""

from __future__ import annotations

from typing import Protocol

import torch

from yaie.attention.cost_model import DeviceTraits, MethodChoice
from yaie.attention.plan import StepPlan
from yaie.engine.execution.decode_graphs import DecodeGraphs
from yaie.kernels.library import Library
from yaie.kvcache.pool import KVPool
from yaie.models.adapters.adapter import Adapted
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.row_outputs import RowOutputs


class Executor(Protocol):
    """A loaded model with its KV pool. The engine calls it on one thread."""

    @property
    def name(self) -> str:
        """The executor's name, as in `EngineInfo.execution`."""

    @property
    def reason(self) -> str:
        """Why no faster executor runs the model; empty for the fastest."""

    @property
    def attention_backend(self) -> str:
        """The attention implementation's name, as in `EngineInfo.attention_backend`."""

    @property
    def loaded(self) -> LoadedModel:
        """The model that it runs."""

    @property
    def pool(self) -> KVPool:
        """All slots' keys and values."""

    @property
    def kernels(self) -> Library | None:
        """The kernel library on the model's device, for the sampler; None without one."""

    @property
    def graphs(self) -> DecodeGraphs | None:
        """The captured decode steps; None without any."""

    @property
    def attention_choice(self) -> MethodChoice | None:
        """The last decode step's attention method; None if there was no choice."""

    @property
    def attention_traits(self) -> DeviceTraits | None:
        """The device traits that the cost model uses; None if there is no choice."""

    @property
    def adapted(self) -> Adapted | None:
        """The layers that take adapters; None if it takes none."""

    def compute(self, plan: StepPlan) -> RowOutputs:
        """Compute all plan rows and write their keys and values into the pool.

        Returns logits in the order of `plan.logit_rows` and hidden rows in the order of
        `plan.hidden_rows`. A plan without either is computed too.
        """

    def execute(self, plan: StepPlan) -> torch.Tensor:
        """Compute all plan rows; return the logits [len(plan.logit_rows), vocab]."""

    def use_idle_moment(self) -> bool:
        """Prepare for later steps, for a millisecond or two; False if there is no such work."""
