"""Linear layers with one input, merged into one matrix product.

The originals become views of the merged weights, so that both forms run and the weights exist once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from yaie.models.quantization.device.linear import DeviceLinear, merge_packed
from yaie.models.quantization.quantized_weights import QuantizedLinear

LinearMap = Callable[[torch.Tensor], torch.Tensor]  # [rows, inputs] to [rows, outputs]


def merge(modules: Sequence[nn.Linear | QuantizedLinear]) -> LinearMap:
    """Return a map to the concatenated outputs of the modules.

    Plain layers become one, as do neighbours that are packed for a device in one format; of other
    quantized layers each is computed by itself.
    """
    if len(modules) == 1:
        return modules[0]
    packed = [module for module in modules if isinstance(module, DeviceLinear)]
    if len(packed) == len(modules):
        return merge_packed(packed)
    plain = [module for module in modules if isinstance(module, nn.Linear)]
    if len(plain) < len(modules):
        return lambda rows: torch.cat([module(rows) for module in modules], -1)
    return _merged(plain)


def _merged(modules: Sequence[nn.Linear]) -> LinearMap:
    with torch.inference_mode(False), torch.no_grad():
        weight = torch.cat([module.weight.detach() for module in modules])
        sizes = [module.out_features for module in modules]
        for module, part in zip(modules, torch.split(weight, sizes), strict=True):
            module.weight.data = part
        bias = None
        if any(module.bias is not None for module in modules):
            bias = torch.cat([_bias_of(module) for module in modules])
        if weight.is_cuda:
            torch.cuda.empty_cache()  # the originals' blocks fit no later layer
    return lambda rows: nn.functional.linear(rows, weight, bias)


def _bias_of(module: nn.Linear) -> torch.Tensor:
    if module.bias is None:
        return module.weight.new_zeros(module.out_features)
    return module.bias.detach()
