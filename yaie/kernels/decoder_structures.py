"""Decoder structures: mirrors of the C decoders and linear layers in `csrc/abi.h`, field by field.

Filled by `yaie.models.native`; checked against the library by `yaie.kernels.layout_check`.
Torch-free.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar

from yaie.kernels.attention_structures import Layer

# YaieWeights
WEIGHTS = {"bfloat16": 0, "float32": 1, "int8": 2, "int4": 3, "mxfp4": 4, "fp8": 5}
STORES = {"set": 0, "add": 1, "gated_silu": 2, "gated_gelu": 3, "gated_clamped": 4}  # YaieStore
SET = STORES["set"]
GATED = {"silu": STORES["gated_silu"], "gelu": STORES["gated_gelu"]}
GATED_OF_EXPERTS = {**GATED, "clamped": STORES["gated_clamped"]}


class Linear(ctypes.Structure):
    """A linear layer with packed weights."""

    _fields_: ClassVar = [
        ("weights_kind", ctypes.c_int32),
        ("num_inputs", ctypes.c_int32),
        ("num_outputs", ctypes.c_int32),
        ("group_size", ctypes.c_int32),
        ("weights", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("zero_points", ctypes.c_void_p),
        ("exact", ctypes.c_int64),
    ]


class Experts(ctypes.Structure):
    """A layer's mixture of experts."""

    _fields_: ClassVar = [
        ("num_experts", ctypes.c_int64),
        ("hidden", ctypes.c_int64),
        ("gate_up", ctypes.c_void_p),
        ("down", ctypes.c_void_p),
        ("activation", ctypes.c_int32),
        ("factor", ctypes.c_float),
        ("limit", ctypes.c_float),
        ("reserved", ctypes.c_float),
    ]


class ExpertsCall(ctypes.Structure):
    """The rows of a step, and the experts that each has chosen."""

    _fields_: ClassVar = [
        ("x", ctypes.c_void_p),
        ("ids", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("num_rows", ctypes.c_int64),
        ("num_chosen", ctypes.c_int64),
    ]


class DecoderLayer(ctypes.Structure):
    """A pre-norm decoder layer."""

    _fields_: ClassVar = [
        ("attention_norm", ctypes.c_void_p),
        ("mlp_norm", ctypes.c_void_p),
        ("query_norm", ctypes.c_void_p),
        ("key_norm", ctypes.c_void_p),
        ("qkv", Linear),
        ("value", Linear),
        ("output", Linear),
        ("gate_up", Linear),
        ("down", Linear),
        ("attention", Layer),
        ("epsilon", ctypes.c_float),
        ("residual_factor", ctypes.c_float),
        ("rotates", ctypes.c_int32),
        ("activation", ctypes.c_int32),
    ]


class Decoder(ctypes.Structure):
    """A stack of layers, with the embedding below and the head above."""

    _fields_: ClassVar = [
        ("num_layers", ctypes.c_int64),
        ("hidden", ctypes.c_int64),
        ("layers", ctypes.c_void_p),
        ("final_norm", ctypes.c_void_p),
        ("head", Linear),
        ("embedding", ctypes.c_void_p),
        ("embedding_dtype", ctypes.c_int32),
        ("rotary_width", ctypes.c_int32),
        ("cosines", ctypes.c_void_p),
        ("sines", ctypes.c_void_p),
        ("epsilon", ctypes.c_float),
        ("embedding_factor", ctypes.c_float),
        ("logit_factor", ctypes.c_float),
        ("reserved", ctypes.c_float),
    ]


class DecoderCall(ctypes.Structure):
    """A decoder's inputs and outputs in one step."""

    _fields_: ClassVar = [
        ("token_ids", ctypes.c_void_p),
        ("logit_rows", ctypes.c_void_p),
        ("num_logit_rows", ctypes.c_int64),
        ("logits", ctypes.c_void_p),
        ("beats", ctypes.c_void_p),
    ]
