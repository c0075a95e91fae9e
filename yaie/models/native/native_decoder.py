"""Native decoder: a whole decoder in the kernel library, one call from token ids to logits.

On a CPU, transformers' forward of a small model costs more than its arithmetic: module calls, norms
and rotary embeddings are many small operations. If a decoder's structure is recognised, its weights
are packed for the library. Before use it is compared with the original on a test step.
"""

from __future__ import annotations

import ctypes
import logging
import sys
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from yaie.attention.cpu import CpuBackend, pool_layer
from yaie.attention.plan import StepPlan
from yaie.device.available_memory import MappedFiles, trim_heap
from yaie.kernels.attention_structures import DTYPES, Layer
from yaie.kernels.decoder_structures import (
    GATED,
    Decoder,
    DecoderCall,
    DecoderLayer,
    Linear,
)
from yaie.kernels.library import Library
from yaie.kvcache.pool import KVPool
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.row_outputs import RowOutputs
from yaie.models.native.batch_invariance_check import check_exact, not_exact
from yaie.models.native.decoder_structure import (
    DecoderParts,
    LayerParts,
    LinearParts,
    Norm,
    NotRecognised,
)
from yaie.models.native.native_adapters import NativeAdapters
from yaie.models.native.native_structure import (
    gated_mlp,
    head_norms,
    norms_of,
    recognise_native,
    require_plain_attention,
    rotary_kinds,
    rotary_tables,
    rotates,
)
from yaie.models.native.numerics_check import (
    DecoderDiffers,
    check_agreement,
    comparison_plan,
    comparison_plans,
)
from yaie.models.native.packed_weights import PackedWeights
from yaie.models.native.packing import KINDS, Packer
from yaie.models.quantization.block_weights import BlockEmbedding
from yaie.process.heartbeat import counter_address
from yaie.process.progress import report, report_each

log = logging.getLogger(__name__)

_DTYPES = {getattr(torch, name): number for name, number in DTYPES.items()}

_TOLERANCE_RESTORED = 0.02  # the same weights, perhaps summed in another order
_SAMPLES = 4096
# Bytes packed between two releases of the originals' memory. A release searches the mappings of the
# process, which takes 10 ms and more: as long as packing a small layer.
_PACKED_BETWEEN_RELEASES = 32 * 1024**2
_CPU = torch.device("cpu")

Execute = Callable[[StepPlan], torch.Tensor]


class _LogitsMemory:
    """Reusable memory for successive steps' logits. Grows, never shrinks.

    The C library returns large freed blocks to the system, and each step would wait for zeroed
    pages. The memory plan bounds a step's rows.
    """

    def __init__(self, library: Library, vocab_size: int) -> None:
        self._library = library
        self._vocab_size = vocab_size
        self._memory = np.empty((0, vocab_size), dtype=np.float32)

    def take(self, num_rows: int) -> torch.Tensor:
        """Return uninitialized [num_rows, vocab_size]; the last step's memory unless in use."""
        is_in_use = sys.getrefcount(self._memory) > 2  # the attribute and the argument
        if is_in_use or num_rows > len(self._memory):
            # A power of two: fewer sizes, fewer new blocks. Unused rows take no pages.
            rows = max(len(self._memory), 1 << (num_rows - 1).bit_length())
            memory = torch.empty((rows, self._vocab_size), dtype=torch.float32)
            self._library.prefer_huge_pages(memory.data_ptr(), memory.nbytes)
            self._memory = memory.numpy()  # its references can be counted
        return torch.from_numpy(self._memory[:num_rows])


