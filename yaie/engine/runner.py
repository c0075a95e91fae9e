"""Runs the model: owns the KV pool and turns a step plan into logits.

Called by the engine core, on the engine thread only.
"""

from __future__ import annotations

import torch

from yaie.attention.backend import choose_backend
from yaie.attention.cpu import CpuBackend
from yaie.attention.plan import StepPlan
from yaie.config import AttentionBackendName
from yaie.engine.batch import Batch
from yaie.kvcache.pool import KVPool
from yaie.models.attention_hook import STEP_KEYWORD
from yaie.models.geometry import pool_shapes
from yaie.models.loader import LoadedModel
from yaie.models.rewrites.decoder import NativeDecoder, build_native_decoder


class ModelRunner:
    """One model and its pool."""

    def __init__(
        self,
        loaded: LoadedModel,
        backend: AttentionBackendName = "auto",
        *,
        native_decoder: bool = True,
    ) -> None:
        """Allocates the pool: `num_slots * kv_bytes_per_token` bytes.

        With `native_decoder`, a decoder that the kernel library knows is packed for it, and its
        original is freed. Raises ConfigError if this attention backend cannot serve the device,
        DecoderDiffers if the packed decoder computes something else; the model is gone then.
        """
        self._loaded = loaded
        self._backend = choose_backend(loaded.device, backend)
        self.pool = KVPool(pool_shapes(loaded.specs), loaded.num_slots, loaded.dtype, loaded.device)
        self._decoder: NativeDecoder | None = None
        if native_decoder and isinstance(self._backend, CpuBackend):
            self._decoder = build_native_decoder(
                loaded, self.pool, self._backend, self._run_transformers
            )

    @property
    def has_native_decoder(self) -> bool:
        """Whether the kernel library runs the whole model, not only its attention."""
        return self._decoder is not None

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
        if self._decoder is not None:
            return self._decoder.execute(plan)
        return self._run_transformers(plan)

    def _run_transformers(self, plan: StepPlan) -> torch.Tensor:
        loaded = self._loaded
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
