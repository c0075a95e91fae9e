"""Random quantized layers for tests of products on a device."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from yaie.models.quantization.device.device_weights import DeviceWeight, pack
from yaie.models.quantization.quantized_weights import QuantizedWeight

RANGES = {"int4": (-8, 8), "int8": (-128, 128)}


@dataclass(frozen=True)
class Layer:
    """A layer's shape and format."""

    kind: str
    outputs: int
    inputs: int
    groups: int = 1
    has_points: bool = False
    scale_dtype: torch.dtype = torch.bfloat16

    @property
    def name(self) -> str:
        points = ", points" if self.has_points else ""
        return f"{self.kind} {self.outputs} x {self.inputs} in {self.groups}{points}"


def random_weight(layer: Layer) -> QuantizedWeight:
    """Return random values, with the ends of their range, scales and points."""
    shape, grouped = (layer.outputs, layer.inputs), (layer.outputs, layer.groups)
    if layer.kind == "fp8":
        values = (torch.randn(shape) * 100).clamp(-448, 448).to(torch.float8_e4m3fn)
        small = torch.rand(shape) < 0.2  # subnormal numbers, and zeros of both signs
        values[small] = (torch.randn(shape) * 0.003)[small].to(torch.float8_e4m3fn)
        values.view(-1)[:2] = torch.tensor([448.0, -448.0]).to(torch.float8_e4m3fn)
        scales = torch.rand(grouped) * 0.001 + 0.0001
    else:
        least, end = RANGES[layer.kind]
        values = torch.randint(least, end, shape).to(torch.int8)
        values.view(-1)[:2] = torch.tensor([least, end - 1])
        scales = (torch.rand(grouped) + 0.1) / end
    points = None
    if layer.has_points:
        least, end = RANGES[layer.kind]
        points = torch.randint(least, end, grouped).to(torch.int8)
        points.view(-1)[:2] = torch.tensor([least, end - 1])[: points.numel()]
    bits = 4 if layer.kind == "int4" else 8
    return QuantizedWeight(bits, values, scales.to(layer.scale_dtype).float(), points)


def packed(layer: Layer) -> tuple[QuantizedWeight, DeviceWeight]:
    """Return a random weight and its packed form."""
    weight = random_weight(layer)
    return weight, pack(weight)
