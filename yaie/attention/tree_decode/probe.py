"""A first launch of the kernels before they serve: a compiler may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from yaie.attention.backend import AttentionBackend
from yaie.attention.plan import one_row_plan
from yaie.attention.spec import AttentionSpec
from yaie.errors import ConfigError
from yaie.kvcache.pool import KVPool, LayerShape

_TOLERANCE = 0.02  # of an int8 pool, and more


def probe_layers(
    backend: AttentionBackend,
    specs: Sequence[AttentionSpec],
    dtype: torch.dtype,
    kv_dtype: torch.dtype,
    device: torch.device,
) -> None:
    """Compute one row over one value of ones in a layer of each shape; that gives ones.

    backend: a `TritonBackend` that no step has used. Raises `ConfigError` if it gives others, or
    fails.
    """
    reason = None
    try:
        for spec in dict.fromkeys(replace(each, layer=0, kv_layer=None) for each in specs):
            found = _first_output(backend, spec, dtype, kv_dtype, device)
            if not bool((found.float() - 1).abs().max() < _TOLERANCE):
                reason = f"they compute wrong values for heads of {spec.value_width}"
    except Exception as error:  # Triton's: no compiler, an unknown device
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
    if reason is not None:
        raise ConfigError(
            f"the Triton kernels do not run on this device ({reason}); install a C compiler if it "
            "is missing, or use attention_backend='reference'",
            param="attention_backend",
        )


def _first_output(
    backend: AttentionBackend,
    spec: AttentionSpec,
    dtype: torch.dtype,
    kv_dtype: torch.dtype,
    device: torch.device,
) -> torch.Tensor:
    shape = LayerShape(spec.num_kv_heads, spec.key_width, spec.value_width)
    pool = KVPool([shape], 1, kv_dtype, device, layout="NHD")
    keys, values = pool.keys(0), pool.values(0)
    step = backend.prepare(one_row_plan(0), device)
    ones: dict[str, Any] = {"dtype": dtype, "device": device}
    step.write(
        keys,
        values,
        torch.ones((1, spec.num_kv_heads, spec.key_width), **ones),
        torch.ones((1, spec.num_kv_heads, spec.value_width), **ones),
    )
    queries = torch.ones((1, spec.num_heads, spec.key_width), **ones)
    output: torch.Tensor = step.attend(spec, queries, keys, values, None)
    return output.cpu()
