"""The best token and random draws of tokens by the kernel library: its structures and the calls.

Called by the sampler. Logits are read where they are; no torch here.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from yaie.kernels.library import Library

_LEAST_EXPONENT = -126.0  # of a weight in float32; what is below weighs nothing


class Best(ctypes.Structure):
    """Rows whose best token is wanted, field by field as in `csrc/abi.h`."""

    _fields_: ClassVar = [
        ("logits", ctypes.c_void_p),
        ("row_stride", ctypes.c_int64),
        ("vocabulary", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("best", ctypes.c_void_p),
        ("tokens", ctypes.c_void_p),
    ]


class Draws(ctypes.Structure):
    """Tokens to draw, field by field as in `csrc/abi.h`."""

    _fields_: ClassVar = [
        ("logits", ctypes.c_void_p),
        ("row_stride", ctypes.c_int64),
        ("vocabulary", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("rows", ctypes.c_void_p),
        ("best", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("floors", ctypes.c_void_p),
        ("uniforms", ctypes.c_void_p),
        ("forbidden", ctypes.c_void_p),
        ("forbidden_ends", ctypes.c_void_p),
        ("tokens", ctypes.c_void_p),
    ]


def best_tokens(library: Library, logits: NDArray[np.float32]) -> tuple[list[float], list[int]]:
    """The largest of each row of `logits` [rows, vocabulary], and the lowest id that has it.

    NaN wins every comparison, so that one shows.
    """
    count, vocabulary = logits.shape
    best, tokens = np.empty(count, dtype=np.float32), np.empty(count, dtype=np.int64)
    row_stride = logits.strides[0] // logits.itemsize
    library.best(
        Best(
            logits.ctypes.data,
            row_stride,
            vocabulary,
            count,
            best.ctypes.data,
            tokens.ctypes.data,
        )
    )
    return best.tolist(), tokens.tolist()


def draw_tokens(
    library: Library,
    logits: NDArray[np.float32],
    *,
    rows: Sequence[int],
    best: Sequence[float],
    temperatures: Sequence[float],
    min_ps: Sequence[float],
    uniforms: Sequence[float],
    forbidden: Sequence[NDArray[np.int64]],
) -> list[int]:
    """Token ids by inverse CDF, one for each of `rows` of `logits` [rows, vocabulary].

    `best` is the largest logit of each, which is finite; temperatures are above 0. Left out are
    tokens less likely than `min_ps` times the most likely one, and those that are `forbidden`; -1
    where what remains is too unlikely beside `best` to weigh anything. A draw depends on nothing
    beside its own row and numbers.
    """
    scales = [math.log2(math.e) / temperature for temperature in temperatures]
    floors = [max(_LEAST_EXPONENT, math.log2(p)) if p > 0 else _LEAST_EXPONENT for p in min_ps]
    tokens = np.empty(len(rows), dtype=np.int64)
    numbers: list[NDArray[Any]] = [
        np.array(rows, dtype=np.int64),
        np.array(best, dtype=np.float32),
        np.array(scales, dtype=np.float32),
        np.array(floors, dtype=np.float32),
        np.array(uniforms, dtype=np.float64),
        np.concatenate(forbidden, dtype=np.int64),
        np.cumsum([len(ids) for ids in forbidden], dtype=np.int64),
        tokens,
    ]
    library.draw(
        Draws(
            logits.ctypes.data,
            logits.strides[0] // logits.itemsize,
            logits.shape[1],
            len(rows),
            *(array.ctypes.data for array in numbers),
        )
    )
    return tokens.tolist()
