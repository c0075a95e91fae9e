"""Recurrent structures: mirrors of the C recurrent layers in `csrc/abi_recurrent.h`, field by
field.

Filled by `yaie.models.native`; checked against the library by `yaie.kernels.layout_check`.
Torch-free.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar

MAX_TAPS = 8  # inputs that a convolution reads


class Chain(ctypes.Structure):
    """A run of rows of one path, and the states before and after it."""

    _fields_: ClassVar = [
        ("first_row", ctypes.c_int64),
        ("end_row", ctypes.c_int64),
        ("source", ctypes.c_int64),
        ("target", ctypes.c_int64),
    ]


class Chains(ctypes.Structure):
    """The chains of one step."""

    _fields_: ClassVar = [
        ("chains", ctypes.c_void_p),
        ("num_chains", ctypes.c_int64),
        ("num_spare", ctypes.c_int64),
    ]


class States(ctypes.Structure):
    """The states of one recurrent layer."""

    _fields_: ClassVar = [
        ("slots", ctypes.c_void_p),
        ("spare", ctypes.c_void_p),
        ("num_slots", ctypes.c_int64),
        ("stride", ctypes.c_int64),
    ]


class Convolution(ctypes.Structure):
    """A convolution of each channel over the rows of its chain."""

    _fields_: ClassVar = [
        ("x", ctypes.c_void_p),
        ("x_stride", ctypes.c_int64),
        ("y", ctypes.c_void_p),
        ("y_stride", ctypes.c_int64),
        ("weights", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("num_taps", ctypes.c_int64),
        ("num_channels", ctypes.c_int64),
        ("has_silu", ctypes.c_int64),
        ("chains", ctypes.c_void_p),
        ("num_chains", ctypes.c_int64),
        ("states", States),
    ]


class Recurrence(ctypes.Structure):
    """A delta rule, or a scan of a state space."""

    _fields_: ClassVar = [
        ("queries", ctypes.c_void_p),
        ("keys", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("row_stride", ctypes.c_int64),
        ("steps", ctypes.c_void_p),
        ("step_stride", ctypes.c_int64),
        ("gates", ctypes.c_void_p),
        ("gate_stride", ctypes.c_int64),
        ("step_bias", ctypes.c_void_p),
        ("rates", ctypes.c_void_p),
        ("skip", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("num_rows", ctypes.c_int64),
        ("num_heads", ctypes.c_int64),
        ("num_key_heads", ctypes.c_int64),
        ("key_width", ctypes.c_int64),
        ("value_width", ctypes.c_int64),
        ("chains", ctypes.c_void_p),
        ("num_chains", ctypes.c_int64),
        ("states", States),
        ("is_delta_rule", ctypes.c_int32),
        ("gate_factor", ctypes.c_float),
        ("min_step", ctypes.c_float),
        ("max_step", ctypes.c_float),
        ("has_tiles", ctypes.c_int64),
    ]


class GatedNorm(ctypes.Structure):
    """An RMS norm of groups of a row, and a product with a gate before or after it."""

    _fields_: ClassVar = [
        ("x", ctypes.c_void_p),
        ("gate", ctypes.c_void_p),
        ("gate_stride", ctypes.c_int64),
        ("weight", ctypes.c_void_p),
        ("weight_stride", ctypes.c_int64),
        ("y", ctypes.c_void_p),
        ("num_rows", ctypes.c_int64),
        ("num_groups", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("norm_first", ctypes.c_int32),
        ("epsilon", ctypes.c_float),
    ]
