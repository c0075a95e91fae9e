"""Loads a model: checks first, then weights, then a probe that learns its attention layers.

Called by the engine core. Everything that can be refused from the config, the headers of the
weight files and the free memory is refused before weights are read.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from yaie.attention.spec import AttentionSpec
from yaie.config import EngineConfig
from yaie.errors import ConfigError, ModelUnsupported, NotEnoughMemory
from yaie.models.attention_hook import IMPLEMENTATION
from yaie.models.checkpoint import Checkpoint, read_checkpoint, read_config
from yaie.models.generation import read_default_sampling, read_eos_token_ids
from yaie.models.geometry import (
    check_layer_types,
    estimate_kv_elements,
    layer_configs,
    probe_geometry,
)
from yaie.models.locate import resolve_model_path
from yaie.models.memory import MemoryPlan, activation_bytes, free_bytes, plan_memory
from yaie.models.support import (
    SupportedArchitecture,
    check_supported,
    has_longrope,
    longest_context,
)

log = logging.getLogger(__name__)

_CONTEXT_WITHOUT_LIMIT = 8192  # for a model whose config names no limit


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run, and everything that was decided while loading it."""

    model: torch.nn.Module  # the ...ForCausalLM
    hf_config: Any
    path: Path
    architecture: str
    specs: tuple[AttentionSpec, ...]  # one for each attention layer
    dtype: torch.dtype
    device: torch.device
    vocab_size: int
    max_model_len: int  # longest prompt plus completion, in tokens
    num_slots: int
    kv_bytes_per_token: int
    eos_token_ids: tuple[int, ...]
    weight_bytes: int
    num_parameters: int
    default_sampling: dict[str, float | int]  # what the model's authors recommend


def load_model(config: EngineConfig) -> LoadedModel:
    """Load the model that the config names.

    Raises `ModelNotFound`, `ModelUnsupported`, `NotEnoughMemory` or `ConfigError`; each within
    seconds, and all but damage in the weights themselves before weights are read.
    """
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    path = resolve_model_path(config.model)
    check_supported(read_config(path))
    checkpoint = read_checkpoint(path)
    hf_config = _read_hf_config(path)
    settings = hf_config.to_dict()  # unlike the file, with the class's defaults filled in
    entry = check_supported(settings)
    device = _resolve_device(config.device)
    dtype = _resolve_dtype(config.dtype, checkpoint)
    max_model_len = _resolve_max_model_len(config, settings)
    free = free_bytes(device)
    plan = _plan_memory(
        config,
        hf_config,
        free=free,
        weights=checkpoint.num_parameters * dtype.itemsize,
        kv_bytes_per_token=estimate_kv_elements(hf_config) * dtype.itemsize,
        max_model_len=max_model_len,
        device=device,
    )
    _fit_to_pool(config, max_model_len, plan)  # refuses before weights are read
    log.info("loading %s (%s, %s): %s", path, entry.architecture, dtype, plan)

    model = _build(entry, path, hf_config, dtype, device)
    specs = probe_geometry(model, device)
    check_layer_types(specs, getattr(hf_config, "layer_types", None))
    kv_bytes_per_token = sum(spec.elements_per_token for spec in specs) * dtype.itemsize
    if kv_bytes_per_token != plan.kv_bytes_per_token:
        plan = _plan_memory(
            config,
            hf_config,
            free=free,
            weights=plan.weights,
            kv_bytes_per_token=kv_bytes_per_token,
            max_model_len=max_model_len,
            device=device,
        )
    weight_bytes, num_parameters = _size(model)
    return LoadedModel(
        model=model,
        hf_config=hf_config,
        path=path,
        architecture=entry.architecture,
        specs=specs,
        dtype=dtype,
        device=device,
        vocab_size=hf_config.vocab_size,
        max_model_len=_fit_to_pool(config, max_model_len, plan),
        num_slots=plan.num_slots,
        kv_bytes_per_token=kv_bytes_per_token,
        eos_token_ids=read_eos_token_ids(path, settings),
        weight_bytes=weight_bytes,
        num_parameters=num_parameters,
        default_sampling=read_default_sampling(path),
    )


def _read_hf_config(path: Path) -> Any:
    try:
        return transformers.AutoConfig.from_pretrained(
            path, trust_remote_code=False, local_files_only=True
        )
    except Exception as error:  # transformers validates configs with errors of many types
        raise ModelUnsupported(
            f"transformers cannot read {path / 'config.json'}: {_first_line(error)}",
            code="model_damaged",
        ) from error


def _resolve_device(wanted: str) -> torch.device:
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise ConfigError(
            "device is cuda, but torch sees no CUDA device; use --device cpu, or install a CUDA "
            "build of torch and a driver",
            param="device",
        )
    if wanted == "cpu" or not available:
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