class NativeDecoder:
    """A decoder with weights packed for the kernel library."""

    def __init__(
        self,
        kernels: Library,
        vocab_size: int,
        decoder: Decoder,
        held: list[object],
        *,
        exact: bool,
    ) -> None:
        """`held`: owners of the memory that `decoder` points to."""
        self.kernels = kernels
        self.structure = decoder
        self.held = held
        self.sample = np.empty(0, dtype=np.float32)  # sample of the comparison's logits
        self.is_exact = exact
        self._attention = CpuBackend(kernels, torch.get_num_threads(), exact=exact)
        self._logits = _LogitsMemory(kernels, vocab_size)
        self.adapters: NativeAdapters | None = None

    def execute(self, plan: StepPlan) -> torch.Tensor:
        """Compute a plan's rows and return float32 logits [logit rows, vocab]."""
        return self.compute(plan).logits

    def compute(self, plan: StepPlan) -> RowOutputs:
        """Compute a plan's rows and return their outputs."""
        step = self._attention.prepare(plan, _CPU)
        token_ids = np.ascontiguousarray(plan.token_ids)
        output_rows = np.concatenate([plan.logit_rows, plan.hidden_rows])
        logits = self._logits.take(len(plan.logit_rows))
        hidden = torch.empty((len(plan.hidden_rows), self.structure.hidden), dtype=torch.float32)
        call = DecoderCall(
            token_ids.ctypes.data,
            output_rows.ctypes.data,
            len(logits),
            logits.data_ptr(),
            counter_address(),
            len(hidden),
            hidden.data_ptr(),
        )
        held = self.adapters.enter(call, plan, output_rows) if self.adapters is not None else None
        self.kernels.decode(self.structure, step.structure, call)
        del held  # alive until here
        return RowOutputs(logits, hidden)


def _pack_decoder(
    loaded: LoadedModel, parts: DecoderParts, pool: KVPool, kernels: Library, *, exact: bool
) -> NativeDecoder:
    """Pack module by module and free each original, so the model is never in memory twice."""
    packer = Packer(kernels, loaded.dtype, exact=exact)
    is_tied = parts.is_tied
    layers = (DecoderLayer * len(parts.layers))()
    originals = MappedFiles([*loaded.path.glob("*.safetensors"), *loaded.path.glob("*.gguf")])
    next_release = _PACKED_BETWEEN_RELEASES
    kinds = rotary_kinds(parts, getattr(loaded.model, "config", None))
    tables = {
        kind: _RotaryTables(packer, *rotary_tables(parts, loaded.max_model_len, kind))
        for kind in dict.fromkeys(kinds)
    }
    for index, layer in enumerate(report_each(parts.layers, "packing weights", len(layers))):
        if packer.num_packed >= next_release:
            originals.release()
            trim_heap()  # the C library keeps freed blocks below used blocks
            next_release = packer.num_packed + _PACKED_BETWEEN_RELEASES
        attention = pool_layer(loaded.specs[index], pool.keys(index), pool.values(index))
        layers[index] = _pack_layer(packer, layer, attention, tables[kinds[index]])
    table, embedding = Linear(), None
    if not is_tied and isinstance(parts.embedding, BlockEmbedding):
        table = packer.pack_table(parts.embedding)
    elif not is_tied:
        embedding = packer.take_over(parts.embedding.weight)
    decoder = Decoder(
        num_layers=len(parts.layers),
        hidden=parts.embedding.embedding_dim,
        layers=ctypes.addressof(layers),
        final_norm=packer.floats(parts.final_norm.factors),
        head=packer.pack(LinearParts((parts.head,))),
        table=table,
        embedding=embedding,
        embedding_dtype=_DTYPES[loaded.dtype],
        epsilon=parts.final_norm.epsilon,
        embedding_factor=parts.embedding_factor,
        logit_factor=parts.logit_factor,
        logit_softcap=parts.logit_softcap or 0.0,
    )
    packer.keep(layers)
    if is_tied:
        parts.embedding.weight.data = torch.empty(0, dtype=loaded.dtype)
    if isinstance(parts.embedding, BlockEmbedding):
        parts.embedding.free()
    originals.release()
    trim_heap()
    packer.warn_of_dequantized()
    return NativeDecoder(kernels, parts.head.out_features, decoder, packer.held, exact=exact)


class _RotaryTables:
    """Rotary tables in the packer's memory."""

    def __init__(self, packer: Packer, cosines: torch.Tensor, sines: torch.Tensor) -> None:
        self.width = cosines.shape[-1]
        self.cosines, self.sines = packer.hold(cosines), packer.hold(sines)


