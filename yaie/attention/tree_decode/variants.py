"""Kernel variants: block sizes of an attention layer by head width, group size and dtype.

Pure and torch-free.
"""

from __future__ import annotations

from dataclasses import dataclass

from yaie.attention.spec import AttentionSpec
from yaie.attention.tree_decode.work_items import Tiling

_LEAST_BLOCK = 16  # for a tensor-core product
_NARROW = 16
_WIDE = 64
_WIDE_HEAD = 128
_HALF = 2  # bytes of a bf16 or fp16 element, which tensor cores multiply
_LARGEST_TILE = 64 * 128 * 2  # bytes of keys per load
_HEADS_MERGED = 8  # by one program


@dataclass(frozen=True, slots=True)
class Variant:
    """The kernels' block sizes for one layer; lines are rows times the group size."""

    narrow: int  # lines of a narrow item's block; 0: the group is too large for one
    wide: int
    block_n: int  # keys loaded at once
    key_block: int  # the key width, up to a power of two
    value_block: int
    merged_heads: int
    num_warps: int = 4  # for the merge, and for launches with narrow items only
    num_warps_wide: int = 4
    num_stages: int = 2

    @classmethod
    def of(cls, spec: AttentionSpec, itemsize: int) -> Variant:
        """Return a layer's variant; a query element has `itemsize` bytes."""
        group = spec.group_size
        key_block, value_block = block_of(spec.key_width), block_of(spec.value_width)
        block_n = 64
        while block_n > _LEAST_BLOCK and block_n * key_block * itemsize > _LARGEST_TILE:
            block_n //= 2
        # Float32 is multiplied outside the tensor cores, and wide blocks would spill registers.
        has_classes = itemsize <= _HALF
        return cls(
            narrow=_NARROW if has_classes and group <= _NARROW else 0,
            wide=max(_WIDE if has_classes else _NARROW, _power_of_two(group)),
            block_n=block_n,
            key_block=key_block,
            value_block=value_block,
            merged_heads=min(_HEADS_MERGED, _power_of_two(spec.num_heads)),
            # Four warps would spill the sums of wide heads.
            num_warps_wide=8 if max(key_block, value_block) >= _WIDE_HEAD else 4,
        )

    def tiling(self, spec: AttentionSpec) -> Tiling:
        """Return the tiling that cuts a step's rows into blocks for the layer."""
        group = spec.group_size
        return Tiling(
            spec.sliding_window, self.narrow // group, self.wide // group, spec.num_kv_heads
        )


def block_of(size: int, least: int = _LEAST_BLOCK) -> int:
    """Return a block for `size` elements: a power of two."""
    return max(least, _power_of_two(size))


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()
