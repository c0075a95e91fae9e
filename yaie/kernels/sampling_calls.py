"""Sampling calls: greedy and random sampling by the kernel library, with mirrors of its structures.

Called by the sampler. Logits are read in place; torch-free.
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

_MIN_EXPONENT = -126.0  # least exponent of a float32 weight; smaller weights are 0


class Best(ctypes.Structure):
    """Rows whose most likely token is wanted, field by field as in `csrc/abi.h`."""

    _fields_: ClassVar = [
        ("logits", ctypes.c_void_p),
        ("row_stride", ctypes.c_int64),
        ("vocabulary", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("best", ctypes.c_void_p),
        ("tokens", ctypes.c_void_p),
    ]


class Samples(ctypes.Structure):
    """Tokens to sample, field by field as in `csrc/abi.h`."""

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
    """Return each row's largest value in `logits` [rows, vocabulary], and its lowest id.

    A row with NaN returns NaN.
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


def sample_tokens(
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
    """Sample a token id by inverse CDF for each of `rows` from `logits` [rows, vocabulary].

    best: each row's largest logit, finite. temperatures: above 0. min_ps: tokens less likely than
    this times the most likely token are dropped. forbidden: ids with weight 0.

    The result is -1 if all weights are 0. A sample depends on its row and arguments alone.
    """
    scales = [math.log2(math.e) / temperature for temperature in temperatures]
    floors = [max(_MIN_EXPONENT, math.log2(p)) if p > 0 else _MIN_EXPONENT for p in min_ps]
    tokens = np.empty(len(rows), dtype=np.int64)
    arrays: list[NDArray[Any]] = [
        np.array(rows, dtype=np.int64),
        np.array(best, dtype=np.float32),
        np.array(scales, dtype=np.float32),
        np.array(floors, dtype=np.float32),
        np.array(uniforms, dtype=np.float64),
        np.concatenate(forbidden, dtype=np.int64),
        np.cumsum([len(ids) for ids in forbidden], dtype=np.int64),
        tokens,
    ]
    library.sample(
        Samples(
            logits.ctypes.data,
            logits.strides[0] // logits.itemsize,
            logits.shape[1],
            len(rows),
            *(array.ctypes.data for array in arrays),
        )
    )
    return tokens.tolist()
