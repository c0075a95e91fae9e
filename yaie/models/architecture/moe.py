"""Mixture of experts: a model's modules of experts, and how transformers computes them on a GPU.

Its default there is one grouped product over all experts. torch has a kernel for that in bfloat16
on some devices. Elsewhere it copies the group sizes to the host and multiplies group by group.
"""

from __future__ import annotations

import torch

_IMPLEMENTATION = "grouped_mm"
_MAJORS = (9, 10)  # compute capabilities with torch's grouped kernel


def experts_of(model: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """Return a model's modules of experts by name."""
    return {name: module for name, module in model.named_modules() if is_experts(module)}


def has_experts(model: torch.nn.Module) -> bool:
    """Return True if a model's layers have experts."""
    return bool(experts_of(model))


def experts_wait(model: torch.nn.Module, dtype: torch.dtype, capability: tuple[int, int]) -> bool:
    """Return True if a forward waits for the device in its experts, and cannot be captured."""
    if not has_experts(model):
        return False
    implementation = getattr(model.config, "_experts_implementation", None)
    is_grouped = implementation == _IMPLEMENTATION and dtype is torch.bfloat16
    return not (is_grouped and capability[0] in _MAJORS)


def is_experts(module: torch.nn.Module) -> bool:
    """Return True if transformers' experts interface has set its attributes on the module."""
    return hasattr(module, "is_transposed") and hasattr(module, "has_gate")
