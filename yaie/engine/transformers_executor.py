"""The executor that runs transformers' forward, with an attention backend inside."""

from __future__ import annotations

import torch

from yaie.attention.backend import AttentionBackend
from yaie.attention.plan import StepPlan
from yaie.engine.batch import Batch
from yaie.engine.pool_memory import PoolMemory
from yaie.kernels.library import Library
from yaie.kvcache.pool import KVPool
from yaie.models.attention_hook import STEP_KEYWORD
from yaie.models.loader import LoadedModel
from yaie.models.native.agreement import DecoderDiffers, check_agreement, comparison_plan
from yaie.models.native.linears import pack_linears, packable_linears
from yaie.models.native.packing import Packer


class TransformersExecutor:
    """A model that transformers built, and its pool. Implements `Executor`."""

    name = "transformers"

    def __init__(self, loaded: LoadedModel, backend: AttentionBackend, memory: PoolMemory) -> None:
        self.loaded = loaded
        self._backend = backend
        self._memory = memory
        self._packer: Packer | None = None  # owns the memory of packed linear layers

    @property
    def attention_backend(self) -> str:
        """See `Executor.attention_backend`."""
        return self._backend.name

    @property
    def pool(self) -> KVPool:
        """See `Executor.pool`."""
        return self._memory.pool

    @property
    def kernels(self) -> Library | None:
        """See `Executor.kernels`."""
        return self._backend.kernels

    @torch.inference_mode()
    def execute(self, plan: StepPlan) -> torch.Tensor:
        """See `Executor.execute`."""
        self._memory.note_use(plan)
        loaded = self.loaded
        assert loaded.model is not None, "a packed model has no original"
        batch = Batch(plan, loaded.specs, self.pool, self._backend, loaded.device)
        output = loaded.model(
            input_ids=batch.input_ids,
            position_ids=batch.position_ids,
            attention_mask=None,
            use_cache=False,
            logits_to_keep=batch.logit_rows,
            **{STEP_KEYWORD: batch},
        )
        logits: torch.Tensor = output.logits[0].float()
        return logits

    def use_idle_moment(self) -> bool:
        """See `Executor.use_idle_moment`."""
        return self._memory.advance()

    @torch.inference_mode()
    def pack_linears(self, library: Library) -> None:
        """Pack the linear layers for the kernel library and free the originals.

        Raises `DecoderDiffers` if the model's logits change by more than rounding, or if its
        forward does not run with packed layers; the model is unusable then.
        """
        loaded = self.loaded
        assert loaded.model is not None, "a packed model has no original"
        linears = packable_linears(loaded.model, loaded.dtype)
        if not linears:
            return
        plan = comparison_plan(loaded)
        expected = self.execute(plan)
        try:
            self._packer = pack_linears(loaded.model, linears, library, loaded.dtype)
            found = self.execute(plan)
        except (AttributeError, TypeError) as error:  # the forward reads a layer's weights itself
            raise DecoderDiffers(f"the model does not run with packed layers: {error}") from error
        check_agreement(loaded, found, expected)
