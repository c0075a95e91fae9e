"""Runs a whole recognised decoder in the kernel library: one call a step.

On a CPU transformers' forward of a small model costs more than its arithmetic: module calls, norms
and rotary embeddings of many small operations. Where the structure is recognised, the weights are
packed for the library and a step goes from token ids to logits in one call. Before it is used it is
compared with the original on a step of its own, and left alone if it differs. Called by the runner.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable

import numpy as np
import torch

from yaie.attention.cpu import CpuBackend, pool_layer
from yaie.attention.plan import Segment, StepPlan
from yaie.kernels.decoder import GATED, WEIGHTS, Decoder, DecoderCall, DecoderLayer, Linear
from yaie.kernels.structures import DTYPES
from yaie.kvcache.pool import KVPool
from yaie.models.loader import LoadedModel
from yaie.models.rewrites.structure import (
    DecoderParts,
    LayerParts,
    LinearParts,
    NotRecognised,
    recognise,
)

log = logging.getLogger(__name__)

_KINDS = {getattr(torch, name): number for name, number in WEIGHTS.items()}
_DTYPES = {getattr(torch, name): number for name, number in DTYPES.items()}

# How far the logits may be from the original's, as a share of their length. In bf16 the original
# rounds after each operation, and the library only weights, keys and values; random weights with
# sharp attention, the worst case, then differ by up to a tenth. A wrong operation differs by more.
_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.15}

Execute = Callable[[StepPlan], torch.Tensor]


class DecoderDiffers(Exception):
    """The packed decoder does not compute what the original does; the original is gone."""


class NativeDecoder:
    """A decoder whose weights the kernel library has packed."""

    def __init__(
        self, loaded: LoadedModel, parts: DecoderParts, pool: KVPool, backend: CpuBackend
    ) -> None:
        """Packs module by module and frees each original, so that both are never held at once."""
        self._backend = backend
        self._library = backend.library
        self._device = loaded.device
        self._vocab_size = parts.head.out_features
        self._held: list[object] = []  # whatever the structures hold addresses of
        is_tied = parts.is_tied
        layers = (DecoderLayer * len(parts.layers))()
        for index, layer in enumerate(parts.layers):
            layers[index] = self._layer(layer, loaded, pool, index)
        cosines, sines = _rotary_tables(parts, loaded.max_model_len)
        embedding = None if is_tied else self._hold(parts.embedding.weight.detach())
        self._decoder = Decoder(
            num_layers=len(parts.layers),
            hidden=parts.embedding.embedding_dim,
            layers=ctypes.addressof(layers),
            final_norm=self._floats(parts.final_norm.weight),
            head=self._pack(LinearParts((parts.head,))),
            embedding=embedding,
            embedding_dtype=_DTYPES[loaded.dtype],
            rotary_width=cosines.shape[-1],
            cosines=self._hold(cosines),
            sines=self._hold(sines),
            epsilon=parts.final_norm.epsilon,
            embedding_factor=parts.embedding_factor,
            logit_factor=parts.logit_factor,
        )
        self._held.append(layers)
        if is_tied:
            parts.embedding.weight.data = torch.empty(0, dtype=loaded.dtype)

    def execute(self, plan: StepPlan) -> torch.Tensor:
        """See `ModelRunner.execute`."""
        step = self._backend.prepare(plan, self._device)
        token_ids = np.ascontiguousarray(plan.token_ids)
        logit_rows = np.ascontiguousarray(plan.logit_rows)
        logits = torch.empty((len(logit_rows), self._vocab_size), dtype=torch.float32)
        call = DecoderCall(
            token_ids.ctypes.data, logit_rows.ctypes.data, len(logit_rows), logits.data_ptr()
        )
        self._library.decode(self._decoder, step.structure, call)
        return logits

    def _layer(
        self, parts: LayerParts, loaded: LoadedModel, pool: KVPool, index: int
    ) -> DecoderLayer:
        attention = pool_layer(loaded.specs[index], pool.keys(index), pool.values(index))
        self._held.append(attention)
        norms = (parts.query_norm, parts.key_norm)
        query_norm, key_norm = (
            None if norm is None else self._floats(norm.weight) for norm in norms
        )
        return DecoderLayer(
            attention_norm=self._floats(parts.attention_norm.weight),
            mlp_norm=self._floats(parts.mlp_norm.weight),
            query_norm=query_norm,
            key_norm=key_norm,
            qkv=self._pack(parts.qkv),
            output=self._pack(parts.output),
            gate_up=self._pack(parts.gate_up, gated=True),
            down=self._pack(parts.down),
            attention=attention,
            epsilon=parts.attention_norm.epsilon,
            residual_factor=parts.residual_factor,
            rotates=parts.rotates,
            activation=_gated(parts.activation),
        )

    def _pack(self, parts: LinearParts, *, gated: bool = False) -> Linear:
        weight = parts.weight().contiguous()
        num_outputs, num_inputs = weight.shape
        padded = -(-num_outputs // self._library.panel_outputs) * self._library.panel_outputs
        packed = torch.empty(padded * num_inputs, dtype=weight.dtype)
        kind = _KINDS[weight.dtype]
        self._library.pack(
            weight.data_ptr(), packed.data_ptr(), num_outputs, num_inputs, kind, gated
        )
        bias = parts.bias()
        bias_address = None
        if bias is not None:
            wide = torch.zeros(padded)
            wide[:num_outputs] = bias
            bias_address = self._hold(wide)
        for module in parts.modules:
            module.weight.data = torch.empty(0, dtype=weight.dtype)
        return Linear(kind, num_inputs, num_outputs, 0, self._hold(packed), bias_address)

    def _floats(self, tensor: torch.Tensor) -> int:
        return self._hold(tensor.detach().float())

    def _hold(self, tensor: torch.Tensor) -> int:
        """Keep a tensor for as long as the library reads it; returns its address."""
        tensor = tensor.contiguous()
        self._held.append(tensor)
        return tensor.data_ptr()


def build_native_decoder(
    loaded: LoadedModel, pool: KVPool, backend: CpuBackend, execute: Execute
) -> NativeDecoder | None:
    """The model's decoder in the library, or None where it is not recognised.

    `execute` runs the original; it can no longer do so afterwards. Raises `DecoderDiffers` when
    the two disagree.
    """
    if loaded.dtype not in _KINDS:
        return None
    try:
        parts = recognise(loaded.model)
    except NotRecognised as reason:
        log.info("transformers runs the model: %s", reason)
        return None
    plan = comparison_plan(loaded)
    expected = execute(plan)
    decoder = NativeDecoder(loaded, parts, pool, backend)
    found = decoder.execute(plan)
    error = float((found - expected).norm() / expected.norm().clamp_min(1e-6))
    if not error <= _TOLERANCE[loaded.dtype]:  # a NaN is no agreement
        raise DecoderDiffers(f"logits of the packed decoder are off by {error:.2%}")
    log.info("the kernel library runs the model; its logits are within %.1e", error)
    return decoder


def _gated(activation: str) -> int:
    return GATED[activation]


def _rotary_tables(parts: DecoderParts, num_positions: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of all positions, [positions, width] in float32."""
    with torch.inference_mode():
        positions = torch.arange(num_positions)[None]
        cosines, sines = parts.rotary(torch.zeros(1, 1, 1), positions)
    return cosines[0].float(), sines[0].float()


def comparison_plan(loaded: LoadedModel) -> StepPlan:
    """Two short sequences with a common beginning, all of whose logits are wanted."""
    shared, own = 9, 7
    length = shared + own
    if loaded.num_slots < shared + 2 * own or loaded.max_model_len < length:
        shared, own = 1, 0
    count = shared + 2 * own
    token_ids = np.arange(count, dtype=np.int64) * 31 % loaded.vocab_size
    slots = np.arange(count, dtype=np.int64)
    branches = [
        Segment(slots[first : first + own], shared, first, first + own)
        for first in (shared, shared + own)
        if own
    ]
    positions = np.concatenate([np.arange(shared), *[np.arange(shared, shared + own)] * 2])
    return StepPlan(
        token_ids=token_ids,
        positions=positions.astype(np.int64),
        slots=slots,
        written_rows=slots,
        logit_rows=slots,
        segments=(Segment(slots[:shared], 0, 0, count), *branches),
        kv_tokens_read=count,
        kv_tokens_unshared=2 * length,
    )