def _resolve_dtype(wanted: str, checkpoint: Checkpoint) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, checkpoint.dtype if wanted == "auto" else wanted)
    return dtype


def _resolve_max_model_len(config: EngineConfig, settings: dict[str, Any]) -> int:
    limit = longest_context(settings)
    wanted = config.max_model_len
    if wanted is None:
        return _CONTEXT_WITHOUT_LIMIT if limit is None else limit
    if limit is None or wanted <= limit:
        return wanted
    if has_longrope(settings):
        raise ModelUnsupported(
            f"max_model_len is {wanted}, but beyond {limit} tokens this model switches to its "
            f"second LongRoPE table, for every request of a batch at once; use at most {limit}",
            param="max_model_len",
        )
    raise ConfigError(
        f"max_model_len is {wanted}, but the model was made for {limit} tokens; use at most that",
        param="max_model_len",
    )


def _plan_memory(
    config: EngineConfig,
    hf_config: Any,
    *,
    free: int,
    weights: int,
    kv_bytes_per_token: int,
    max_model_len: int,
    device: torch.device,
) -> MemoryPlan:
    hidden = hf_config.hidden_size
    activations = activation_bytes(
        max_step_rows=config.max_step_rows,
        hidden_width=hidden,
        inner_width=max(
            getattr(layer, "intermediate_size", None) or 4 * hidden
            for layer in layer_configs(hf_config)
        ),
        vocab_size=hf_config.vocab_size,
        max_logit_rows=min(config.max_running, config.max_step_rows),
    )
    return plan_memory(
        free=free,
        weights=weights,
        activations=activations,
        kv_bytes_per_token=kv_bytes_per_token,
        max_model_len=max_model_len,
        num_slots=config.num_slots,
        device=device.type,
    )


def _fit_to_pool(config: EngineConfig, max_model_len: int, plan: MemoryPlan) -> int:
    """A sequence can never be longer than the pool."""
    if max_model_len <= plan.num_slots:
        return max_model_len
    if config.max_model_len is None:
        log.info("max_model_len is %d, as the pool holds no more", plan.num_slots)
        return plan.num_slots
    if config.num_slots is not None:
        raise ConfigError(
            f"max_model_len is {max_model_len}, but num_slots is {plan.num_slots}; raise "
            f"num_slots or lower max_model_len",
            param="max_model_len",
        )
    raise NotEnoughMemory(
        f"a sequence of max_model_len {max_model_len} does not fit: {plan}; use at most "
        f"--max-model-len {plan.num_slots}",
        param="max_model_len",
    )


def _build(
    entry: SupportedArchitecture,
    path: Path,
    hf_config: Any,
    dtype: torch.dtype,
    device: torch.device,
) -> torch.nn.Module:
    model_class = getattr(transformers, entry.architecture)
    if not getattr(model_class, "_supports_attention_backend", False):
        raise ModelUnsupported(
            f"{entry.architecture} of the installed transformers {transformers.__version__} does "
            f"not use its attention interface"
        )
    transformers.utils.logging.disable_progress_bar()
    # What it remarks on (generation flags, say) is not what runs here; errors still come as such.
    transformers.utils.logging.set_verbosity_error()
    try:
        model, report = model_class.from_pretrained(
            path,
            config=hf_config,
            dtype=dtype,
            attn_implementation=IMPLEMENTATION,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:  # shapes, names, conversions: errors of many types
        raise ModelUnsupported(
            f"the weights in {path} do not fit {entry.architecture}: {_first_line(error)}",
            code="model_damaged",
        ) from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelUnsupported(
            f"the weights in {path} lack {len(missing)} tensors of {entry.architecture}, such as "
            f"{missing[0]}",
            code="model_damaged",
        )
    if report["unexpected_keys"]:
        unused = sorted(report["unexpected_keys"])
        log.warning("%d tensors of %s are not used, such as %s", len(unused), path, unused[0])
    _check_finite(model, path)
    return model.to(device).eval().requires_grad_(False)  # type: ignore[no-any-return]


def _check_finite(model: torch.nn.Module, path: Path) -> None:
    for name, parameter in model.named_parameters():
        # A sum is finite unless an element is not (or 1e38 is reached, which no model survives).
        if not bool(torch.isfinite(parameter.detach().sum(dtype=torch.float32))):
            raise ModelUnsupported(
                f"the weights in {path} are damaged: {name} holds numbers that are not finite; "
                f"download the folder again",
                code="model_damaged",
            )


def _size(model: torch.nn.Module) -> tuple[int, int]:
    """Bytes and number of the parameters; tied ones count once."""
    unique = {parameter.data_ptr(): parameter for parameter in model.parameters()}
    nbytes = sum(parameter.nbytes for parameter in unique.values())
    return nbytes, sum(parameter.numel() for parameter in unique.values())


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip()[:200] if lines else type(error).__name__
