"""The transformers executor: runs transformers' forward with an attention backend inside."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import torch

from yaie.attention.backend import AttentionBackend, CapturableBackend, ChoosingBackend
from yaie.attention.cost_model import DeviceTraits, MethodChoice
from yaie.attention.plan import StepPlan
from yaie.device.queue import DeviceQueue
from yaie.engine.execution.batch import Batch, PooledModel
from yaie.engine.execution.decode_graphs import DecodeGraphs
from yaie.engine.execution.memory import PoolMemory
from yaie.kernels.library import Library
from yaie.kvcache.pool import KVPool
from yaie.models.adapters.adapted_modules import AdaptedModules
from yaie.models.adapters.adapter import Adapted
from yaie.models.architecture.attention_hook import passing
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.moe import has_experts
from yaie.models.architecture.row_outputs import RowOutputs
from yaie.models.fused.fused_decoder import FusedDecoder
from yaie.models.native.float_activations import pack_tied_head, widen_activations
from yaie.models.native.native_mixers import pack_mixers
from yaie.models.native.numerics_check import (
    TOLERANCE_OF_EXPERTS,
    DecoderDiffers,
    check_agreement,
    comparison_plans,
)
from yaie.models.native.packed_linears import pack_linears, packable_linears
from yaie.models.native.packed_parts import pack_mlps, pack_norms
from yaie.models.native.packing import Packer

log = logging.getLogger(__name__)


@contextlib.contextmanager
def last_states(model: torch.nn.Module, rows: torch.Tensor | None) -> Iterator[list[torch.Tensor]]:
    """Return a list that the model's forward fills with hidden rows [rows, hidden] in float32.

    They are the outputs of its base model, which ends with the last norm. Without `rows` the list
    stays empty.
    """
    found: list[torch.Tensor] = []
    if rows is None:
        yield found
        return

    def keep(base: torch.nn.Module, arguments: Any, output: Any) -> None:
        found.append(output[0][0].index_select(0, rows).float())

    base: Any = model.base_model
    hook = base.register_forward_hook(keep)
    try:
        yield found
    finally:
        hook.remove()


class TransformersExecutor:
    """A model that transformers built, its layers fused or not, and its pool.

    Implements `Executor`.
    """

    def __init__(self, loaded: LoadedModel, backend: AttentionBackend, memory: PoolMemory) -> None:
        self.loaded = loaded
        self._backend = backend
        self._chooser = backend.chooser if isinstance(backend, ChoosingBackend) else None
        self.memory = memory
        self._pooled = PooledModel(loaded.specs, memory.pool, memory.states)
        self._packer: Packer | None = None  # owns the memory of packed linear layers
        self._graphs: DecodeGraphs | None = None
        self._fused: FusedDecoder | None = None
        self.slower_because = ""
        self._hooked: AdaptedModules | None = None

    @property
    def name(self) -> str:
        """See `Executor.name`."""
        return "transformers" if self._fused is None else "fused"

    @property
    def reason(self) -> str:
        """See `Executor.reason`."""
        return "" if self._fused is not None else self.slower_because

    @property
    def attention_backend(self) -> str:
        """See `Executor.attention_backend`."""
        return self._backend.name

    @property
    def pool(self) -> KVPool:
        """See `Executor.pool`."""
        return self.memory.pool

    @property
    def adapted(self) -> Adapted | None:
        """See `Executor.adapted`."""
        return self._hooked if self._fused is None else self._fused.adapters

    @property
    def kernels(self) -> Library | None:
        """See `Executor.kernels`."""
        return self._backend.kernels

    def execute(self, plan: StepPlan) -> torch.Tensor:
        """See `Executor.execute`."""
        return self.compute(plan).logits

    @torch.inference_mode()
    def compute(self, plan: StepPlan) -> RowOutputs:
        """See `Executor.compute`."""
        self.memory.note_use(int(plan.slots.max(initial=-1)))
        if self._hooked is not None and self._hooked.begin(plan.adapters):
            outputs = self._forward(self._batch_of(plan))
            self._hooked.end()
            return outputs
        if self._graphs is not None:
            logits = self._graphs.execute(plan)
            if logits is not None:
                return RowOutputs(logits, logits.new_empty((0, self._hidden_size)))
        return self._forward(self._batch_of(plan))

    def _batch_of(self, plan: StepPlan) -> Batch:
        adapters = self._fused.adapters if self._fused is not None else None
        device = self.loaded.device
        return Batch.of(plan, self._pooled, self._backend, device, adapters=adapters)

    @property
    def _hidden_size(self) -> int:
        return self.loaded.metadata.sizes.hidden

    def _logits(self, batch: Batch) -> torch.Tensor:
        return self._forward(batch).logits

    def _forward(self, batch: Batch) -> RowOutputs:
        if self._fused is not None:
            return self._fused.forward(batch)
        model = self.loaded.model
        assert model is not None, "a packed model has no original"
        with passing(batch) as step, last_states(model, batch.hidden_rows) as hidden:
            output = model(
                input_ids=batch.token_ids[None],
                position_ids=batch.positions[None],
                attention_mask=None,
                use_cache=False,
                logits_to_keep=batch.logit_rows,
                **step,
            )
        logits: torch.Tensor = output.logits[0].float()
        if not hidden:
            hidden.append(logits.new_empty((0, self._hidden_size)))
        return RowOutputs(logits, hidden[0])

    @property
    def graphs(self) -> DecodeGraphs | None:
        """See `Executor.graphs`."""
        return self._graphs

    @property
    def attention_choice(self) -> MethodChoice | None:
        """See `Executor.attention_choice`."""
        return self._chooser.choice if self._chooser is not None else None

    @property
    def attention_traits(self) -> DeviceTraits | None:
        """See `Executor.attention_traits`."""
        return self._chooser.device if self._chooser is not None else None

    @torch.inference_mode()
    def capture_decoding(self, queue: DeviceQueue, max_rows: int) -> None:
        """Capture decode steps up to `max_rows` rows, if queue and backend can be captured.

        Steps beyond those run as before.
        """
        if not queue.can_capture or not isinstance(
            self._backend, CapturableBackend | ChoosingBackend
        ):
            return
        self._graphs = DecodeGraphs.capture(
            self._pooled,
            self._backend,
            queue,
            self._logits,
            max_rows=max_rows,
            adapters=self._fused.adapters if self._fused is not None else None,
        )

    def use_idle_moment(self) -> bool:
        """See `Executor.use_idle_moment`."""
        return self.memory.advance()

    def accept_adapters(self) -> None:
        """Take adapters from now on, over the layers as they are; fused layers may take them.

        A model with recurrent layers takes none: a layer's rows are not in the step's order.
        """
        if self._fused is not None or self.loaded.metadata.states:
            return
        loaded = self.loaded
        assert loaded.model is not None, "a packed model has no original"
        dtype = torch.float32 if loaded.device.type == "cpu" else loaded.dtype
        self._hooked = AdaptedModules(loaded.model, dtype, loaded.device)

    @torch.inference_mode()
    def pack_linears(self, library: Library) -> None:
        """Pack the linear layers for the kernel library, with recurrent layers; free the originals.

        Raises `DecoderDiffers` if the model's logits change by more than rounding, or if its
        forward does not run with packed layers; the model is unusable then.
        """
        loaded = self.loaded
        assert loaded.model is not None, "a packed model has no original"
        if not packable_linears(loaded.model, loaded.dtype):
            return
        plans = comparison_plans(loaded, with_gap=False)
        expected = [self.execute(plan) for plan in plans]
        try:
            self._packer = Packer(library, loaded.dtype)
            if loaded.metadata.states:
                if pack_mixers(loaded.model, library, self._packer):
                    self.slower_because = "the kernel library does not know its recurrent layers"
                pack_mlps(loaded.model, library, self._packer, loaded.dtype)
                pack_tied_head(loaded.model, library, self._packer, loaded.dtype)
            linears = packable_linears(loaded.model, loaded.dtype)
            pack_linears(loaded.model, linears, library, self._packer)
            if loaded.metadata.states and widen_activations(loaded.model):
                pack_norms(loaded.model, library)
            found = [self.execute(plan) for plan in plans]
        except (AttributeError, TypeError) as error:  # the forward reads a layer's weights itself
            raise DecoderDiffers(f"the model does not run with packed layers: {error}") from error
        check_agreement(loaded, plans, found, expected)

    @torch.inference_mode()
    def fuse(self, decoder: FusedDecoder) -> None:
        """Run the layers by this decoder from now on, if its logits are the original's."""
        loaded = self.loaded
        # Without a gap: kernels of a GPU may count a path's keys by its positions.
        plans = comparison_plans(loaded, with_gap=False)
        expected = [self.execute(plan) for plan in plans]
        assert loaded.model is not None, "a packed model has no original"
        is_rounded = loaded.dtype is not torch.float32 and has_experts(loaded.model)
        least = TOLERANCE_OF_EXPERTS if is_rounded else 0.0
        self._fused = decoder
        try:
            found = [self.execute(plan) for plan in plans]
            error = check_agreement(loaded, plans, found, expected, least=least)
        except Exception as reason:  # Triton's: no compiler, an unknown device
            self._fused, self.slower_because = None, f"its fused layers failed: {reason}"
            log.warning("transformers runs the model, because its fused layers failed: %s", reason)
            return
        log.info(
            "fused layers run the model (%s); relative error of its logits: %.1e",
            decoder.operations.name,
            error,
        )
