"""Attention structures: mirrors of the C structures in `csrc/abi.h`, field by field.

The attention backend fills them and passes their addresses to the library. Strides are in elements.
Checked against the library by `yaie.kernels.layout_check`.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar

DTYPES = {"float32": 0, "bfloat16": 1, "float16": 2}  # YaieDtype
POOL_DTYPES = DTYPES | {"int8": 3}


class Step(ctypes.Structure):
    """Inputs that a step's layers share."""

    _fields_: ClassVar = [
        ("id", ctypes.c_int64),
        ("num_rows", ctypes.c_int64),
        ("num_segments", ctypes.c_int64),
        ("num_written", ctypes.c_int64),
        ("positions", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
        ("segments", ctypes.c_void_p),
        ("written_rows", ctypes.c_void_p),
        ("written_slots", ctypes.c_void_p),
        ("exact", ctypes.c_int64),
    ]


class SegmentStructure(ctypes.Structure):
    """Keys at consecutive positions, and the contiguous rows that attend to them."""

    _fields_: ClassVar = [
        ("first_slot", ctypes.c_int64),
        ("end_slot", ctypes.c_int64),
        ("first_position", ctypes.c_int64),
        ("first_row", ctypes.c_int64),
        ("end_row", ctypes.c_int64),
    ]


# `Step.segments` points to an int64 array with these columns.
SEGMENT_COLUMNS = tuple(field[0] for field in SegmentStructure._fields_)


class Layer(ctypes.Structure):
    """One attention layer."""

    _fields_: ClassVar = [
        ("dtype", ctypes.c_int32),
        ("pool_dtype", ctypes.c_int32),
        ("num_heads", ctypes.c_int32),
        ("num_kv_heads", ctypes.c_int32),
        ("key_width", ctypes.c_int32),
        ("value_width", ctypes.c_int32),
        ("sliding_window", ctypes.c_int32),
        ("scale", ctypes.c_float),
        ("softcap", ctypes.c_float),
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("key_slot_stride", ctypes.c_int64),
        ("key_head_stride", ctypes.c_int64),
        ("value_slot_stride", ctypes.c_int64),
        ("value_head_stride", ctypes.c_int64),
        ("queries", ctypes.c_void_p),
        ("query_row_stride", ctypes.c_int64),
        ("query_head_stride", ctypes.c_int64),
        ("output", ctypes.c_void_p),
        ("output_row_stride", ctypes.c_int64),
        ("output_head_stride", ctypes.c_int64),
        ("sinks", ctypes.c_void_p),
        ("key_scales", ctypes.c_void_p),
        ("value_scales", ctypes.c_void_p),
    ]


class Write(ctypes.Structure):
    """New rows to store in one pool tensor."""

    _fields_: ClassVar = [
        ("rows", ctypes.c_void_p),
        ("row_stride", ctypes.c_int64),
        ("head_stride", ctypes.c_int64),
        ("pool", ctypes.c_void_p),
        ("slot_stride", ctypes.c_int64),
        ("pool_head_stride", ctypes.c_int64),
        ("scales", ctypes.c_void_p),
        ("num_heads", ctypes.c_int64),
        ("width", ctypes.c_int32),
        ("rows_dtype", ctypes.c_int32),
        ("pool_dtype", ctypes.c_int32),
    ]
