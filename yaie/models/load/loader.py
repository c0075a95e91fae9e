"""Loader: checks a model, reads its weights, then probes its attention layers.

A model that its config, its weight headers or the free memory rules out is refused before weights
are read. A model whose packed weights are cached is described from its metadata alone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from yaie.base.errors import ConfigError, NotEnoughMemory
from yaie.base.setting_field import LARGEST_SIZE
from yaie.base.settings import EngineConfig
from yaie.device.available_memory import free_bytes
from yaie.kvcache.pool import bytes_per_token
from yaie.kvcache.state_pool import LayerStates
from yaie.models.architecture.layer_shapes import (
    check_layer_types,
    estimate_pool_shapes,
    pool_shapes,
    probe_layers,
    read_sizes,
)
from yaie.models.architecture.loaded_model import (
    LoadedModel,
    ModelMetadata,
    ModelSizes,
    name_of,
    torch_dtype,
)
from yaie.models.architecture.longrope import use_second_table
from yaie.models.architecture.mixer_hook import hook_mixers
from yaie.models.architecture.support import check_supported, count_recurrent, longrope_switch
from yaie.models.architecture.text_backbones import TIES
from yaie.models.architecture.text_weights import HEAD
from yaie.models.files.checkpoint import Checkpoint
from yaie.models.files.generation_defaults import read_default_sampling, read_eos_token_ids
from yaie.models.load.expert_tensors import ExpertSource, names_of
from yaie.models.load.folder import ModelFolder, open_folder
from yaie.models.load.hf_model import build_model, build_without_weights, read_hf_config
from yaie.models.load.memory_plan import MemoryPlan, fit_to_pool, format_size, plan_for
from yaie.models.load.packed_experts import experts_to_pack, pack_experts
from yaie.models.load.placement import (
    keeps_float8,
    packing_kernels,
    resolve_context_len,
    resolve_device,
    resolve_dtype,
    set_threads,
)
from yaie.models.load.recurrent_limits import (
    check_recurrent,
    count_states,
    most_state_bytes,
    spare_state_bytes,
)
from yaie.models.load.weight_sizes import (
    WeightFormat,
    estimate_dequantized,
    estimate_peak,
    estimate_weights,
    is_gpu,
)
from yaie.models.native.packed_cache import CacheEntry
from yaie.models.quantization.block_layout import BlockLayout, holds_experts, read_block_layout
from yaie.models.quantization.calibration import calibrate_model
from yaie.models.quantization.calibration_plan import plan_calibration
from yaie.models.quantization.calibration_text import CalibrationText, read_calibration
from yaie.models.quantization.checkpoint_layers import read_stored_layout
from yaie.models.quantization.device.packer import DevicePacker
from yaie.models.quantization.quantize import (
    RoundingEstimate,
    estimate_rounding,
    kind_of,
    quantize_model,
)
from yaie.models.quantization.quantized_layers import QuantizedLayout
from yaie.models.quantization.quantized_weights import count_parameters
from yaie.process.progress import report

log = logging.getLogger(__name__)

_LARGE_SHARE_LEFT = 0.1  # unquantized share above which to warn; routers and norms are less


@dataclass(frozen=True, slots=True)
class _Source:
    """A supported model folder, as we and transformers read it."""

    folder: ModelFolder
    architecture: str
    hf_config: Any
    settings: dict[str, Any]  # config with its class's defaults filled in
    layout: QuantizedLayout | None  # quantized checkpoints only
    text: CalibrationText | None  # to calibrate by

    @property
    def num_recurrent(self) -> int:
        """Number of recurrent layers."""
        return count_recurrent(self.architecture, getattr(self.hf_config, "layer_types", None))

    def layout_besides(self, target: WeightFormat) -> QuantizedLayout | None:
        """Return the layout without the experts that are packed as they are read."""
        return None if self.layout is None else self.layout.without(names_of(target.experts))


@dataclass(frozen=True, slots=True)
class _Budget:
    """A model's estimated sizes, and the memory that was free before it was built."""

    config: EngineConfig
    sizes: ModelSizes
    free: int
    weights: int
    dequantized: int
    target: WeightFormat
    num_recurrent: int  # layers

    def plan(
        self, kv_bytes_per_token: int, states: Sequence[LayerStates] | None = None
    ) -> MemoryPlan:
        """Return the memory plan; `states` once they are known. Raises `NotEnoughMemory`."""
        most = LARGEST_SIZE if states is None else most_state_bytes(self.config, states)
        return plan_for(
            self.config,
            self.sizes,
            free=self.free,
            weights=self.weights,
            kv_bytes_per_token=kv_bytes_per_token,
            context_len=self.target.context_len,
            device=self.target.device.type,
            dequantized=self.dequantized,
            most_state_bytes=most if self.num_recurrent else 0,
            spare_state_bytes=partial(spare_state_bytes, self.config, states or ()),
        )


