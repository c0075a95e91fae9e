"""Executor choice: selects the executor and sampler for a loaded model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from yaie.attention.backend import AttentionBackend
from yaie.attention.registry import choose_backend, names_after
from yaie.base.errors import ConfigError, YaieError
from yaie.base.settings import AttentionBackendName, EngineConfig
from yaie.device.queue import make_queue
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.memory import PoolMemory
from yaie.engine.execution.memory_profile import CudaMeter, size_pool
from yaie.engine.execution.native_executor import NativeExecutor
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling.device.device_sampler import DeviceSampler
from yaie.engine.scheduled_step import SampledToken, SampleTask
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.moe import experts_wait
from yaie.models.fused.adapter_pools import count_pages
from yaie.models.fused.fused_decoder import FusedDecoder, build_fused_decoder
from yaie.models.fused.plain import choose_operations
from yaie.models.native.batch_invariance_check import not_exact
from yaie.models.native.native_decoder import (
    NativeDecoder,
    build_native_decoder,
    restore_native_decoder,
)
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
    """Allocate the pool and return the model's fastest executor.

    With a kernel library, a decoder that it knows is packed for it, or restored from `packed`; for
    other models the linear layers are packed. Either frees the originals. On a GPU the layers of a
    recognised decoder are fused; with a `config`, the pool's size is measured and decode steps are
    captured. `may_pack=False` leaves the model to transformers as it is. With `exact`, logits are
    batch-invariant.

    Raises `ConfigError` if the backend cannot serve the device or the model, or cannot compute
    batch-invariantly with `exact`; `NotEnoughMemory` if pool or steps do not fit; `DecoderDiffers`
    if the packed weights compute something else: the model is unusable then.
    """
    adapts = config is not None and bool(config.lora)
    attention = _open_backend(loaded, backend, exact)
    kernels = attention.kernels
    layout = attention.pool_layout(loaded.device)

    def over_a_pool(model: LoadedModel) -> TransformersExecutor:
        return TransformersExecutor(model, attention, PoolMemory(model, kernels, layout))

    if loaded.device.type == "cuda":
        original = _executor_for_a_gpu(loaded, over_a_pool, may_fuse=may_pack, config=config)
    else:
        original = over_a_pool(loaded)
    memory = original.memory
    if adapts and exact:
        raise not_exact("its rows may have adapters")
    if not may_pack or kernels is None:
        if exact:
            raise not_exact("transformers is asked to run it")
        if kernels is None and loaded.device.type == "cpu":
            original.slower_because = "the kernel library does not compute its attention"
        if adapts or loaded.device.type == "cpu":
            original.accept_adapters()
        return original
    if packed is not None:
        decoder = restore_native_decoder(
            loaded, packed, memory.pool, kernels, exact=exact, states=memory.states
        )
        return NativeExecutor(loaded, decoder, memory)
    built = build_native_decoder(
        loaded,
        memory.pool,
        kernels,
        original.execute,
        exact=exact,
        states=memory.states,
        lora=config.lora if config is not None else "",
    )
    if isinstance(built, NativeDecoder):
        return NativeExecutor(loaded, built, memory)
    original.slower_because = built
    original.pack_linears(kernels)
    original.accept_adapters()
    return original


def _executor_for_a_gpu(
    loaded: LoadedModel,
    over_a_pool: Callable[[LoadedModel], TransformersExecutor],
    *,
    may_fuse: bool,
    config: EngineConfig | None,
) -> TransformersExecutor:
    """Return an executor with fused layers, a measured pool and captured steps, where it can be."""
    device, model = loaded.device, loaded.model
    assert model is not None, "a packed model has no original"
    fused: FusedDecoder | None = None
    pages = count_pages(config.lora, config.max_loras) if config is not None and config.lora else 0
    if may_fuse:
        fused = build_fused_decoder(loaded, choose_operations(device), adapter_pages=pages)
    pools = fused.adapters if fused is not None else None
    if config is not None:
        in_pools = pools.nbytes if pools is not None else 0
        loaded = size_pool(loaded, config, over_a_pool, CudaMeter(device), in_pools)
    executor = over_a_pool(loaded)
    if fused is not None:
        executor.fuse(fused)
    if config is None:
        return executor
    if experts_wait(model, loaded.dtype, torch.cuda.get_device_capability(device)):
        log.warning(
            "decode steps are not captured: torch computes experts in %s on this device one by "
            "one, and waits for it in each layer",
            loaded.metadata.dtype,
        )
    else:
        executor.capture_decoding(make_queue(device), config.max_running)
    return executor


def _open_backend(
    loaded: LoadedModel, wanted: AttentionBackendName, exact: bool
) -> AttentionBackend:
    """Return the backend that is ready for the model; for "auto", the first that can compute it."""

    def open_layers(backend: AttentionBackend) -> AttentionBackend:
        backend.open_layers(loaded.specs, loaded.dtype, loaded.kv_dtype, loaded.device)
        return backend

    first = choose_backend(loaded.device, wanted, exact=exact)
    try:
        return open_layers(first)
    except ConfigError as error:
        if wanted != "auto" or exact:
            raise
        reason = error
    for name in names_after(first, loaded.device):
        try:
            backend = open_layers(choose_backend(loaded.device, name))
        except ConfigError as error:
            reason = error
            continue
        slower = ", several times slower" if name == "reference" else ""
        log.warning("%s computes attention%s: %s", name, slower, reason.message)
        return backend
    raise reason


class TokenSampler(Protocol):
    """One model's sampler. A seed gives the same tokens with every sampler."""

    @property
    def truncation_kernel(self) -> str | None:
        """The device truncation's name, as in `EngineInfo.truncation_kernel`."""

    @property
    def num_late_captures(self) -> int:
        """Programs captured after `prepare`."""

    def prepare(self) -> None:
        """Capture what most requests need, before any caller waits; elsewhere do nothing."""

    def sample(self, logits: Tensor, tasks: Sequence[SampleTask]) -> list[SampledToken | YaieError]:
        """Return one result per task, in order, from `logits` [rows, vocab] on the device.

        States are left as they are: the core lets them `observe` the tokens that it accepts. A
        non-finite row or a faulty state gives an error instead of its tokens; other rows keep
        theirs.

        Raises `InvariantViolated` if `logits` have the wrong shape.
        """


def choose_sampler(executor: Executor, *, max_tasks: int, exact: bool) -> TokenSampler:
    """Return the sampler for an executor's device; it samples `max_tasks` tokens at once."""
    loaded = executor.loaded
    if loaded.device.type == "cpu":
        return CpuSampler(loaded.vocab_size, exact=exact, kernels=executor.kernels)
    return DeviceSampler(loaded.vocab_size, make_queue(loaded.device), max_tasks=max_tasks)
