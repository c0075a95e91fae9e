"""From a config to a model that runs: built and packed, or read as an earlier start packed it.

Called by the engine core. Where a packed decoder is not what its original was, the original is
loaded again and transformers runs it.
"""

from __future__ import annotations

import gc
import logging
from dataclasses import dataclass

import torch

from yaie.attention.backend import choose_backend
from yaie.attention.cpu import CpuBackend
from yaie.config import EngineConfig
from yaie.engine.runner import ModelRunner
from yaie.errors import YaieError
from yaie.kernels.library import Library
from yaie.kernels.weight_memory import WeightMemory
from yaie.models.folder import resolve_model_path
from yaie.models.loader import LoadedModel, load_model
from yaie.models.memory import trim_heap
from yaie.models.native.decoder import DecoderDiffers, has_room_to_compare
from yaie.models.native.exactness import not_exact
from yaie.models.native.packed_weights import (
    NotSavable,
    PackedWeights,
    PackedWeightsWriter,
    facts_of,
    specs_of,
)
from yaie.models.packed_cache import PackedCache, cache_key, open_cache
from yaie.models.reload import reload_model

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CacheSlot:
    """Where in the cache a model's packed weights are, or will be."""

    cache: PackedCache
    key: str
    kernels: Library


def load_runner(
    config: EngineConfig,
) -> tuple[LoadedModel, ModelRunner, PackedWeightsWriter | None]:
    """The model, its runner, and who is still writing it to disk.

    Raises a `StartupError` that says what to do.
    """
    slot = _find_slot(config)
    if slot is not None:
        restored = _restore(config, slot)
        if restored is not None:
            return (*restored, None)
    packed = _pack(config)
    if isinstance(packed, str):
        log.warning("%s; transformers runs the model instead, slower", packed)
        gc.collect()
        trim_heap()  # what is free is asked for next
        loaded = load_model(config, may_pack=False)
        return loaded, ModelRunner(loaded, config.attention_backend, native_decoder=False), None
    return (*packed, None if slot is None else _save(config, slot, *packed))


def _pack(config: EngineConfig) -> tuple[LoadedModel, ModelRunner] | str:
    """The model and its runner, or why they are of no use: then neither is held any more, as they
    would be by the error."""
    loaded = load_model(config)
    try:
        return loaded, ModelRunner(loaded, config.attention_backend, exact=config.exact)
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
    if not isinstance(backend, CpuBackend):
        return None
    try:
        return CacheSlot(cache, _key(config, backend.kernels), backend.kernels)
    except OSError as error:
        log.warning("packed weights are not kept: %s", error)
        return None


def _key(config: EngineConfig, kernels: Library) -> str:
    return cache_key(config, resolve_model_path(config.model), kernels.instruction_set)


def _restore(config: EngineConfig, slot: CacheSlot) -> tuple[LoadedModel, ModelRunner] | None:
    entry = slot.cache.read(slot.key)
    if entry is None:
        return None
    try:
        facts = entry.header["facts"]
        loaded = reload_model(config, resolve_model_path(config.model), facts, specs_of(facts))
        if loaded.max_model_len > facts["num_positions"]:
            return None  # it was packed for a smaller pool
        if not has_room_to_compare(loaded):
            return None
        # Only now, as what is free was asked for without the weights.
        numbers = WeightMemory(slot.kernels).take(entry.header["nbytes"]).numpy()
        entry.load(numbers.data)
        packed = PackedWeights(entry.header, numbers)
        runner = ModelRunner(loaded, config.attention_backend, exact=config.exact, packed=packed)
        return loaded, runner
    except YaieError:
        raise
    except OSError as error:
        log.warning("packed weights could not be read: %s", error)
        return None
    except (DecoderDiffers, KeyError, TypeError, ValueError) as error:
        log.warning("packed weights on disk are of no use and were removed: %s", error)
        slot.cache.remove(slot.key)
        return None


def _save(
    config: EngineConfig, slot: CacheSlot, loaded: LoadedModel, runner: ModelRunner
) -> PackedWeightsWriter | None:
    decoder = runner.decoder
    if decoder is None or not has_room_to_compare(loaded):
        return None
    try:
        if _key(config, slot.kernels) != slot.key:
            log.warning("packed weights are not kept: the model's files changed while it loaded")
            return None
    except (OSError, YaieError) as error:
        log.warning("packed weights are not kept: %s", error)
        return None
    facts = facts_of(loaded.specs, num_positions=loaded.max_model_len, **loaded.facts)
    try:
        return PackedWeightsWriter(slot.cache, slot.key, decoder, facts)
    except NotSavable as error:
        log.warning("packed weights are not kept: %s", error)
        return None
