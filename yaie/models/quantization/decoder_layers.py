"""The decoder layers of a model, and their linear layers that int4 rounds to 4 bits."""

from __future__ import annotations

from typing import Any

from torch import nn

from yaie.models.quantization.quantize import is_calibrated


def decoder_layers(model: Any) -> dict[str, nn.Module] | None:
    """Return the decoder's layers by name, in order; None for a model without a list of them."""
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == model.config.num_hidden_layers:
            return {f"{name}.{index}": layer for index, layer in enumerate(module)}
    return None


def rounded_linears(name: str, layer: nn.Module) -> dict[str, nn.Linear]:
    """Return the linear layers that int4 rounds to 4 bits, by their name in the model."""
    named = ((f"{name}.{inner}", module) for inner, module in layer.named_modules())
    return {
        each: module
        for each, module in named
        if isinstance(module, nn.Linear) and is_calibrated(each, module)
    }
