"""The choice of the executor that runs a loaded model."""

from __future__ import annotations

import logging

import torch

from yaie.attention.backend import AttentionBackend
from yaie.attention.choose import choose_backend
from yaie.config import AttentionBackendName, EngineConfig
from yaie.device.queue import make_queue
from yaie.engine.executor import Executor
from yaie.engine.memory_profile import CudaMeter, size_pool
from yaie.engine.native_executor import NativeExecutor
from yaie.engine.pool_memory import PoolMemory
from yaie.engine.transformers_executor import TransformersExecutor
from yaie.errors import ConfigError
from yaie.models.experts import experts_wait
from yaie.models.fused.choose import choose_operations
from yaie.models.loader import LoadedModel
from yaie.models.native.decoder import build_native_decoder, restore_native_decoder
from yaie.models.native.exactness import not_exact
from yaie.models.native.packed_weights import PackedWeights

log = logging.getLogger(__name__)


def choose_executor(
    loaded: LoadedModel,
    backend: AttentionBackendName = "auto",
    *,
    may_pack: bool = True,
    exact: bool = False,
    packed: PackedWeights | None = None,
    config: EngineConfig | None = None,
) -> Executor:
    """Allocate the pool and return the fastest executor of the model.

    With a kernel library, a decoder that it knows is packed for it, or restored from `packed`; of
    other models the linear layers are packed. Either frees the originals. On a GPU the layers of
    such a decoder are fused; with a `config`, the pool's size is measured and decode steps are
    captured.
    `may_pack=False` leaves the model to transformers as it is. With `exact`, logits are
    batch-invariant.

    Raises `ConfigError` if the backend cannot serve the device or the model, or `exact` cannot
    be kept; `NotEnoughMemory` if pool or steps do not fit;
    `DecoderDiffers` if the packed weights compute something else: the model is unusable then.
    """
    attention = _open_backend(loaded, backend, exact)
    kernels = attention.kernels
    layout = attention.pool_layout(loaded.device)

    def over_a_pool(model: LoadedModel) -> TransformersExecutor:
        return TransformersExecutor(model, attention, PoolMemory(model, kernels, layout))

    on_gpu = loaded.device.type == "cuda"
    if on_gpu and config is not None:
        loaded = size_pool(loaded, config, over_a_pool, CudaMeter(loaded.device))
    original = over_a_pool(loaded)
    if on_gpu:
        max_running = 0 if config is None else config.max_running
        _prepare_launches(original, may_fuse=may_pack, max_running=max_running)
    memory = original.memory
    if not may_pack or kernels is None:
        if exact:
            raise not_exact("transformers is asked to run it")
        return original
    if packed is not None:
        decoder = restore_native_decoder(loaded, packed, memory.pool, kernels, exact=exact)
        return NativeExecutor(loaded, decoder, memory)
    built = build_native_decoder(loaded, memory.pool, kernels, original.execute, exact=exact)
    if built is not None:
        return NativeExecutor(loaded, built, memory)
    original.pack_linears(kernels)
    return original


def _prepare_launches(executor: TransformersExecutor, *, may_fuse: bool, max_running: int) -> None:
    """Fuse the layers, then capture decode steps, as far as the model allows."""
    loaded = executor.loaded
    assert loaded.model is not None, "a packed model has no original"
    if may_fuse:
        executor.fuse(choose_operations(loaded.device))
    if not max_running:
        return
    capability = torch.cuda.get_device_capability(loaded.device)
    if experts_wait(loaded.model, loaded.dtype, capability):
        log.warning(
            "decode steps are not captured: torch computes experts in %s on this device one by "
            "one, and waits for it in each layer",
            loaded.metadata.dtype,
        )
        return
    executor.capture_decoding(make_queue(loaded.device), max_running)


def _open_backend(
    loaded: LoadedModel, wanted: AttentionBackendName, exact: bool
) -> AttentionBackend:
    """Return the backend that is ready for the model; of "auto", torch's if no other is."""

    def opened(name: AttentionBackendName) -> AttentionBackend:
        backend = choose_backend(loaded.device, name, exact=exact)
        backend.open_layers(loaded.specs, loaded.dtype, loaded.kv_dtype, loaded.device)
        return backend

    try:
        return opened(wanted)
    except ConfigError as error:
        if wanted != "auto" or exact:
            raise
        log.warning("torch computes attention, several times slower: %s", error.message)
        return opened("reference")