def _pack_layer(
    packer: Packer, parts: LayerParts, attention: Layer, tables: _RotaryTables
) -> DecoderLayer:
    packer.keep(attention)

    def pack_norm(norm: Norm | None) -> int | None:
        return None if norm is None else packer.floats(norm.factors)

    # A layer in several formats is several layers with the same inputs.
    qkv, *others = [packer.pack(part) for part in parts.qkv.split_by_format()]
    key, value = [*[Linear()] * (2 - len(others)), *others]
    mlp = gated_mlp(parts)
    gate, *up = mlp.gate_up.split_by_format()
    return DecoderLayer(
        attention_norm=pack_norm(parts.norms.before_attention),
        mlp_norm=pack_norm(parts.norms.before_mlp),
        norm_after_attention=pack_norm(parts.norms.after_attention),
        norm_after_mlp=pack_norm(parts.norms.after_mlp),
        **{name: pack_norm(norm) for name, norm in head_norms(parts, attention.key_width).items()},
        qkv=qkv,
        key=key,
        value=value,
        output=packer.pack(parts.output),
        gate_up=packer.pack(up[0]) if up else packer.pack(gate, gated=True),
        gate=packer.pack(gate) if up else Linear(),
        down=packer.pack(mlp.down),
        attention=attention,
        cosines=tables.cosines,
        sines=tables.sines,
        epsilon=norms_of(parts)[0].epsilon,
        residual_factor=parts.residual_factor,
        rotary_width=tables.width if rotates(parts) else 0,
        activation=GATED[mlp.activation],
    )


def build_native_decoder(
    loaded: LoadedModel, pool: KVPool, kernels: Library, execute: Execute, *, exact: bool = False
) -> NativeDecoder | str:
    """Pack the model's decoder for the kernel library, or return why it is not recognised.

    `execute` runs the original, which is freed. Raises `DecoderDiffers` if the two disagree, and
    `ConfigError` if `exact` fails its check.
    """
    try:
        if loaded.dtype not in KINDS:
            raise NotRecognised(
                f"the kernel library has no linear layers in {loaded.dtype}; with --dtype "
                "bfloat16 it runs the model, several times faster"
            )
        parts = recognise_native(loaded.model)
        require_plain_attention(parts, loaded.specs)
    except NotRecognised as reason:
        if exact:
            raise not_exact(str(reason)) from None
        level = logging.INFO if loaded.dtype in KINDS else logging.WARNING  # slower than need be
        log.log(level, "transformers runs the model: %s", reason)
        return str(reason)
    # Batch-invariant attention takes paths without gaps only.
    plans = comparison_plans(loaded, with_gap=not exact)
    report("computing a test step of the original")
    expected = [execute(plan) for plan in plans]
    decoder = _pack_decoder(loaded, parts, pool, kernels, exact=exact)
    report("comparing packed weights with the original")
    found = [decoder.execute(plan) for plan in plans]
    decoder.sample = _sample(found[0])
    error = check_agreement(loaded, plans, found, expected)
    if exact:
        check_exact(decoder.execute, plans[0], found[0])
    log.info("the kernel library runs the model; relative error of its logits: %.1e", error)
    return decoder


def restore_native_decoder(
    loaded: LoadedModel,
    packed: PackedWeights,
    pool: KVPool,
    kernels: Library,
    *,
    exact: bool = False,
) -> NativeDecoder:
    """Restore the decoder that an earlier start packed and compared with its original.

    Raises `DecoderDiffers` if its logits changed since, and `ConfigError` if `exact` fails its
    check.
    """
    attentions = [
        pool_layer(spec, pool.keys(index), pool.values(index))
        for index, spec in enumerate(loaded.specs)
    ]
    structure, held = packed.structures(attentions)
    decoder = NativeDecoder(kernels, loaded.vocab_size, structure, held, exact=exact)
    plan = comparison_plan(loaded)
    logits = decoder.execute(plan)
    found = decoder.sample = _sample(logits)
    expected = packed.expected
    if found.shape != expected.shape or not (
        np.linalg.norm(found - expected) <= _TOLERANCE_RESTORED * np.linalg.norm(expected)
    ):
        raise DecoderDiffers("the packed weights on disk compute other logits than before")
    if exact:
        check_exact(decoder.execute, plan, logits)
    return decoder


def _sample(logits: torch.Tensor) -> NDArray[np.float32]:
    """Return sampled logits from all rows, to recognise a decoder restored wrongly."""
    return logits.flatten()[:: max(1, logits.numel() // _SAMPLES)].numpy().astype(np.float32)
