"""Fused decoder: a whole decoder with merged projections and fused operations.

It takes the structure that `yaie.models.fused.fused_structure` recognises, whose weights it shares
with the original. Other MLPs, including experts, stay the original's modules. A forward launches
work; only such a module may wait for the device.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn

from yaie.attention.spec import AttentionSpec
from yaie.base.errors import NotEnoughMemory
from yaie.device.available_memory import is_out_of_memory
from yaie.kvcache.int8_rows import QuantizedRows, StoredRows
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.row_outputs import RowOutputs
from yaie.models.fused.adapter_pools import AdapterPools, LinearMap
from yaie.models.fused.fused_structure import (
    FusedLayerParts,
    FusedParts,
    recognise_for_a_gpu,
)
from yaie.models.fused.operations import (
    PAGE_RANKS,
    AdaptedRows,
    FusedOperations,
    HeadOperation,
    Store,
)
from yaie.models.native.decoder_structure import (
    GatedMlp,
    LayerNorms,
    Norm,
    NotRecognised,
    OtherMlps,
)
from yaie.models.quantization.device.linear import DeviceLinear, merge_packed
from yaie.models.quantization.quantized_weights import QuantizedLinear

log = logging.getLogger(__name__)

_LEAST_STORED_BYTES = 2  # element bytes: the backend rounds to narrower dtypes


class DecoderStep(Protocol):
    """One step: its rows on the device, and each layer's attention."""

    token_ids: torch.Tensor  # [rows]
    positions: torch.Tensor  # [rows]
    row_slots: torch.Tensor  # [rows]; -1: keys and values of the row are in the pool already
    logit_rows: torch.Tensor | int  # 0: all
    hidden_rows: torch.Tensor | None  # None: none
    adapted: AdaptedRows | None  # None: no row has an adapter

    def view_stored(self, spec: AttentionSpec) -> tuple[StoredRows, StoredRows]:
        """Return a layer's pool keys and values, each [num_slots, num_kv_heads, width]."""

    def write(self, spec: AttentionSpec, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Write the step's keys and values [rows, num_kv_heads, width] into their slots."""

    def attend_rows(
        self, spec: AttentionSpec, queries: torch.Tensor, sinks: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the attention of queries [rows, num_heads, width], in the same shape.

        sinks: [num_heads], if the layer has them.
        """


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer, ready to run."""

    spec: AttentionSpec
    heads: HeadOperation
    qkv: LinearMap
    output: LinearMap
    sinks: torch.Tensor | None
    wide_norms: tuple[tuple[slice, Norm], ...]  # over columns of the projected rows
    norms: LayerNorms
    is_parallel: bool
    mlp: LinearMap
    residual_factor: float


class FusedDecoder:
    """A decoder that computes a step in few launches. The original stays usable."""

    def __init__(
        self,
        parts: FusedParts,
        specs: Sequence[AttentionSpec],
        operations: FusedOperations,
        adapters: AdapterPools | None = None,
    ) -> None:
        """Merge the projections, layer by layer; each original becomes a view."""
        self.operations = operations
        self.adapters = adapters
        decoder = parts.decoder
        self._embedding = decoder.embedding.weight
        self._embedding_factor = decoder.embedding_factor
        self._head = decoder.head
        self._logit_factor = decoder.logit_factor
        self._logit_softcap = decoder.logit_softcap
        self._layers = [
            _fuse(layer, spec, operations, adapters)
            for layer, spec in zip(parts.layers, specs, strict=True)
        ]
        # The norm after each layer: the next layer's first, at last the head's.
        norms = [layer.norms.before_attention for layer in decoder.layers]
        self._first_norm, *self._next_norms = [*norms, decoder.final_norm]

    def forward(self, step: DecoderStep) -> RowOutputs:
        """Compute a step's rows; return their outputs in float32."""
        operations = self.operations
        if self.adapters is not None:
            self.adapters.begin(step.adapted)
        kept = step.logit_rows
        if isinstance(kept, torch.Tensor) and step.hidden_rows is not None:
            kept = torch.cat([kept, step.hidden_rows])
        residual = nn.functional.embedding(step.token_ids, self._embedding)
        if self._embedding_factor != 1.0:
            residual *= self._embedding_factor
        first = self._first_norm
        rows = residual if first is None else operations.norm(residual, first)
        for layer, next_norm in zip(self._layers, self._next_norms, strict=True):
            norms, factor = layer.norms, layer.residual_factor
            attended = layer.output(self._attend(layer, step, rows))
            if layer.is_parallel:
                rows = attended + layer.mlp(rows)
            else:
                rows = operations.add_norm(
                    residual, attended, norms.before_mlp, factor=factor, first=norms.after_attention
                )
                rows = layer.mlp(rows)
            # Some rows only have outputs.
            if layer is self._layers[-1] and isinstance(kept, torch.Tensor):
                rows = rows.index_select(0, kept)
                residual = residual.index_select(0, kept)
            rows = operations.add_norm(
                residual, rows, next_norm, factor=factor, first=norms.after_mlp
            )
        num_hidden = 0 if step.hidden_rows is None else len(step.hidden_rows)
        num_logits = len(rows) - num_hidden
        return RowOutputs(self._logits(rows[:num_logits]), rows[num_logits:].float())

    def _logits(self, rows: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._head(rows).float()
        if self._logit_factor != 1.0:
            logits = logits * self._logit_factor
        if self._logit_softcap is not None:
            logits = torch.tanh(logits / self._logit_softcap) * self._logit_softcap
        return logits

    def _attend(self, layer: _Layer, step: DecoderStep, rows: torch.Tensor) -> torch.Tensor:
        projected = layer.qkv(rows)
        for columns, norm in layer.wide_norms:
            self.operations.norm_in_place(projected[:, columns], norm)
        what = (projected, step.positions, layer.heads)
        store = self._store(layer, step)
        if store is not None:
            queries = self.operations.rotate_and_store(*what, store)
        else:
            queries, keys, values = self.operations.rotate(*what)
            step.write(layer.spec, keys, values)
        return step.attend_rows(layer.spec, queries, layer.sinks).flatten(1)

    def _store(self, layer: _Layer, step: DecoderStep) -> Store | None:
        """Return where a step's keys and values are stored; None if the backend writes them."""
        keys, values = step.view_stored(layer.spec)
        if isinstance(keys, QuantizedRows) or isinstance(values, QuantizedRows):
            return None
        if not self.operations.stores or keys.itemsize < _LEAST_STORED_BYTES:
            return None
        return Store(keys, values, step.row_slots)


def build_fused_decoder(
    loaded: LoadedModel, operations: FusedOperations, *, adapter_pages: int = 0
) -> FusedDecoder | None:
    """Return the model's decoder as a `FusedDecoder`; None if its structure is not recognised.

    It comes before the pool, which takes most of the remaining memory. `adapter_pages`: see
    `AdapterPools`; 0: it takes no adapters. Raises `NotEnoughMemory` if pools and merged layers do
    not fit.
    """
    assert loaded.model is not None, "a packed model has no original"
    try:
        parts = recognise_for_a_gpu(loaded.model, loaded.specs, loaded.max_model_len)
    except NotRecognised as reason:
        log.info("transformers runs the model: %s", reason)
        return None
    if not adapter_pages:
        return FusedDecoder(parts, loaded.specs, operations)
    like = parts.decoder.embedding.weight
    try:
        adapters = AdapterPools(loaded.model, like, operations, adapter_pages)
        return FusedDecoder(parts, loaded.specs, operations, adapters)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise NotEnoughMemory(
            f"the pools of adapters, each with {adapter_pages} pages of {PAGE_RANKS} ranks, do not "
            "fit into the memory left by the weights; use a smaller --max-loras or adapters of "
            "smaller ranks",
            param="max_loras",
        ) from None


def _fuse(
    layer: FusedLayerParts,
    spec: AttentionSpec,
    operations: FusedOperations,
    adapters: AdapterPools | None,
) -> _Layer:
    num_queries, num_keys = (
        count * spec.key_width for count in (spec.num_heads, spec.num_kv_heads)
    )
    columns = (slice(0, num_queries), slice(num_queries, num_queries + num_keys))
    parts, wide = layer.parts, zip(columns, layer.wide_norms, strict=True)
    return _Layer(
        spec=spec,
        heads=layer.heads,
        qkv=_project(parts.qkv.modules, adapters),
        output=_project(parts.output.modules, adapters),
        sinks=parts.sinks,
        wide_norms=tuple((part, norm) for part, norm in wide if norm is not None),
        norms=parts.norms,
        is_parallel=parts.is_parallel,
        mlp=_mlp(parts.mlp, operations, adapters),
        residual_factor=parts.residual_factor,
    )


def _mlp(
    parts: GatedMlp | OtherMlps, operations: FusedOperations, adapters: AdapterPools | None
) -> LinearMap:
    if isinstance(parts, OtherMlps):
        if adapters is not None:
            for module in parts.modules:
                adapters.watch(module)
        first, *others = parts.modules
        return lambda rows: sum((_run(each, rows) for each in others), _run(first, rows))
    gate_up = _project(parts.gate_up.modules, adapters)
    down = _project(parts.down.modules, adapters)
    return lambda rows: down(operations.gate(gate_up(rows), parts.activation))


def _run(module: nn.Module, rows: torch.Tensor) -> torch.Tensor:
    """Run a transformers module, which takes a batch of one; some return scores as well."""
    found = module(rows[None])
    output: torch.Tensor = found[0] if isinstance(found, tuple) else found
    return output.view(rows.shape)


def _project(
    modules: Sequence[nn.Linear | QuantizedLinear], adapters: AdapterPools | None
) -> LinearMap:
    """Return the map of `merge`, with the products of adapters."""
    product = merge(modules)
    return product if adapters is None else adapters.over(product, modules)


def merge(modules: Sequence[nn.Linear | QuantizedLinear]) -> LinearMap:
    """Return a map to the modules' concatenated outputs.

    Plain layers become one, as do neighbours that are packed for a device in one format; other
    quantized layers are computed one by one.
    """
    if len(modules) == 1:
        return modules[0]
    packed = [module for module in modules if isinstance(module, DeviceLinear)]
    if len(packed) == len(modules):
        return merge_packed(packed)
    plain = [module for module in modules if isinstance(module, nn.Linear)]
    if len(plain) < len(modules):
        return lambda rows: torch.cat([module(rows) for module in modules], -1)
    return _merge_linears(plain)


def _merge_linears(modules: Sequence[nn.Linear]) -> LinearMap:
    with torch.inference_mode(False), torch.no_grad():
        weight = torch.cat([module.weight.detach() for module in modules])
        sizes = [module.out_features for module in modules]
        for module, part in zip(modules, torch.split(weight, sizes), strict=True):
            module.weight.data = part
        bias = None
        if any(module.bias is not None for module in modules):
            bias = torch.cat([_bias_of(module) for module in modules])
        if weight.is_cuda:
            torch.cuda.empty_cache()  # the originals' blocks fit no later layer
    return lambda rows: nn.functional.linear(rows, weight, bias)


def _bias_of(module: nn.Linear) -> torch.Tensor:
    if module.bias is None:
        return module.weight.new_zeros(module.out_features)
    return module.bias.detach()
