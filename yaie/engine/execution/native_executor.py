"""The native executor: runs the whole decoder in the kernel library, one call a step."""

from __future__ import annotations

import torch

from yaie.attention.plan import StepPlan
from yaie.engine.execution.memory import PoolMemory
from yaie.kernels.library import Library
from yaie.kvcache.pool import KVPool
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.row_outputs import RowOutputs
from yaie.models.native.native_adapters import NativeAdapters
from yaie.models.native.native_decoder import NativeDecoder


class NativeExecutor:
    """A packed decoder and its pool. Implements `Executor`."""

    name = "native"
    reason = ""
    attention_backend = "cpu"
    graphs = None
    attention_choice = None
    attention_traits = None

    def __init__(self, loaded: LoadedModel, decoder: NativeDecoder, memory: PoolMemory) -> None:
        self.loaded = loaded
        self.decoder = decoder
        self.memory = memory
        self.adapted: NativeAdapters | None = None
        if not decoder.is_exact and memory.states is None:
            self.adapted = NativeAdapters(decoder.structure, loaded.dtype, decoder.kernels)
        decoder.adapters = self.adapted

    @property
    def pool(self) -> KVPool:
        """See `Executor.pool`."""
        return self.memory.pool

    @property
    def kernels(self) -> Library:
        """See `Executor.kernels`."""
        return self.decoder.kernels

    def execute(self, plan: StepPlan) -> torch.Tensor:
        """See `Executor.execute`."""
        return self.compute(plan).logits

    @torch.inference_mode()
    def compute(self, plan: StepPlan) -> RowOutputs:
        """See `Executor.compute`."""
        self.memory.note_use(int(plan.slots.max(initial=-1)))
        return self.decoder.compute(plan)

    def use_idle_moment(self) -> bool:
        """See `Executor.use_idle_moment`."""
        return self.memory.advance()
