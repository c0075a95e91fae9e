"""Native decoder: a whole decoder in the kernel library, one call from token ids to logits.

On a CPU, transformers' forward of a small model costs more than its arithmetic: module calls, norms
and rotary embeddings are many small operations. If a decoder's structure is recognised, its weights
are packed for the library. Before use it is compared with the original on a test step.
"""

from __future__ import annotations

import ctypes
import itertools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from yaie.attention.cpu import CpuBackend, pool_layer
from yaie.attention.plan import StepPlan
from yaie.attention.state_chains import place_states, whole_chains
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
from yaie.kernels.recurrent_structures import Chains
from yaie.kvcache.pool import KVPool
from yaie.kvcache.state_pool import StatePool
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.row_outputs import RowOutputs
from yaie.models.native.attention_check import attention_check
from yaie.models.native.batch_invariance_check import check_exact, not_exact
from yaie.models.native.decoder_structure import (
    DecoderParts,
    GatedMlp,
    LayerFactors,
    LayerParts,
    LinearParts,
    Norm,
    NotRecognised,
    OtherMlps,
    RecurrentLayerParts,
)
from yaie.models.native.logits_memory import LogitsMemory
from yaie.models.native.mixture_structure import MixtureParts
from yaie.models.native.native_adapters import NativeAdapters, require_places
from yaie.models.native.native_mixture import pack_mixture
from yaie.models.native.native_structure import (
    feed_forward,
    head_norms,
    mlp_of,
    norms_of,
    output_gates,
    recognise_native,
    require_plain_attention,
    rotary_kinds,
    rotary_tables,
    rotates,
)
from yaie.models.native.numerics_check import (
    TOLERANCE_OF_EXPERTS,
    DecoderDiffers,
    check_agreement,
    comparison_plan,
    comparison_plans,
)
from yaie.models.native.packed_mixers import pack_mixer
from yaie.models.native.packed_mixers import place_states as place_pooled
from yaie.models.native.packed_weights import PackedWeights
from yaie.models.native.packing import KINDS, Packer
from yaie.models.native.recurrent_structure import recognise_mixer
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
        num_states: int = 0,
    ) -> None:
        """`held`: owners of the memory that `decoder` points to; `num_states`: slots for states."""
        self.kernels = kernels
        self.structure = decoder
        self.held = held
        self.sample = np.empty(0, dtype=np.float32)  # sample of the comparison's logits
        self.is_exact = exact
        self._num_states = num_states
        self._attention = CpuBackend(kernels, torch.get_num_threads(), exact=exact)
        self._logits = LogitsMemory(kernels, vocab_size)
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
        chains = self._place_chains(plan, call) if self._num_states else None
        held = self.adapters.enter(call, plan, output_rows) if self.adapters is not None else None
        self.kernels.decode(self.structure, step.structure, call)
        del held, chains  # alive until here
        return RowOutputs(logits, hidden)

    def _place_chains(self, plan: StepPlan, call: DecoderCall) -> NDArray[np.int64]:
        """Enter the chains of a step; return their memory."""
        chains = whole_chains(plan) if plan.chains is None else plan.chains
        found, num_spare = place_states(chains, self._num_states)
        placed = np.array(found, dtype=np.int64)
        call.chains = Chains(placed.ctypes.data, len(placed), num_spare)
        return placed


def _pack_decoder(
    loaded: LoadedModel,
    parts: DecoderParts,
    pool: KVPool,
    kernels: Library,
    *,
    exact: bool,
    states: StatePool | None = None,
) -> NativeDecoder:
    """Pack module by module and free each original, so the model is never in memory twice."""
    packer = Packer(kernels, loaded.dtype, exact=exact)
    is_tied = parts.is_tied
    layers = (DecoderLayer * len(parts.layers))()
    originals = MappedFiles([*loaded.path.glob("*.safetensors"), *loaded.path.glob("*.gguf")])
    next_release = _PACKED_BETWEEN_RELEASES
    kinds = rotary_kinds(parts, getattr(loaded.model, "config", None))
    rotated = [
        kind
        for kind, layer in zip(kinds, parts.layers, strict=True)
        if isinstance(layer, LayerParts)
    ]
    tables = {
        kind: _RotaryTables(packer, *rotary_tables(parts, loaded.max_model_len, kind))
        for kind in dict.fromkeys(rotated)
    }
    specs, mixers = iter(loaded.specs), itertools.count()
    for index, layer in enumerate(report_each(parts.layers, "packing weights", len(layers))):
        if packer.num_packed >= next_release:
            originals.release()
            trim_heap()  # the C library keeps freed blocks below used blocks
            next_release = packer.num_packed + _PACKED_BETWEEN_RELEASES
        layers[index] = _pack_layer(packer, kernels, layer)
        if layer.mixer is not None:
            assert states is not None, "a model with recurrent layers has states"
            place_pooled(layers[index].mixer, states.tensors(next(mixers)))
        if isinstance(layer, RecurrentLayerParts):
            continue
        spec = next(specs)
        attention = pool_layer(spec, pool.keys(spec.layer), pool.values(spec.layer))
        packer.keep(attention)
        _add_attention(packer, layers[index], layer, attention, tables[kinds[index]])
        layers[index].output_gates = output_gates(layer, spec)
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
    return NativeDecoder(
        kernels,
        parts.head.out_features,
        decoder,
        packer.held,
        exact=exact,
        num_states=0 if states is None else states.num_slots,
    )


class _RotaryTables:
    """Rotary tables in the packer's memory."""

    def __init__(self, packer: Packer, cosines: torch.Tensor, sines: torch.Tensor) -> None:
        self.width = cosines.shape[-1]
        self.cosines, self.sines = packer.hold(cosines), packer.hold(sines)


