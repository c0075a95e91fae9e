"""A whole decoder with merged projections and fused operations.

It takes the structure that `yaie.models.native.structure` recognises, whose weights it shares with
the original. A forward launches work and never waits for the device.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn

from yaie.attention.spec import AttentionSpec
from yaie.kvcache.quantized import QuantizedRows, StoredRows
from yaie.models.fused.linears import LinearMap, merge
from yaie.models.fused.operations import (
    ActivationName,
    FusedOperations,
    HeadOperation,
    Norm,
    Rotary,
    Store,
)
from yaie.models.loader import LoadedModel
from yaie.models.native.structure import (
    DecoderParts,
    LayerParts,
    NormParts,
    NotRecognised,
    recognise,
    require_plain_attention,
    rotary_tables,
)

log = logging.getLogger(__name__)

_LEAST_STORED_BYTES = 2  # of an element: narrower ones are the backend's to round


class DecoderStep(Protocol):
    """One step: its rows on the device, and the attention of each layer."""

    token_ids: torch.Tensor  # [rows]
    positions: torch.Tensor  # [rows]
    row_slots: torch.Tensor  # [rows]; -1: keys and values of the row are in the pool already
    logit_rows: torch.Tensor | int  # 0: all

    def stored(self, spec: AttentionSpec) -> tuple[StoredRows, StoredRows]:
        """Return the pool's keys and values of a layer, each [num_slots, num_kv_heads, width]."""

    def write(self, spec: AttentionSpec, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Write the keys and values [rows, num_kv_heads, width] of the step into their slots."""

    def attend_rows(self, spec: AttentionSpec, queries: torch.Tensor) -> torch.Tensor:
        """Return the attention of queries [rows, num_heads, width], of the same shape."""


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer, ready to run."""

    spec: AttentionSpec
    heads: HeadOperation
    qkv: LinearMap
    output: LinearMap
    mlp_norm: Norm
    gate_up: LinearMap
    activation: ActivationName
    down: LinearMap
    residual_factor: float


class FusedDecoder:
    """A decoder that computes a step in few launches. The original stays usable."""

    def __init__(
        self,
        parts: DecoderParts,
        specs: Sequence[AttentionSpec],
        operations: FusedOperations,
        num_positions: int,
    ) -> None:
        """Merge the projections, layer by layer; each original becomes a view.

        Raises `NotRecognised` if a layer's attention is more than this decoder computes.
        """
        require_plain_attention(parts, specs)
        for spec in specs:
            if spec.value_width != spec.key_width:
                raise NotRecognised(f"the values of layer {spec.layer} have a width of their own")
        self.operations = operations
        self._embedding = parts.embedding.weight
        self._embedding_factor = parts.embedding_factor
        self._head = parts.head
        self._logit_factor = parts.logit_factor
        rotary = _rotary(parts, num_positions)
        self._layers = [
            _fuse(layer, spec, rotary) for layer, spec in zip(parts.layers, specs, strict=True)
        ]
        # The norm after each layer's MLP: of the next layer, at last of the head.
        norms = [_norm(layer.attention_norm) for layer in parts.layers]
        self._first_norm, *self._next_norms = [*norms, _norm(parts.final_norm)]

    def forward(self, step: DecoderStep) -> torch.Tensor:
        """Compute the rows of a step; return float32 logits [logit rows, vocab]."""
        operations = self.operations
        residual = nn.functional.embedding(step.token_ids, self._embedding)
        if self._embedding_factor != 1.0:
            residual *= self._embedding_factor
        rows = operations.norm(residual, self._first_norm)
        for layer, next_norm in zip(self._layers, self._next_norms, strict=True):
            rows = layer.output(self._attend(layer, step, rows))
            factor = layer.residual_factor
            rows = operations.add_norm(residual, rows, layer.mlp_norm, factor=factor)
            rows = layer.down(operations.gate(layer.gate_up(rows), layer.activation))
            # The head needs some rows only.
            if layer is self._layers[-1] and isinstance(step.logit_rows, torch.Tensor):
                rows = rows.index_select(0, step.logit_rows)
                residual = residual.index_select(0, step.logit_rows)
            rows = operations.add_norm(residual, rows, next_norm, factor=factor)
        logits: torch.Tensor = self._head(rows).float()
        return logits if self._logit_factor == 1.0 else logits * self._logit_factor

    def _attend(self, layer: _Layer, step: DecoderStep, rows: torch.Tensor) -> torch.Tensor:
        projected = layer.qkv(rows)
        what = (projected, step.positions, layer.heads)
        store = self._store(layer, step)
        if store is not None:
            queries = self.operations.rotate_and_store(*what, store)
        else:
            queries, keys, values = self.operations.rotate(*what)
            step.write(layer.spec, keys, values)
        return step.attend_rows(layer.spec, queries).flatten(1)

    def _store(self, layer: _Layer, step: DecoderStep) -> Store | None:
        """Return the places of a step's keys and values; None if the backend has to write them."""
        keys, values = step.stored(layer.spec)
        if isinstance(keys, QuantizedRows) or isinstance(values, QuantizedRows):
            return None
        if not self.operations.stores or keys.itemsize < _LEAST_STORED_BYTES:
            return None
        return Store(keys, values, step.row_slots)


def build_fused_decoder(loaded: LoadedModel, operations: FusedOperations) -> FusedDecoder | None:
    """Return the model's decoder in fused form; None if its structure is not recognised.

    It comes before the pool, which takes most of the memory that is left.
    """
    assert loaded.model is not None, "a packed model has no original"
    try:
        parts = recognise(loaded.model)
        return FusedDecoder(parts, loaded.specs, operations, loaded.max_model_len)
    except NotRecognised as reason:
        log.info("transformers runs the model: %s", reason)
        return None


def _fuse(parts: LayerParts, spec: AttentionSpec, rotary: Rotary) -> _Layer:
    value = () if parts.value is None else parts.value.modules
    return _Layer(
        spec=spec,
        heads=HeadOperation(
            spec.num_heads,
            spec.num_kv_heads,
            spec.key_width,
            query_norm=None if parts.query_norm is None else _norm(parts.query_norm),
            key_norm=None if parts.key_norm is None else _norm(parts.key_norm),
            rotary=rotary if parts.rotates else None,
        ),
        qkv=merge((*parts.qkv.modules, *value)),
        output=merge(parts.output.modules),
        mlp_norm=_norm(parts.mlp_norm),
        gate_up=merge(parts.gate_up.modules),
        activation=parts.activation,
        down=merge(parts.down.modules),
        residual_factor=parts.residual_factor,
    )


def _norm(parts: NormParts) -> Norm:
    return Norm(parts.weight, parts.epsilon, parts.offset)


def _rotary(parts: DecoderParts, num_positions: int) -> Rotary:
    """Return tables of one angle for each pair; transformers' have each angle twice."""
    cosines, sines = rotary_tables(parts, num_positions)
    pairs = cosines.shape[-1] // 2
    return Rotary(
        cosines[:, :pairs].contiguous(), sines[:, :pairs].contiguous(), parts.rotates_neighbours
    )
