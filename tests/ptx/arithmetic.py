"""Arithmetic of lanes: functions of typed arrays, by the first part of the opcode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

TYPES = {
    **{f"u{8 * size}": np.dtype(f"u{size}") for size in (1, 2, 4, 8)},
    **{f"s{8 * size}": np.dtype(f"i{size}") for size in (1, 2, 4, 8)},
    **{f"b{8 * size}": np.dtype(f"u{size}") for size in (1, 2, 4, 8)},
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype("u2"),
    "pred": np.dtype(bool),
    "f16x2": np.dtype("u4"),  # two halves in one register
    "bf16x2": np.dtype("u4"),
}


def _shift(x: Array, amount: Array, function: Callable[..., Array]) -> Array:
    """Shift; amounts of the width or more leave zeros, or the sign."""
    bits = 8 * x.dtype.itemsize
    clamped = np.minimum(amount.astype(np.uint32), bits - 1).astype(x.dtype)
    shifted = function(x, clamped)
    if function is np.left_shift or x.dtype.kind == "u":
        shifted = np.where(amount.astype(np.uint32) >= bits, x.dtype.type(0), shifted)
    return shifted


def _extract(x: Array, position: Array, length: Array) -> Array:
    """Return a field of bits, extended by zeros or, for signed types, by its highest bit."""
    start = position.astype(np.int64) & 0xFF
    count = length.astype(np.int64) & 0xFF
    wide = x.astype(np.int64)  # bits above the register repeat the sign
    field = (wide >> np.minimum(start, 63)) & ((np.int64(1) << count) - 1)
    if x.dtype.kind == "i":
        top = (count > 0) & ((field >> np.maximum(count - 1, 0)) & 1 == 1)
        field = np.where(top, field - (np.int64(1) << count), field)
    return field.astype(x.dtype)


def permute_bytes(low: Array, high: Array, selector: Array) -> Array:
    """Choose four bytes of two registers; a selector's highest bit repeats the byte's sign."""
    pool = np.stack([low, high], axis=-1).view(np.uint8).reshape(len(low), 8)
    result = np.zeros((len(low), 4), dtype=np.uint8)
    lanes = np.arange(len(low))
    for index in range(4):
        nibble = (selector >> np.uint32(4 * index)) & np.uint32(0xF)
        byte = pool[lanes, nibble & np.uint32(7)]
        sign = np.where(byte & 0x80, np.uint8(0xFF), np.uint8(0))
        result[:, index] = np.where(nibble & np.uint32(8), sign, byte)
    return result.view(np.uint32)[:, 0]


def _divide(x: Array, y: Array) -> Array:
    return x / y if x.dtype.kind == "f" else _truncated(x, y)[0]


def _truncated(x: Array, y: Array) -> tuple[Array, Array]:
    """Return quotient and remainder, rounded towards zero as on the device."""
    remainder = np.fmod(x, y)
    return ((x - remainder) // y).astype(x.dtype), remainder


def _fused(x: Array, y: Array, z: Array) -> Array:
    """Return x * y + z of float32, rounded once."""
    return (x.astype(np.float64) * y + z).astype(np.float32)


def fused_down(x: Array, y: Array, z: Array) -> Array:
    """Return x * y + z of float32, rounded towards minus infinity."""
    product = x.astype(np.float64) * y  # exact
    wide = product + z
    # What the sum lost: exact, by Knuth.
    part = wide - product
    lost = (product - (wide - part)) + (z - part)
    nearest = wide.astype(np.float32)
    is_above = (nearest > wide) | ((nearest == wide) & (lost < 0))
    return np.where(is_above, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def flushed(x: Array) -> Array:
    """Return float32 with subnormal numbers as zeros."""
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def _unordered(x: Array, y: Array) -> Array:
    if x.dtype.kind != "f":
        return np.zeros(np.broadcast(x, y).shape, dtype=bool)
    return np.isnan(x) | np.isnan(y)


OPERATIONS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "mad": lambda x, y, z: x * y + z,
    "fma": _fused,
    "div": _divide,
    "rem": lambda x, y: _truncated(x, y)[1],
    "min": lambda x, y: (np.fmin if x.dtype.kind == "f" else np.minimum)(x, y),
    "max": lambda x, y: (np.fmax if x.dtype.kind == "f" else np.maximum)(x, y),
    "neg": np.negative,
    "abs": np.abs,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shl": lambda x, amount: _shift(x, amount, np.left_shift),
    "shr": lambda x, amount: _shift(x, amount, np.right_shift),
    "bfe": _extract,
    "prmt": permute_bytes,
    "ex2": np.exp2,
    "rsqrt": lambda x: np.float32(1) / np.sqrt(x),
    "lg2": np.log2,
    "rcp": lambda x: np.float32(1) / x,
}
# Operands that have the type b32 or u32 whatever the type of the instruction is.
COUNTS = {"shl": (1,), "shr": (1,), "bfe": (1, 2)}

COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": lambda x, y: (x != y) & ~_unordered(x, y),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "equ": lambda x, y: (x == y) | _unordered(x, y),
    "neu": np.not_equal,
    "ltu": lambda x, y: (x < y) | _unordered(x, y),
    "leu": lambda x, y: (x <= y) | _unordered(x, y),
    "gtu": lambda x, y: (x > y) | _unordered(x, y),
    "geu": lambda x, y: (x >= y) | _unordered(x, y),
    "num": lambda x, y: ~_unordered(x, y),
    "nan": _unordered,
}