def _pack_layer(
    packer: Packer, kernels: Library, parts: LayerParts | RecurrentLayerParts
) -> DecoderLayer:
    """Pack a layer without its attention."""

    def pack_norm(norm: Norm | None, factor: float = 1.0) -> int | None:
        return None if norm is None else packer.floats(norm.factors * factor)

    factors = parts.factors if isinstance(parts, LayerParts) else LayerFactors()
    rest = feed_forward(parts)
    mlp = mlp_of(rest)
    layer = DecoderLayer(
        mlp_norm=pack_norm(parts.norms.before_mlp),
        norm_after_mlp=pack_norm(parts.norms.after_mlp),
        **({} if mlp is None else _pack_mlp(packer, mlp)),
        epsilon=norms_of(parts)[0].epsilon,
        residual_factor=parts.residual_factor * factors.mlp,
        gate_factor=factors.gate,
    )
    if isinstance(rest, MixtureParts):
        layer.mixture = ctypes.addressof(pack_mixture(packer, kernels, rest))
    before, after = parts.norms.before_attention, parts.norms.after_attention
    if parts.mixer is not None:
        layer.mixer = pack_mixer(packer, recognise_mixer(parts.mixer))
        layer.mixer.norm, layer.mixer.norm_after = pack_norm(before), pack_norm(after)
        layer.mixer.residual_factor = parts.residual_factor * factors.mixer
    if isinstance(parts, LayerParts):
        layer.attention_norm = pack_norm(before, factors.attention_inputs)
        layer.norm_after_attention = pack_norm(after)
        layer.attention_factor = parts.residual_factor * factors.attention * factors.values
        layer.score_factor = factors.keys
    return layer


def _add_attention(
    packer: Packer,
    layer: DecoderLayer,
    parts: LayerParts,
    attention: Layer,
    tables: _RotaryTables,
) -> None:
    """Pack a layer's attention, without its norms."""
    for name, norm in head_norms(parts, attention.key_width).items():
        setattr(layer, name, None if norm is None else packer.floats(norm.factors))
    qkv, *others = [packer.pack(part) for part in parts.qkv.split_by_format()]
    layer.qkv = qkv
    layer.key, layer.value = [*[Linear()] * (2 - len(others)), *others]
    layer.output = packer.pack(parts.output)
    layer.attention = attention
    layer.sinks = None if parts.sinks is None else packer.floats(parts.sinks)
    layer.cosines, layer.sines = tables.cosines, tables.sines
    layer.rotary_width = tables.width if rotates(parts) else 0


def _pack_mlp(packer: Packer, mlp: GatedMlp) -> dict[str, Any]:
    # A layer in several formats is several layers with the same inputs.
    gate, *up = mlp.gate_up.split_by_format()
    return {
        "gate_up": packer.pack(up[0]) if up else packer.pack(gate, gated=True),
        "gate": packer.pack(gate) if up else Linear(),
        "down": packer.pack(mlp.down),
        "activation": GATED[mlp.activation],
    }


def build_native_decoder(
    loaded: LoadedModel,
    pool: KVPool,
    kernels: Library,
    execute: Execute,
    *,
    exact: bool = False,
    states: StatePool | None = None,
    lora: str = "",
) -> NativeDecoder | str:
    """Pack the model's decoder for the kernel library, or return why it is not recognised.

    `execute` runs the original, which is freed; `lora` lists adapters that the decoder must take.
    Raises `DecoderDiffers` if the two disagree, and
    `ConfigError` if `exact` fails its check.
    """
    try:
        if loaded.dtype not in KINDS:
            raise NotRecognised(
                f"the kernel library has no linear layers in {loaded.dtype}; with --dtype "
                "bfloat16 it runs the model, several times faster"
            )
        parts = recognise_native(loaded.model, loaded.dtype)
        require_plain_attention(parts, loaded.specs)
        if lora and loaded.model is not None:
            require_places(loaded.model, parts, lora)
        # Batch-invariant attention takes paths without gaps only.
        plans = comparison_plans(loaded, with_gap=not exact)
        report("computing a test step of the original")
        with attention_check(parts, loaded.specs):
            expected = [execute(plan) for plan in plans]
    except NotRecognised as reason:
        if exact:
            raise not_exact(str(reason)) from None
        level = logging.INFO if loaded.dtype in KINDS else logging.WARNING  # slower than need be
        log.log(level, "transformers runs the model: %s", reason)
        return str(reason)
    is_mixture = any(isinstance(layer.mlp, OtherMlps) for layer in parts.layers)
    is_rounded = loaded.dtype is not torch.float32 and is_mixture
    decoder = _pack_decoder(loaded, parts, pool, kernels, exact=exact, states=states)
    report("comparing packed weights with the original")
    found = [decoder.execute(plan) for plan in plans]
    decoder.sample = _sample(found[0])
    least = TOLERANCE_OF_EXPERTS if is_rounded else 0.0
    error = check_agreement(loaded, plans, found, expected, least=least)
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
    states: StatePool | None = None,
) -> NativeDecoder:
    """Restore the decoder that an earlier start packed and compared with its original.

    Raises `DecoderDiffers` if its logits changed since, and `ConfigError` if `exact` fails its
    check.
    """
    attentions = [
        pool_layer(spec, pool.keys(index), pool.values(index))
        for index, spec in enumerate(loaded.specs)
    ]
    num_states = 0 if states is None else states.num_slots
    structure, held = packed.structures(attentions, states)
    decoder = NativeDecoder(
        kernels, loaded.vocab_size, structure, held, exact=exact, num_states=num_states
    )
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
