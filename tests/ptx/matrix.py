"""Instructions of a whole warp on matrices: ldmatrix and mma.sync.m16n8k16."""

from __future__ import annotations

import numpy as np

from tests.ptx.arithmetic import Array
from tests.ptx.conversions import from_bf16
from tests.ptx.memory import Addresses, Memory

_LANE = np.arange(32)
_GROUP, _THREAD = _LANE // 4, _LANE % 4
_HALF = np.arange(2)


def _places() -> tuple[Array, Array, Array]:
    """Return the flat index of each register's elements in A [16, 16], B [16, 8] and C [16, 8]."""
    a = np.empty((4, 32, 2), dtype=np.int64)
    b = np.empty((2, 32, 2), dtype=np.int64)
    c = np.empty((4, 32), dtype=np.int64)
    pair = 2 * _THREAD[:, None] + _HALF
    for i in range(4):
        a[i] = (_GROUP[:, None] + 8 * (i % 2)) * 16 + pair + 8 * (i // 2)
        c[i] = (_GROUP + 8 * (i // 2)) * 8 + 2 * _THREAD + i % 2
    for i in range(2):
        b[i] = (pair + 8 * i) * 8 + _GROUP[:, None]
    return a, b, c


_A, _B, _C = _places()


def _numbers(registers: list[Array], kind: str) -> Array:
    """Return [registers, lanes, 2] float32 of registers with two halves each."""
    halves = np.stack(registers).view(np.uint16).reshape(len(registers), 32, 2)
    return from_bf16(halves) if kind == "bf16" else halves.view(np.float16).astype(np.float32)


def multiply(kind: str, a: list[Array], b: list[Array], c: list[Array]) -> list[Array]:
    """Return the registers of A @ B + C in float32; A and B have the type `kind`."""
    left, right = np.empty(16 * 16, np.float32), np.empty(16 * 8, np.float32)
    added = np.empty(16 * 8, np.float32)
    left[_A] = _numbers(a, kind)
    right[_B] = _numbers(b, kind)
    added[_C] = np.stack(c).view(np.float32)
    product = left.reshape(16, 16) @ right.reshape(16, 8) + added.reshape(16, 8)
    return list(product.ravel()[_C].view(np.uint32))


def load_matrices(shared: Memory, addresses: Addresses, count: int, *, trans: bool) -> list[Array]:
    """Return the registers of `count` matrices of 8 x 8 halves, a row at each lane's address."""
    rows = shared.load(addresses[: 8 * count], 16).view(np.uint16).reshape(count, 8, 8)
    if trans:
        rows = rows.transpose(0, 2, 1)
    return list(np.ascontiguousarray(rows).view(np.uint32).reshape(count, 32))
