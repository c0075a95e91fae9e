"""Device linear layers: their quantized weights stay packed in device memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import nn

from yaie.models.quantization.device.device_weights import DeviceWeight, join, pack
from yaie.models.quantization.device.products import Products, choose_products
from yaie.models.quantization.quantized_weights import (
    QuantizedLinear,
    QuantizedWeight,
)


class DeviceLinear(QuantizedLinear):
    """y = x W^T (+ bias) with a W that a device's products take packed."""

    def __init__(self, linear: QuantizedLinear, device: torch.device, products: Products) -> None:
        """Pack a layer's weights for a device, and free the originals."""
        weight = linear.quantized
        assert isinstance(weight, QuantizedWeight), "the weights were packed before"
        super().__init__(weight, None, is_tied=linear.is_tied)
        if linear.bias is not None:
            self.bias = nn.Parameter(linear.bias.detach().to(device), requires_grad=False)
        order = weight.order
        self.order = None if order is None else order.to(device)  # int32 [inputs]
        self.packed = pack(_move(weight, device))
        self.free()
        linear.free()
        self.products = products

    @property
    def kind(self) -> str:
        """See `QuantizedLinear.kind`."""
        return self.packed.kind

    @property
    def num_weights(self) -> int:
        """See `QuantizedLinear.num_weights`."""
        return self.packed.num_weights

    def nbytes(self, *, packed: bool) -> int:
        """See `QuantizedLinear.nbytes`; they are packed."""
        return self.packed.nbytes + (0 if self.order is None else self.order.nbytes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """See `QuantizedLinear.forward`."""
        rows = reorder(x.reshape(-1, self.in_features), self.order)
        output = torch.empty((len(rows), self.out_features), dtype=x.dtype, device=x.device)
        self.products.multiply(rows, self.packed, self.bias, output)
        return output.view(*x.shape[:-1], self.out_features)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """See `QuantizedLinear._apply`."""
        super()._apply(fn, recurse)
        device = fn(self.packed.scales.new_empty(0)).device
        if device != self.packed.values.device:
            self.packed = self.packed.to(device)
            self.order = None if self.order is None else self.order.to(device)
            self.products = choose_products(device)
        return self


def merge_packed(
    modules: Sequence[DeviceLinear],
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a map to the modules' concatenated outputs.

    Neighbours with one format are computed together; the modules' weights become views.
    """
    runs = list(_runs(modules))
    width = sum(module.out_features for module in modules)

    def multiply(rows: torch.Tensor) -> torch.Tensor:
        output = torch.empty((len(rows), width), dtype=rows.dtype, device=rows.device)
        first = 0
        for run in runs:
            last = first + run.weight.num_outputs
            part = reorder(rows, run.order)
            run.products.multiply(part, run.weight, run.bias, output[:, first:last])
            first = last
        return output

    return multiply


def reorder(rows: torch.Tensor, order: torch.Tensor | None) -> torch.Tensor:
    """Return rows [rows, inputs] with their inputs in a layer's group order."""
    return rows if order is None else rows.index_select(1, order)


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbours that are computed together."""

    weight: DeviceWeight
    bias: torch.Tensor | None
    order: torch.Tensor | None
    products: Products


def _can_join(first: DeviceLinear, second: DeviceLinear) -> bool:
    if not first.packed.shares_format(second.packed):
        return False
    if first.order is None or second.order is None:
        return first.order is second.order
    return torch.equal(first.order, second.order)


def _runs(modules: Sequence[DeviceLinear]) -> Iterable[_Run]:
    """Yield neighbours that share a format and an input order."""
    run: list[DeviceLinear] = []
    for module in modules:
        if run and not _can_join(run[-1], module):
            yield _join_run(run)
            run = []
        run.append(module)
    yield _join_run(run)


def _join_run(run: list[DeviceLinear]) -> _Run:
    with torch.inference_mode(False), torch.no_grad():
        weight = join([module.packed for module in run])
        bias = None
        if any(module.bias is not None for module in run):
            bias = torch.cat([_bias_of(module, weight) for module in run])
    first = 0
    for module in run:
        module.packed = weight.part(first, first + module.out_features)
        first += module.out_features
        module.order = run[0].order
    return _Run(weight, bias, run[0].order, run[0].products)


def _bias_of(module: DeviceLinear, like: DeviceWeight) -> torch.Tensor:
    if module.bias is None:
        return torch.zeros(module.out_features, device=like.values.device)
    return module.bias.detach()


def _move(weight: QuantizedWeight, device: torch.device) -> QuantizedWeight:
    points = weight.zero_points
    return QuantizedWeight(
        weight.bits,
        weight.values.to(device),
        weight.scales.to(device),
        None if points is None else points.to(device),
    )