def load_model(
    config: EngineConfig, *, may_pack: bool = True, experts: CacheEntry | None = None
) -> LoadedModel:
    """Load the model that the config names.

    `may_pack`: a kernel library, if there is one, will pack the weights afterwards.
    `experts`: the cache file of its packed experts.
    Raises `ModelNotFound`, `ModelUnsupported`, `NotEnoughMemory` or `ConfigError`: within seconds
    and, except for damaged weights, before weights are read.
    """
    set_threads(config.threads)
    source = _open(config, may_pack=may_pack)
    target = _choose_target(config, source, may_pack=may_pack)
    budget = _check_memory(config, source, target)
    model = _build(config, source, budget.target, experts)
    return _inspect(config, source, budget.target, budget, model)


def restore_model(config: EngineConfig, path: Path, metadata: ModelMetadata) -> LoadedModel:
    """Describe a model whose packed weights are cached, and plan its memory.

    Raises `NotEnoughMemory` or `ConfigError`.
    """
    set_threads(config.threads)
    device = torch.device("cpu")
    if metadata.states:
        check_recurrent(metadata.architecture, config, device)
    plan = plan_for(
        config,
        metadata.sizes,
        free=min(free_bytes(device), config.memory_bytes or LARGEST_SIZE),
        weights=metadata.planned_weight_bytes,
        kv_bytes_per_token=metadata.kv_bytes_per_token,
        context_len=metadata.context_len,
        device=device.type,
        most_state_bytes=most_state_bytes(config, metadata.states),
        spare_state_bytes=partial(spare_state_bytes, config, metadata.states),
    )
    log.info("loading %s (%s, packed before): %s", path, metadata.architecture, plan)
    return LoadedModel(
        model=None,
        path=path,
        metadata=metadata,
        device=device,
        max_model_len=fit_to_pool(config, metadata.context_len, plan),
        num_slots=plan.num_slots,
        memory_bytes=plan.nbytes,
        num_states=count_states(config, metadata.states, plan.states),
    )


def _open(config: EngineConfig, *, may_pack: bool) -> _Source:
    folder = open_folder(config.source)
    device = resolve_device(config.device)
    layout = read_stored_layout(
        folder.config,
        folder.checkpoint,
        on_gpu=is_gpu(device),
        keeps_float8=may_pack and keeps_float8(config, device),
    )
    hf_config = read_hf_config(folder.path, folder.wrapper)
    if folder.lacks_its_head and not hf_config.tie_word_embeddings:
        # The text config decides if the wrapper's is silent.
        if not folder.config.get(TIES) and not folder.classifies:
            log.warning(
                "%s has no %sweight, so the head is tied to the embedding; config.json says %s: "
                "false",
                *(folder.path, HEAD, TIES),
            )
        hf_config.tie_word_embeddings = True
    settings = hf_config.to_dict()
    architecture = check_supported(settings).architecture
    if folder.wrapper is not None:
        log.info(
            "%s is served for text only, by %s; its weights for images or audio are not read",
            *(folder.wrapper.architecture, architecture),
        )
    stays_quantized = layout is not None and not layout.is_widened
    if config.calibrate is not None and config.is_calibrated and stays_quantized:
        raise ConfigError(
            "calibrate is set, but the checkpoint is quantized already; omit --calibrate",
            param="calibrate",
        )
    text = None
    if config.is_calibrated and not stays_quantized:
        text = read_calibration(config.calibrate, folder.path)
    source = _Source(folder, architecture, hf_config, settings, layout, text)
    if source.num_recurrent:
        check_recurrent(architecture, config, device)
    return source


