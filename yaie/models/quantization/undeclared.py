"""Refusal of quantized tensors in a checkpoint whose config names no quantization. Torch-free."""

from __future__ import annotations

from collections.abc import Mapping

from yaie.base.errors import ModelUnsupported
from yaie.models.files.checkpoint import StoredTensor

_NUMBERS = ("F16", "BF16", "F32", "F64")
_WEIGHTS = ("weight", "weight_packed", "_proj")  # suffixes; experts lack ".weight"
_SCALES_OF_CACHE = ("k_scale", "v_scale", "kv_scale")  # unused: the KV pool has its own


def check_plain(tensor: StoredTensor, tensors: Mapping[str, StoredTensor]) -> None:
    """Refuse a quantized tensor that would be loaded as a plain weight, without its scales.

    Other integers, such as masks, pass.
    """
    is_fp8 = tensor.kind.startswith("F8")
    are_integers = tensor.kind not in _NUMBERS and tensor.name.endswith(_WEIGHTS)
    if is_fp8 or are_integers or _scales_weights(tensor.name, tensors):
        raise ModelUnsupported(
            f"{tensor.name} ({tensor.kind}) belongs to quantized weights, but config.json has no "
            f"quantization_config to read them by; download the folder again, or use a checkpoint "
            f"in bfloat16, float16 or float32",
            code="model_damaged",
        )


def _scales_weights(name: str, tensors: Mapping[str, StoredTensor]) -> bool:
    """Return whether a tensor's name means a scale of a weight in the same module."""
    module, _, part = name.rpartition(".")
    if part in _SCALES_OF_CACHE or not ("scale" in part or part == "SCB"):
        return False
    of_experts, found, _ = name.rpartition("_scale")
    return f"{module}.weight" in tensors or (bool(found) and of_experts in tensors)
