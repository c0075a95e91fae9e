"""Conversions between types of lanes."""

from __future__ import annotations

import numpy as np

from tests.ptx.arithmetic import TYPES, Array

WHOLE = {"rzi": np.trunc, "rni": np.rint, "rmi": np.floor, "rpi": np.ceil}


def bf16_bits(x: Array) -> Array:
    """Round float32 to the bits of bf16, to nearest even; NaN stays NaN."""
    bits = x.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(
        np.uint16
    )
    return np.where(np.isnan(x), np.uint16(0x7FFF), rounded)


def from_bf16(bits: Array) -> Array:
    """Return the float32 numbers of the bits of bf16."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def half_bits(x: Array, target: str) -> Array:
    """Round float32 to the bits of "bf16" or "f16"."""
    return bf16_bits(x) if target == "bf16" else x.astype(np.float16).view(np.uint16)


def convert(parts: tuple[str, ...], sources: list[Array]) -> Array:
    """Return the result of `cvt` with these parts of the opcode; sources have its last type."""
    target, source = parts[-2], parts[-1]
    if target in ("bf16x2", "f16x2"):
        high, low = (half_bits(each, target[:-2]).astype(np.uint32) for each in sources)
        return (high << np.uint32(16)) | low
    (x,) = sources
    if source == "bf16":
        x = from_bf16(x)
    if target == "bf16":
        return bf16_bits(x.astype(np.float32))
    kind = TYPES[target]
    rounding = next((part for part in parts if part in WHOLE), None)
    if x.dtype.kind == kind.kind == "f":
        whole = x if rounding is None else WHOLE[rounding](x)
        if "sat" in parts:
            whole = np.nan_to_num(np.clip(whole, 0, 1))
        return whole.astype(kind)
    if x.dtype.kind == "f":
        assert rounding is not None
        whole = WHOLE[rounding](x)
        bounds = np.iinfo(kind)
        return np.nan_to_num(np.clip(whole, bounds.min, bounds.max)).astype(kind)
    return x.astype(kind)