def _choose_target(config: EngineConfig, source: _Source, *, may_pack: bool) -> WeightFormat:
    device = resolve_device(config.device)
    dtype = resolve_dtype(config.dtype, source.folder.checkpoint, source.layout, device)
    context_len = resolve_context_len(config, source.settings)
    quantized: QuantizedLayout | RoundingEstimate | BlockLayout | None = source.layout
    calibration = None
    is_plain = source.layout is None or source.layout.is_widened
    kernels = packing_kernels(config, device, dtype) if may_pack else None
    experts: tuple[ExpertSource, ...] = ()
    rounds = config.quantization is not None
    checkpoint = source.folder.checkpoint
    if checkpoint.gguf is None:
        has_experts = source.layout is not None and source.layout.has_experts
    else:
        has_experts = config.dtype == "auto" and holds_experts(checkpoint)
    if (is_plain and rounds) or (has_experts and kernels is not None):
        model = build_without_weights(source.architecture, source.hf_config)
        if kernels is not None:
            experts = experts_to_pack(
                model, source.architecture, source.folder, source.layout, rounds=rounds
            )
        if is_plain and config.quantization is not None:
            quantized = _estimate_rounding(config.quantization, model, experts)
        elif source.layout is not None:
            quantized = source.layout.without(names_of(experts))
        # Experts, most of a mixture, are rounded to nearest; the rest is not worth minutes.
        if source.text is not None and not (experts and source.text.is_default):
            calibration = plan_calibration(model, source.text, context_len, dtype.itemsize)
    if config.quantization is None and checkpoint.gguf is not None:
        quantized = _choose_blocks(config, checkpoint, experts, can_pack=kernels is not None)
    return WeightFormat(
        device=device,
        dtype=dtype,
        kv_dtype=dtype if config.kv_dtype == "auto" else torch_dtype(config.kv_dtype),
        context_len=context_len,
        quantized=quantized,
        is_packed=quantized is not None and kernels is not None,
        calibration=calibration,
        experts=experts,
        expert_kind=config.quantization,
    )


def _choose_blocks(
    config: EngineConfig,
    checkpoint: Checkpoint,
    experts: Sequence[ExpertSource],
    *,
    can_pack: bool,
) -> BlockLayout | None:
    """Return the layout in which a GGUF file's layers stay; None: all are decoded to a dtype."""
    blocks = read_block_layout(checkpoint, names_of(experts))
    if blocks is None or (can_pack and config.dtype != "auto"):
        return None
    if not can_pack:
        log.info("the file's blocks are decoded: the kernel library does not run the model")
        return None
    if blocks.requantized:
        counts = ", ".join(f"{count} in {kind}" for kind, count in blocks.requantized.items())
        log.info("tensors without a kernel for their kind are held in Q8_0: %s", counts)
    return blocks


def _check_memory(config: EngineConfig, source: _Source, target: WeightFormat) -> _Budget:
    """Estimate the model's sizes, and refuse a model that does not fit."""
    checkpoint = source.folder.checkpoint
    budget = _Budget(
        config=config,
        sizes=read_sizes(source.hf_config),
        free=min(free_bytes(target.device), config.memory_bytes or LARGEST_SIZE),
        weights=estimate_weights(checkpoint, target),
        dequantized=estimate_dequantized(target),
        target=target,
        num_recurrent=source.num_recurrent,
    )
    per_token = bytes_per_token(estimate_pool_shapes(source.hf_config), target.kv_dtype)
    try:
        plan = budget.plan(per_token)
    except NotEnoughMemory as error:
        raise _with_stored_size(error, source, target) from None
    fit_to_pool(config, target.context_len, plan)
    peak = estimate_peak(checkpoint, source.layout_besides(target), target)
    calibration = target.calibration
    if peak > plan.free and calibration is not None and calibration.is_default:
        log.warning("int4 is not calibrated: that would take %s", format_size(calibration.nbytes))
        budget = replace(budget, target=replace(target, calibration=None))
        peak = estimate_peak(checkpoint, source.layout_besides(budget.target), budget.target)
    if peak > plan.free:
        does_not_fit = NotEnoughMemory(
            "the model does not fit: loading its weights takes "
            f"{format_size(peak)} of {format_size(plan.free)} free on {plan.device}; "
            "use a smaller model or free some memory"
        )
        raise _with_stored_size(does_not_fit, source, target)
    log.info(
        "loading %s (%s, %s, KV %s): %s",
        *(source.folder.path, source.folder.architecture, target.dtype, target.kv_dtype, plan),
    )
    return budget


