"""Device packer: packs a model's quantized layers for a device, and checks the products.

The first layer of each format is multiplied with a few rows, by the kernels and by torch. If they
differ, or a kernel fails, torch multiplies in all layers.
"""

from __future__ import annotations

import logging

import torch
from torch import nn

from yaie.base.errors import first_line
from yaie.models.quantization.device.device_weights import DeviceWeight
from yaie.models.quantization.device.linear import DeviceLinear
from yaie.models.quantization.device.products import PlainProducts, Products, choose_products
from yaie.models.quantization.quantized_weights import QuantizedLinear
from yaie.process.progress import report_each

log = logging.getLogger(__name__)

_CHECKED_ROWS = (1, 24, 48, 100)  # one for each size of tiles
_CHECKED_OUTPUTS = 512
# Of the norm. Torch rounds weights to the rows' dtype, and the kernels do not.
_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.02, torch.float16: 0.004}


class DevicePacker:
    """A packer for one device's quantized layers."""

    def __init__(
        self, device: torch.device, dtype: torch.dtype, products: Products | None = None
    ) -> None:
        """`dtype`: dtype of the rows; `products`: by name; None for the device's."""
        self._device = device
        self._dtype = dtype
        self._products = choose_products(device) if products is None else products
        self._packed: list[DeviceLinear] = []
        self._checked: set[object] = set()

    def __call__(self, linear: QuantizedLinear) -> DeviceLinear:
        """Return a layer packed, and free its original."""
        made = DeviceLinear(linear, self._device, self._products)
        self._packed.append(made)
        if not isinstance(self._products, PlainProducts):
            self._check(made.packed)
        return made

    def pack_model(self, model: nn.Module) -> None:
        """Pack a model's quantized layers, one after another."""
        quantized = [
            (name, module)
            for name, module in model.named_modules()
            if isinstance(module, QuantizedLinear) and not isinstance(module, DeviceLinear)
        ]
        for name, module in report_each(quantized, "packing weights", len(quantized)):
            model.set_submodule(name, self(module))

    def _check(self, weight: DeviceWeight) -> None:
        """Multiply with a format's first layer in two ways; keep torch's if they differ."""
        packing = weight.packing
        key = (
            *(weight.kind, packing.block, packing.num_groups == 1, packing.is_mixed),
            *(packing.is_padded, weight.scales.dtype, weight.points is None),
        )
        if key in self._checked:
            return
        self._checked.add(key)
        part = weight.part(0, min(_CHECKED_OUTPUTS, weight.num_outputs))
        try:
            error = max(self._error(part, count) for count in _CHECKED_ROWS)
        except Exception as failed:  # Triton's: no compiler, an unknown device
            self._fall_back(f"the kernels failed: {first_line(failed)}")
            return
        if not error <= _TOLERANCE[self._dtype]:  # also for a NaN
            self._fall_back(f"the kernels' products of {weight.kind} are off by {error:.2%}")

    def _error(self, weight: DeviceWeight, count: int) -> float:
        generator = torch.Generator().manual_seed(count)
        numbers = torch.randn(count, weight.packing.num_inputs, generator=generator)
        rows = numbers.to(self._device, self._dtype)
        found, expected = (
            torch.empty(count, weight.num_outputs, dtype=self._dtype, device=self._device)
            for _ in range(2)
        )
        self._products.multiply(rows, weight, None, found)
        PlainProducts().multiply(rows, weight, None, expected)
        difference = (found.float() - expected.float()).norm()
        return float(difference / expected.float().norm().clamp_min(1e-6))

    def _fall_back(self, reason: str) -> None:
        log.warning("quantized weights are dequantized in each step, slower: %s", reason)
        self._products = PlainProducts()
        for linear in self._packed:
            linear.products = self._products
