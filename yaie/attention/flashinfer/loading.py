"""FlashInfer module loading: compiles or finds a model's kernels before the first request."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

import numpy as np
import torch

from yaie.attention.flashinfer.cascade import Groups
from yaie.attention.flashinfer.wrappers import LayerKind, PlannedWrapper, Role
from yaie.base.errors import ConfigError
from yaie.device.gpu_packages import MEANWHILE
from yaie.kvcache.int8_rows import FLOAT8_DTYPES

log = logging.getLogger(__name__)

DTYPES = (torch.bfloat16, torch.float16)
WIDTHS = (64, 128, 256)
_WORTH_A_LINE_S = 5.0


def check_kind(kind: LayerKind) -> None:
    """Raise `ConfigError` if FlashInfer has no kernel for this layer type."""
    obstacle = _obstacle_to(kind)
    if obstacle is not None:
        raise ConfigError(
            f"FlashInfer cannot compute this model: {obstacle}; use --attention-backend reference",
            param="attention_backend",
        )


def _obstacle_to(kind: LayerKind) -> str | None:
    if kind.dtype not in DTYPES:
        return f"it supports bfloat16 and float16, and dtype is {_dtype_name(kind.dtype)}"
    if kind.kv_dtype not in (kind.dtype, *FLOAT8_DTYPES):
        return (
            f"with dtype {_dtype_name(kind.dtype)} it reads no pool of {_dtype_name(kind.kv_dtype)}"
        )
    if kind.key_width != kind.value_width or kind.key_width not in WIDTHS:
        return (
            f"its key heads are {kind.key_width} wide and its value heads {kind.value_width}; "
            f"supported widths are 64, 128 and 256"
        )
    return None


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def load_modules(
    kinds: Iterable[LayerKind], wrapper: Callable[[Role, LayerKind], PlannedWrapper]
) -> None:
    """Plan one key for every call that a step can make, which builds and loads its module.

    Raises `ConfigError` if a module is neither there nor can be compiled.
    """
    one = Groups(
        query_indptr=np.array([0, 1], dtype=np.int32),
        key_indptr=np.array([0, 1], dtype=np.int32),
        slots=np.zeros(1, dtype=np.int32),
    )
    before = time.monotonic()
    for kind in kinds:
        try:
            for role in ("decode", "extend", "shared"):
                wrapper(role, kind).plan(one)
            if kind.sliding_window is not None:
                wrapper("extend", kind).plan(one, kind.sliding_window - 1)
        except Exception as error:  # from ninja, nvcc, the loader or FlashInfer
            reason = next((line for line in str(error).splitlines() if line.strip()), "")
            raise ConfigError(
                f"FlashInfer lacks a module for heads of {kind.key_width} in "
                f"{_dtype_name(kind.dtype)} and could not compile it "
                f"({type(error).__name__}: {reason[:200]}); install nvcc and set CUDA_HOME, "
                f"{MEANWHILE}",
                param="attention_backend",
            ) from error
    taken = time.monotonic() - before
    if taken > _WORTH_A_LINE_S:
        log.info("FlashInfer's modules were built or loaded in %.0f s", taken)
