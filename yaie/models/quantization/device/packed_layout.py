"""Packed layout: positions and sizes of quantized weights in device memory. Torch-free.

A row has the weights of one output. A byte has one weight of 8 bits, or two of 4 bits: byte j has
the inputs j in its low half and width + j in its high half. Both halves are thus contiguous runs of
inputs, and a kernel multiplies each with a contiguous run of a row of activations.
"""

from __future__ import annotations

from dataclasses import dataclass

PACKING_BYTES = 8  # per weight while packing: its value, and copies to join and pad
ORDER_BYTES = 4  # per input whose position differs from the weights' order
LEAST_BLOCK = 32  # inputs of a step: two tensor-core products, and copies of 16 bytes
_MOST_BLOCK = 128
_USUAL_BLOCK = 64


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """One layer's row layout."""

    bits: int  # 4 or 8
    num_inputs: int
    num_groups: int  # equal sizes; each group has a scale

    @property
    def group_size(self) -> int:
        """Inputs per group."""
        return self.num_inputs // self.num_groups

    @property
    def is_mixed(self) -> bool:
        """True if a step's inputs span several groups: no block fits into one."""
        return self.num_groups > 1 and _power_of_two_in(self.group_size) < LEAST_BLOCK

    @property
    def block(self) -> int:
        """Bytes per unit that rows are padded to; without mixed groups, it has one scale."""
        if self.num_groups > 1 and not self.is_mixed:
            return min(_power_of_two_in(self.group_size), _MOST_BLOCK)
        return _MOST_BLOCK if self._num_bytes % _MOST_BLOCK == 0 else _USUAL_BLOCK

    @property
    def width(self) -> int:
        """Bytes per row, padding included."""
        return -(-self._num_bytes // self.block) * self.block

    @property
    def is_padded(self) -> bool:
        """True if rows have positions without an input."""
        return self.width * 8 != self.num_inputs * self.bits

    def nbytes(self, num_outputs: int, *, scale_bytes: int, has_points: bool) -> int:
        """Return the bytes per layer."""
        each = scale_bytes + (1 if has_points else 0)
        return num_outputs * (self.width + self.num_groups * each)

    @property
    def _num_bytes(self) -> int:
        return -(-self.num_inputs * self.bits // 8)


def _power_of_two_in(number: int) -> int:
    """Return the largest power of two that divides a number."""
    return number & -number
