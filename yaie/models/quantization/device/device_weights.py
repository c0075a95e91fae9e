"""Device weights: quantized weights in the device's layout."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch.nn.functional import pad

from yaie.models.quantization.device.packed_layout import PackedLayout
from yaie.models.quantization.quantized_weights import QuantizedWeight

_NARROW = (torch.bfloat16, torch.float16)
_MIDDLE = {4: 8, 8: 128}  # added to integers, which are stored without a sign


@dataclass(frozen=True, slots=True)
class DeviceWeight:
    """weight[o, i] = (value[o, i] - points[g, o]) * scales[g, o], where g = i // group_size."""

    kind: str
    packing: PackedLayout
    values: torch.Tensor  # uint8 [outputs, width]; see `PackedLayout`
    scales: torch.Tensor  # [groups, outputs]: bfloat16, float16 or float32, none of them rounded
    points: torch.Tensor | None  # int8 [groups, outputs]; None: all zero

    @property
    def bits(self) -> int:
        """Bits per weight."""
        return self.packing.bits

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return int(self.values.shape[0])

    @property
    def num_weights(self) -> int:
        """Number of weights, without padding."""
        return self.num_outputs * self.packing.num_inputs

    @property
    def nbytes(self) -> int:
        """Its bytes."""
        tensors = (self.values, self.scales, self.points)
        return sum(each.numel() * each.itemsize for each in tensors if each is not None)

    def shares_format(self, other: DeviceWeight) -> bool:
        """Return True if both can be joined."""
        return (self.kind, self.packing) == (other.kind, other.packing)

    def part(self, first: int, last: int) -> DeviceWeight:
        """Return the outputs from `first` to `last` as a view."""
        points = None if self.points is None else self.points[:, first:last]
        return replace(
            self, values=self.values[first:last], scales=self.scales[:, first:last], points=points
        )

    def with_values(self, values: torch.Tensor) -> DeviceWeight:
        """Return the weight with other values in the same shape."""
        return replace(self, values=values)

    def to(self, device: torch.device) -> DeviceWeight:
        """Return the weight on a device."""
        points = None if self.points is None else self.points.to(device)
        return replace(
            self, values=self.values.to(device), scales=self.scales.to(device), points=points
        )

    def dequantize(self, dtype: torch.dtype) -> torch.Tensor:
        """Return the weights [outputs, inputs], rounded to `dtype`. Waits for nothing."""
        numbers = self._numbers().view(self.num_outputs, self.packing.num_groups, -1)
        if self.points is not None:
            numbers = numbers - self.points.T[..., None]
        scaled = numbers * self.scales.T.float()[..., None]
        return scaled.view(self.num_outputs, -1).to(dtype)

    def _numbers(self) -> torch.Tensor:
        """Return the values [outputs, inputs] in float32."""
        count = self.packing.num_inputs
        if self.kind == "fp8":
            return self.values[:, :count].contiguous().view(torch.float8_e4m3fn).float()
        stored = self.values
        if self.bits == 4:
            stored = torch.cat((stored & 15, stored >> 4), 1)
        return stored[:, :count].float() - _MIDDLE[self.bits]


def pack(weight: QuantizedWeight) -> DeviceWeight:
    """Return a quantized weight packed for a device, on the device that it is on."""
    inputs = int(weight.values.shape[1])
    packing = PackedLayout(weight.bits, inputs, int(weight.scales.shape[1]))
    per_byte = 8 // weight.bits
    if weight.kind == "fp8":
        stored = weight.values.contiguous().view(torch.uint8)
    else:
        stored = (weight.values.to(torch.int16) + _MIDDLE[weight.bits]).to(torch.uint8)
    stored = pad(stored, (0, packing.width * per_byte - inputs))
    if weight.bits == 4:
        low, high = stored.chunk(2, 1)
        stored = low | (high << 4)
    points = weight.zero_points
    return DeviceWeight(
        kind=weight.kind,
        packing=packing,
        values=stored.contiguous(),
        scales=_narrow(weight.scales.T.contiguous()),
        points=None if points is None else points.T.contiguous(),
    )


def _narrow(scales: torch.Tensor) -> torch.Tensor:
    """Return float32 scales in 16 bits if no value changes."""
    for dtype in _NARROW:
        narrow = scales.to(dtype)
        if torch.equal(narrow.float(), scales):
            return narrow
    return scales


def join(weights: list[DeviceWeight]) -> DeviceWeight:
    """Concatenate weights that share a format along their outputs."""
    first = weights[0]
    assert all(first.shares_format(each) for each in weights)
    points = None
    if any(each.points is not None for each in weights):
        points = torch.cat([_points_of(each) for each in weights], 1)
    dtypes = {each.scales.dtype for each in weights}
    wide = dtypes.pop() if len(dtypes) == 1 else torch.float32
    return DeviceWeight(
        kind=first.kind,
        packing=first.packing,
        values=torch.cat([each.values for each in weights]),
        scales=torch.cat([each.scales.to(wide) for each in weights], 1),
        points=points,
    )


def _points_of(weight: DeviceWeight) -> torch.Tensor:
    if weight.points is None:
        return torch.zeros_like(weight.scales, dtype=torch.int8)
    return weight.points
