"""Executor loading: builds and packs the model of a config, or restores it from packed weights.

If packed weights compute other logits than the original, the original is loaded again and
transformers runs it.
"""

from __future__ import annotations

import gc
import logging
from dataclasses import dataclass
from typing import Any

import torch

from yaie.attention.registry import choose_backend
from yaie.base.errors import YaieError
from yaie.base.settings import EngineConfig
from yaie.device.available_memory import trim_heap
from yaie.engine.execution.encoder_executor import EncoderExecutor
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.executor_choice import choose_executor
from yaie.engine.execution.native_executor import NativeExecutor
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.kernels.library import Library
from yaie.kernels.weight_memory import WeightMemory
from yaie.models.adapters.adapter import missing_layers
from yaie.models.architecture.loaded_model import ModelMetadata
from yaie.models.files.checkpoint import read_config
from yaie.models.files.encoder_classes import find_encoder
from yaie.models.load.encoder import load_encoder
from yaie.models.load.folder import resolve_model_path
from yaie.models.load.loader import load_model, restore_model
from yaie.models.load.packed_experts import EXPERTS, describe_experts
from yaie.models.native.batch_invariance_check import not_exact
from yaie.models.native.numerics_check import DecoderDiffers, has_room_to_compare
from yaie.models.native.packed_cache import CacheEntry, PackedCache, cache_key, open_cache
from yaie.models.native.packed_weights import PackedWeights, PackedWeightsWriter, describe_decoder
from yaie.models.native.saved_structures import NotSavable, SavedTensors

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CacheSlot:
    """The cache entry for a model's packed weights, filled or not."""

    cache: PackedCache
    key: str
    kernels: Library


def load_executor(config: EngineConfig) -> tuple[Executor, PackedWeightsWriter | None]:
    """Load the model; return its executor, and the writer that is still saving its packed weights.

    Raises a `StartupError` that says what to do.
    """
    if find_encoder(read_config(resolve_model_path(config.source))) is not None:
        return EncoderExecutor(*load_encoder(config)), None
    slot = _find_slot(config)
    entry = None if slot is None else slot.cache.read(slot.key)
    experts = entry if entry is not None and EXPERTS in entry.header else None
    if slot is not None and entry is not None and experts is None:
        executor = _restore(config, slot, entry)
        if executor is not None:
            return executor, None
    packed = _pack(config, experts)
    if isinstance(packed, str):
        log.warning("%s; transformers runs the model instead, slower", packed)
        gc.collect()
        trim_heap()  # before the free memory is measured again
        loaded = load_model(config, may_pack=False)
        original = choose_executor(loaded, config.attention_backend, may_pack=False, config=config)
        if isinstance(original, TransformersExecutor):
            original.slower_because = packed
        return original, None
    return packed, None if slot is None else _save(config, slot, packed)


def _pack(config: EngineConfig, experts: CacheEntry | None) -> Executor | str:
    """Return the executor for a newly packed model, or the reason it is unusable.

    `experts`: the cache file of its packed experts.

    A reason and not an error: an error's traceback would keep the model in memory.
    """
    loaded = load_model(config, experts=experts)
    try:
        return choose_executor(loaded, config.attention_backend, exact=config.exact, config=config)
    except DecoderDiffers as error:
        if config.exact:
            raise not_exact(str(error)) from None
        return str(error)


def _find_slot(config: EngineConfig) -> CacheSlot | None:
    cache = open_cache(config)
    is_cpu = config.device == "cpu" or not torch.cuda.is_available()
    if cache is None or not is_cpu:
        return None
    backend = choose_backend(torch.device("cpu"), config.attention_backend, exact=config.exact)
    kernels = backend.kernels
    if kernels is None:
        return None
    try:
        return CacheSlot(cache, _key(config, kernels), kernels)
    except OSError as error:
        log.warning("packed weights are not cached: %s", error)
        return None


def _key(config: EngineConfig, kernels: Library) -> str:
    return cache_key(config, resolve_model_path(config.source), kernels.instruction_set)


def _restore(config: EngineConfig, slot: CacheSlot, entry: CacheEntry) -> Executor | None:
    try:
        metadata = ModelMetadata.from_json(entry.header["metadata"])
        loaded = restore_model(config, resolve_model_path(config.source), metadata)
        if loaded.max_model_len > entry.header["num_positions"]:
            return None  # it was packed for a smaller pool
        if not has_room_to_compare(loaded):
            return None
        # After the plan: it measures free memory without the weights.
        data = WeightMemory(slot.kernels).take(entry.header["nbytes"]).numpy()
        entry.load(data.data)
        packed = PackedWeights(entry.header, data)
        executor = choose_executor(
            loaded, config.attention_backend, exact=config.exact, packed=packed
        )
        adapted = executor.adapted
        if config.lora and adapted is not None and missing_layers(config.lora, adapted.shapes):
            return None  # perhaps transformers adapts them
        return executor
    except YaieError:
        raise
    except OSError as error:
        log.warning("packed weights could not be read: %s", error)
        return None
    except (DecoderDiffers, KeyError, TypeError, ValueError) as error:
        log.warning("packed weights on disk are unusable and were removed: %s", error)
        slot.cache.remove(slot.key)
        return None


def _save(config: EngineConfig, slot: CacheSlot, executor: Executor) -> PackedWeightsWriter | None:
    try:
        described = _describe(executor, slot)
        if described is None:
            return None
        if _key(config, slot.kernels) != slot.key:
            log.warning("packed weights are not cached: the model's files changed while it loaded")
            return None
    except (NotSavable, OSError, YaieError) as error:
        log.warning("packed weights are not cached: %s", error)
        return None
    return PackedWeightsWriter(slot.cache, slot.key, *described)


def _describe(executor: Executor, slot: CacheSlot) -> tuple[dict[str, Any], SavedTensors] | None:
    """Return the header and the data of a cache file, or None if there is nothing to cache."""
    loaded = executor.loaded
    if isinstance(executor, NativeExecutor):
        return describe_decoder(executor.decoder, loaded) if has_room_to_compare(loaded) else None
    # A file that is there has these very experts.
    if loaded.model is None or slot.cache.holds(slot.key):
        return None
    return describe_experts(loaded.model)
