"""Layer policy: chooses the layers that stay quantized, on CPUs and GPUs. Torch-free."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

from yaie.models.architecture.quantization_config import LayerFormat
from yaie.models.quantization.float_formats import FloatWeights

_KEPT_FLOAT8 = "F8_E4M3"
INT4_GROUP_MULTIPLE = 4  # inputs per instruction of a CPU; other group sizes are dequantized

_IN_A_LAYER = re.compile(r"\.\d+\.|^\d+\.")
_HEAD = "lm_head"
# Projections of embeddings in Gemma 3n and 4.
_PROJECTION = re.compile(r"\.(per_layer_model_projection|altup_(unembed_)?projections\.\d+)$")
_OF_MIXTURE = re.compile(r"\.experts\.\d+\.|\.(gate|router)$")  # not linear layers in the model


def is_in_mixture(name: str) -> bool:
    """Return True for the name of an expert or a router."""
    return _OF_MIXTURE.search(name) is not None


def why_widened(
    name: str, found: LayerFormat, weights: FloatWeights, *, keeps_float8: bool
) -> str | None:
    """Return the reason to dequantize weights in floating point; None if kernels keep them."""
    if not keeps_float8 or weights.tensors["values"].kind != _KEPT_FLOAT8:
        return f"no kernel computes in {found.kind}"
    reasons: dict[str, Any] = {
        "outside of the decoder's layers": not _IN_A_LAYER.search(name),
        "experts and their routers": weights.num_matrices is not None or is_in_mixture(name),
    }
    return _first(reasons) or why_no_float_kernel(found, weights)


def why_no_float_kernel(found: LayerFormat, weights: FloatWeights) -> str | None:
    """Return the reason that a CPU's kernels do not compute with weights in floating point."""
    if found.layout == "mxfp4":
        return None
    values = weights.tensors["values"]
    if values.kind != _KEPT_FLOAT8:
        return f"no kernel computes in {found.kind}"
    return _first(
        {
            "stored transposed": values.is_transposed,
            "blocks of uneven size": weights.scales_of_row(found.block) is None,
        }
    )


def why_dequantized(
    name: str,
    found: LayerFormat,
    inputs: int,
    groups: int,
    of_input: array[int] | None,
    *,
    on_gpu: bool,
) -> str | None:
    """Return the reason to dequantize a layer; None if the kernels can keep it quantized."""
    reasons: dict[str, Any] = {
        "outside of the decoder's layers": not (
            _IN_A_LAYER.search(name)
            or _PROJECTION.search(name)
            or (name == _HEAD and _is_per_output(found, groups))
        ),
        "experts and their routers": is_in_mixture(name),
    }
    if on_gpu:
        reasons["groups of uneven size"] = of_input is not None and not _is_even(of_input, groups)
        return _first(reasons)
    return _first(reasons) or why_no_kernel(found, inputs, groups, of_input)


def why_no_kernel(
    found: LayerFormat, inputs: int, groups: int, of_input: array[int] | None
) -> str | None:
    """Return the reason that a CPU's kernels do not compute with weights in integers."""
    reasons = {
        "inputs ordered by activation, or groups of uneven size": of_input is not None,
        "8 bits in groups": found.bits == 8 and groups > 1,
        "8 bits with zero points": found.bits == 8 and not found.is_symmetric,
        f"groups that are no multiple of {INT4_GROUP_MULTIPLE} inputs": (
            found.bits == 4 and (inputs // groups) % INT4_GROUP_MULTIPLE != 0
        ),
    }
    return _first(reasons)


def _first(reasons: Mapping[str, Any]) -> str | None:
    """Return the first reason that applies."""
    return next((reason for reason, applies in reasons.items() if applies), None)


def _is_per_output(found: LayerFormat, groups: int) -> bool:
    """Return True for the format that `--quantization` gives the head; others lose more."""
    return found.bits == 8 and groups == 1 and found.is_symmetric


def _is_even(of_input: array[int], groups: int) -> bool:
    """Return True if all groups have the same number of inputs, in any order."""
    sizes = Counter(of_input)
    return len(sizes) == groups and len(set(sizes.values())) == 1