def _with_stored_size(
    error: NotEnoughMemory, source: _Source, target: WeightFormat
) -> NotEnoughMemory:
    """Add the file size to the memory error of a model that is widened at load."""
    layout = source.layout_besides(target)
    if layout is None or not layout.layers or not layout.is_widened:
        return error
    stored = format_size(source.folder.checkpoint.nbytes)
    return NotEnoughMemory(
        f"{error.message}. Its files take {stored}: no kernel computes in "
        f"{layout.stored_kind}, so these weights are widened",
        param=error.param,
    )


def _build(
    config: EngineConfig, source: _Source, target: WeightFormat, experts: CacheEntry | None
) -> torch.nn.Module:
    """Read the weights, quantize them if the settings ask for it, and move them to the device."""
    model = build_model(
        source.architecture,
        source.folder,
        source.hf_config,
        target.dtype,
        source.layout_besides(target),
        experts=target.experts,
        keeps_blocks=isinstance(target.quantized, BlockLayout),
    )
    if target.experts:
        kernels = packing_kernels(config, target.device, target.dtype)
        assert kernels is not None
        pack_experts(model, target.experts, config.quantization, kernels, experts)
    switch = longrope_switch(source.settings)
    if switch is not None and target.context_len > switch:
        use_second_table(model, switch)
    if target.calibration is not None:
        calibrate_model(model, target.calibration)
    finish = None
    if target.is_on_gpu:
        finish = DevicePacker(target.device, target.dtype)
        finish.pack_model(model)
    if config.quantization is not None:
        quantize_model(model, config.quantization, target.device, finish=finish)
    if target.is_on_gpu:
        report("moving weights to the device")
    return model.to(target.device)


def _inspect(
    config: EngineConfig,
    source: _Source,
    target: WeightFormat,
    budget: _Budget,
    model: torch.nn.Module,
) -> LoadedModel:
    """Probe the built model, plan its memory by what it stores, and describe it."""
    if budget.num_recurrent:
        hook_mixers(model, budget.num_recurrent)
    specs, states = probe_layers(model, target.device)
    check_layer_types(specs, getattr(source.hf_config, "layer_types", None))
    kv_bytes_per_token = bytes_per_token(pool_shapes(specs), target.kv_dtype)
    plan = budget.plan(kv_bytes_per_token, states)
    num_states = count_states(config, states, plan.states)
    if num_states:
        log.info("%d states of %d recurrent layers: %s", num_states, len(states), plan)
    weight_bytes, num_parameters = count_parameters(model, packed=target.is_packed)
    path = source.folder.path
    metadata = ModelMetadata(
        architecture=source.folder.architecture,
        dtype=name_of(target.dtype),
        kv_dtype=name_of(target.kv_dtype),
        quantization=kind_of(model),
        sizes=budget.sizes,
        specs=specs,
        context_len=target.context_len,
        kv_bytes_per_token=kv_bytes_per_token,
        planned_weight_bytes=budget.weights,
        weight_bytes=weight_bytes,
        num_parameters=num_parameters,
        eos_token_ids=read_eos_token_ids(
            path,
            source.folder.config,
            budget.sizes.vocab,
            default=source.settings.get("eos_token_id"),
        ),
        default_sampling=read_default_sampling(path),
        states=states,
    )
    return LoadedModel(
        model=model,
        path=path,
        metadata=metadata,
        device=target.device,
        max_model_len=fit_to_pool(config, target.context_len, plan),
        num_slots=plan.num_slots,
        memory_bytes=plan.nbytes,
        num_states=num_states,
    )


def _estimate_rounding(
    kind: str, model: torch.nn.Module, experts: Sequence[ExpertSource]
) -> RoundingEstimate:
    """Estimate what `--quantization` makes of a plain checkpoint; warn if most of it stays."""
    rounding = estimate_rounding(model, kind, {each.name: each.num_weights for each in experts})
    if rounding.share_left > _LARGE_SHARE_LEFT:
        log.warning(
            "--quantization %s leaves %.0f %% of the weights unquantized (the embedding not "
            "counted): it quantizes plain linear layers, and experts that the kernel library "
            "computes",
            kind,
            100 * rounding.share_left,
        )
    return rounding
