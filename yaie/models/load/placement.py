"""Placement: a model's device, kernels, dtype, context and threads, by settings and files.

Called by the loader.
"""

from __future__ import annotations

import logging
from typing import Any

import torch

from yaie.attention.registry import choose_backend
from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig
from yaie.kernels.instruction_sets import WITH_BF16
from yaie.kernels.library import Library
from yaie.models.architecture.loaded_model import torch_dtype
from yaie.models.architecture.support import longest_context, longrope_switch
from yaie.models.files.checkpoint import Checkpoint
from yaie.models.native.packing import KINDS
from yaie.models.quantization.quantized_layers import QuantizedLayout
from yaie.process import limits

log = logging.getLogger(__name__)

_CONTEXT_WITHOUT_LIMIT = 8192  # for a model whose config names no limit


def resolve_device(wanted: str) -> torch.device:
    """Return the device that the settings name. Raises `ConfigError` without a CUDA device."""
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


def resolve_dtype(
    wanted: str, checkpoint: Checkpoint, layout: QuantizedLayout | None, device: torch.device
) -> torch.dtype:
    """Return the dtype to compute in; "auto" is the dtype of most plain weights."""
    name = checkpoint.dtype if wanted == "auto" else wanted
    if layout is not None and wanted == "auto" and name == "float16" and device.type == "cpu":
        # GPTQ and AWQ write float16, for which no CPU kernel exists; quantized weights stay.
        log.info("plain weights of the quantized float16 checkpoint are converted to bfloat16")
        name = "bfloat16"
    return torch_dtype(name)


def resolve_context_len(config: EngineConfig, settings: dict[str, Any]) -> int:
    """Return the context in tokens. Raises `ConfigError` if the settings ask for more.

    LongRoPE's context selects its table: by the settings alone, so free memory changes no answer.
    """
    limit, switch = longest_context(settings), longrope_switch(settings)
    wanted = config.max_model_len
    if wanted is None and switch is not None and limit is not None and switch < limit:
        log.info(
            "the second LongRoPE table serves all prompts, for a context of %d tokens; "
            "--max-model-len %d uses the first table, made for short prompts",
            limit,
            switch,
        )
    if wanted is None:
        return _CONTEXT_WITHOUT_LIMIT if limit is None else limit
    if limit is None or wanted <= limit:
        return wanted
    raise ConfigError(
        f"max_model_len is {wanted}, but the model's context length is {limit} tokens; lower "
        f"max_model_len",
        param="max_model_len",
    )


def keeps_float8(config: EngineConfig, device: torch.device) -> bool:
    """Return True if a CPU computes in fp8: a processor with bf16 products uses these instead."""
    if config.quantization is not None or config.dtype == "float16":
        return False
    kernels = choose_backend(device, config.attention_backend, exact=config.exact).kernels
    return kernels is not None and kernels.instruction_set not in WITH_BF16


def packing_kernels(
    config: EngineConfig, device: torch.device, dtype: torch.dtype
) -> Library | None:
    """Return the kernel library that will pack the weights, if one will."""
    backend = choose_backend(device, config.attention_backend, exact=config.exact)
    return backend.kernels if dtype in KINDS else None


def set_threads(wanted: int | None) -> None:
    """Set torch's threads; None takes all processors that the cgroups allow.

    torch counts the processors in this process's affinity mask and ignores a container's CPU quota.
    The kernel would throttle threads over the quota in mid-step, and all threads would wait.
    """
    if wanted is None:
        allowed = limits.read_cpu_quota()
        wanted = min(torch.get_num_threads(), allowed or torch.get_num_threads())
    if wanted != torch.get_num_threads():
        torch.set_num_threads(wanted)
