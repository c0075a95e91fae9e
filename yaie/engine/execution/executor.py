"""Executors: the protocol from step plan to logits, and the `EngineInfo` of a ready one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Protocol

import torch

from yaie.attention.cost_model import DeviceTraits, MethodChoice
from yaie.attention.plan import StepPlan
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineInfo
from yaie.engine.execution.decode_graphs import DecodeGraphs
from yaie.engine.execution.executor_choice import TokenSampler
from yaie.kernels.library import Library
from yaie.kvcache.pool import KVPool
from yaie.models.architecture.loaded_model import LoadedModel


class Executor(Protocol):
    """A loaded model with its KV pool. The engine calls it on one thread."""

    @property
    def name(self) -> str:
        """Name of the executor, as in `EngineInfo.execution`."""

    @property
    def attention_backend(self) -> str:
        """Name of the attention implementation, as in `EngineInfo.attention_backend`."""

    @property
    def loaded(self) -> LoadedModel:
        """The model that it runs."""

    @property
    def pool(self) -> KVPool:
        """The keys and values of all slots."""

    @property
    def kernels(self) -> Library | None:
        """The kernel library on the model's device, for the sampler; None without one."""

    @property
    def graphs(self) -> DecodeGraphs | None:
        """The captured decode steps; None without any."""

    @property
    def attention_choice(self) -> MethodChoice | None:
        """The method of attention of the last decode step; None if there was no choice."""

    @property
    def attention_traits(self) -> DeviceTraits | None:
        """The figures of the device that the choice rests on; None if there is no choice."""

    def execute(self, plan: StepPlan) -> torch.Tensor:
        """Compute all rows of a plan and write their keys and values into the pool.

        Returns float32 logits [len(plan.logit_rows), vocab] on the model's device, in the order of
        `plan.logit_rows`. A plan without logit rows is computed too.
        """

    def use_idle_moment(self) -> bool:
        """Prepare for later steps, for a millisecond or two; False if there is no such work."""


def describe_engine(config: EngineConfig, executor: Executor, sampler: TokenSampler) -> EngineInfo:
    """Return what a ready engine reports of itself to clients."""
    loaded = executor.loaded
    metadata = loaded.metadata
    traits = executor.attention_traits
    graphs = executor.graphs.report if executor.graphs else None
    return EngineInfo(
        model=config.model_name,
        model_path=str(loaded.path),
        architecture=metadata.architecture,
        dtype=metadata.dtype,
        quantization=metadata.quantization,
        kv_dtype=metadata.kv_dtype,
        device=str(loaded.device),
        attention_backend=executor.attention_backend,
        attention_traits=asdict(traits) if traits is not None else {},
        truncation_kernel=sampler.truncation_kernel,
        execution=executor.name,
        exact=config.exact,
        graph_sizes=graphs.sizes if graphs else (),
        graph_bytes=graphs.nbytes if graphs else 0,
        graph_capture_s=graphs.capture_s if graphs else 0.0,
        vocab_size=loaded.vocab_size,
        max_model_len=loaded.max_model_len,
        num_slots=loaded.num_slots,
        kv_bytes_per_token=metadata.kv_bytes_per_token,
        weight_bytes=metadata.weight_bytes,
        memory_bytes=loaded.memory_bytes,
        num_parameters=metadata.num_parameters,
        policy=config.policy,
        eviction=config.eviction,
        max_step_rows=config.max_step_rows,
        max_running=config.max_running,
        max_waiting=config.max_waiting,
        max_waiting_tokens=config.max_waiting_tokens,
        eos_token_ids=metadata.eos_token_ids,
        default_sampling=dict(metadata.default_sampling),
    )
