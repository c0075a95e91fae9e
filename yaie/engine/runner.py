"""Runs the model: owns the KV pool and turns a step plan into logits.

Called by the engine core, on the engine thread only.
"""

from __future__ import annotations

import functools

import torch

from yaie.attention.backend import choose_backend
from yaie.attention.cpu import CpuBackend
from yaie.attention.plan import StepPlan
from yaie.config import AttentionBackendName
from yaie.engine.batch import Batch
from yaie.kernels.library import Library
from yaie.kvcache.pool import KVPool
from yaie.kvcache.prefault import PoolPrefault
from yaie.models.attention_hook import STEP_KEYWORD
from yaie.models.geometry import pool_shapes
from yaie.models.loader import LoadedModel
from yaie.models.memory import free_bytes
from yaie.models.native.decoder import (
    DecoderDiffers,
    NativeDecoder,
    build_native_decoder,
    check_agreement,
    comparison_plan,
    restore_native_decoder,
)
from yaie.models.native.exactness import not_exact
from yaie.models.native.linears import pack_linears, packable_linears
from yaie.models.native.packed_weights import PackedWeights
from yaie.models.native.packing import Packer


class ModelRunner:
    """One model and its pool."""

    def __init__(
        self,
        loaded: LoadedModel,
        backend: AttentionBackendName = "auto",
        *,
        native_decoder: bool = True,
        exact: bool = False,
        packed: PackedWeights | None = None,
    ) -> None:
        """Allocates the pool: `num_slots * kv_bytes_per_token` bytes.

        With `native_decoder`, a decoder that the kernel library knows is packed for it, and its
        original is freed, or with a `packed` taken from an earlier start; of other models the
        linear layers are packed. With `exact`, logits depend on a row's path alone, to the last
        bit. Raises ConfigError if this attention backend cannot serve the device, or this model
        not exactly; DecoderDiffers if what was packed computes something else; the model is gone
        then.
        """
        self._loaded = loaded
        self._backend = choose_backend(loaded.device, backend, exact=exact)
        self.pool = KVPool(
            pool_shapes(loaded.specs), loaded.num_slots, loaded.kv_dtype, loaded.device
        )
        if isinstance(self._backend, CpuBackend):
            for memory in self.pool.tensors():
                self._backend.kernels.prefer_huge_pages(memory.data_ptr(), memory.nbytes)
        on_cpu = loaded.device.type == "cpu"
        self._prefault = PoolPrefault(
            list(self.pool.planes()) if on_cpu else [],
            functools.partial(free_bytes, loaded.device),
        )
        self.decoder: NativeDecoder | None = None
        self._packer: Packer | None = None  # of linear layers inside transformers' forward
        if exact and not native_decoder:
            raise not_exact("transformers is asked to run it")
        if packed is not None and isinstance(self._backend, CpuBackend):
            self.decoder = restore_native_decoder(loaded, packed, self.pool, self._backend)
        elif native_decoder and isinstance(self._backend, CpuBackend):
            self.decoder = build_native_decoder(
                loaded, self.pool, self._backend, self._run_transformers
            )
            if self.decoder is None:
                self._pack_linears(self._backend.kernels)

    @property
    def has_native_decoder(self) -> bool:
        """Whether the kernel library runs the whole model, not only its attention."""
        return self.decoder is not None

    @property
    def kernels(self) -> Library | None:
        """The kernel library, where it computes the attention."""
        return self._backend.kernels if isinstance(self._backend, CpuBackend) else None

    @property
    def attention_backend(self) -> str:
        """The name of the attention implementation in use."""
        return self._backend.name

    @torch.inference_mode()
    def execute(self, plan: StepPlan) -> torch.Tensor:
        """Compute all rows of the plan; their keys and values are in the pool afterwards.

        Returns float32 logits [len(plan.logit_rows), vocab] on the model's device, in the order
        of `plan.logit_rows`. Without logit rows the forward runs all the same.
        """
        self._prefault.note_use(int(plan.slots.max(initial=-1)))
        if self.decoder is not None:
            return self.decoder.execute(plan)
        return self._run_transformers(plan)

    def use_idle_moment(self) -> bool:
        """Take a piece of memory that later steps will write to. False if they have all of it."""
        return self._prefault.advance()

    @torch.inference_mode()
    def _pack_linears(self, library: Library) -> None:
        """Hand the linear layers to the kernel library, inside transformers' own forward."""
        loaded = self._loaded
        assert loaded.model is not None, "a packed model has no original"
        linears = packable_linears(loaded.model, loaded.dtype)
        if not linears:
            return
        plan = comparison_plan(loaded)
        expected = self._run_transformers(plan)
        try:
            self._packer = pack_linears(loaded.model, linears, library, loaded.dtype)
            found = self._run_transformers(plan)
        except (AttributeError, TypeError) as error:  # a forward that reaches into its layers
            raise DecoderDiffers(f"the model does not run with packed layers: {error}") from error
        check_agreement(loaded, found, expected)

    def _run_transformers(self, plan: StepPlan) -> torch.Tensor:
        loaded = self._loaded
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
