"""Packing of experts at load: each expert is read, rounded and packed before the next one.

The cache of packed weights has them for the next start.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from yaie.base.errors import ModelUnsupported
from yaie.kernels.library import Library
from yaie.kernels.weight_memory import WeightMemory
from yaie.models.load.expert_tensors import WEIGHTS, ExpertSource, find_experts
from yaie.models.load.folder import ModelFolder
from yaie.models.native.packed_cache import CacheEntry
from yaie.models.native.packed_experts import Expert, PackedExperts, UnknownExperts
from yaie.models.native.packing import Packer
from yaie.models.native.saved_structures import SavedTensors
from yaie.models.quantization.block_weights import BlockWeight
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.quantized_layers import QuantizedLayout
from yaie.models.quantization.quantized_weights import QuantizedWeight
from yaie.process.progress import report, report_each

log = logging.getLogger(__name__)

EXPERTS = "experts"  # the key of the header of a cache file of experts


def experts_to_pack(
    model: nn.Module,
    architecture: str,
    folder: ModelFolder,
    layout: QuantizedLayout | None,
    *,
    rounds: bool,
) -> tuple[ExpertSource, ...]:
    """Return the experts that are packed as they are read; log why if there are none.

    model: on the meta device. layout: of a quantized checkpoint. rounds: plain weights are rounded.
    """
    checkpoint = folder.checkpoint
    try:
        if checkpoint.gguf is not None:
            from yaie.models.load.block_experts import find_block_experts  # it imports `gguf`

            return tuple(find_block_experts(model, checkpoint.gguf, rounds=rounds))
        return tuple(find_experts(model, checkpoint.tensors, layout, rounds=rounds))
    except UnknownExperts as reason:
        log.warning("the experts of %s are not packed: %s", architecture, reason)
        return ()


def prepare_class(model_class: Any, sources: Sequence[ExpertSource]) -> Any:
    """Return a class whose model has empty modules instead of its experts."""

    def make(model: Any, *arguments: Any, **settings: Any) -> None:
        model_class.__init__(model, *arguments, **settings)
        for source in sources:
            model.set_submodule(source.name, nn.Module())

    names = {"__init__": make, "__module__": model_class.__module__}
    return type(model_class.__name__, (model_class,), names)


def pack_experts(
    model: nn.Module,
    sources: Sequence[ExpertSource],
    kind: str | None,
    library: Library,
    saved: CacheEntry | None = None,
) -> None:
    """Put the experts in a model whose modules of experts are empty.

    kind: of the rounded weights; others stay as they are stored.
    saved: the cache entry that has these experts packed, if there is one.
    Raises `ModelUnsupported` if packed experts differ from their weights.
    """
    if saved is not None and _restore(model, sources, kind, library, saved):
        return
    packer = _make_packer(library)
    kept = set[str]().union(*(source.kinds for source in sources))
    if kept:
        log.info("experts stay in %s, as they are stored", "+".join(sorted(kept)))
    if any(source.is_rounded for source in sources):
        log.info("experts are rounded to %s as they are read, to the nearest values", kind)
    for source in report_each(sources, "packing experts", len(sources)):
        packed = PackedExperts(source.layout, library, packer)
        for index in range(source.layout.num_experts):
            expert = _read(source, index, kind)
            packed.pack(index, expert)
            if index == 0:
                try:
                    packed.check(index, expert)
                except UnknownExperts as error:
                    raise ModelUnsupported(f"{source.name}: {error}; omit --quantization") from None
        model.set_submodule(source.name, packed)


def describe_experts(model: nn.Module) -> tuple[dict[str, Any], SavedTensors] | None:
    """Return the header and the data of a cache file of a model's packed experts.

    None if the model has none. Raises `NotSavable`.
    """
    layers = {name: each for name, each in model.named_modules() if isinstance(each, PackedExperts)}
    if not layers:
        return None
    tensors = SavedTensors(next(iter(layers.values())).held)
    return {EXPERTS: {name: each.describe(tensors) for name, each in layers.items()}}, tensors


def _restore(
    model: nn.Module,
    sources: Sequence[ExpertSource],
    kind: str | None,
    library: Library,
    saved: CacheEntry,
) -> bool:
    """Take all experts out of a cache file; return False, with a log line, if that failed.

    The first expert of each layer is compared with the checkpoint's.
    """
    report("reading packed experts")
    packer = _make_packer(library)
    try:
        data = WeightMemory(library).take(saved.header["nbytes"])
        saved.load(data.numpy().data)
        for source in sources:
            packed = PackedExperts(source.layout, library, packer)
            packed.restore(saved.header[EXPERTS][source.name], data)
            packed.check(0, _read(source, 0, kind))
            model.set_submodule(source.name, packed)
    except (UnknownExperts, OSError, KeyError, TypeError, ValueError) as error:
        log.warning("packed experts on disk are unusable and were removed: %s", error)
        with contextlib.suppress(OSError):  # a read-only folder
            saved.path.unlink(missing_ok=True)
        return False
    return True


def _make_packer(library: Library) -> Packer:
    return Packer(library, torch.float32)


def _read(source: ExpertSource, index: int, kind: str | None) -> Expert:
    gate_up, down = (
        _rounded(source.read(index, part), kind if source.rounds(part) else None)
        for part in WEIGHTS
    )
    biases = (source.read_bias(index, f"{part}_proj_bias") for part in ("gate_up", "down"))
    return Expert(gate_up, down, *biases)


def _rounded(
    weight: torch.Tensor | QuantizedWeight | BlockWeight, kind: str | None
) -> torch.Tensor | QuantizedWeight | BlockWeight:
    if kind is None:
        return weight
    assert isinstance(weight, torch.Tensor)
    return quantize_weight(weight, kind)
