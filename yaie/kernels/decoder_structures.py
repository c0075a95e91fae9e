"""Decoder structures: mirrors of the C decoders and linear layers in `csrc/abi.h`, field by field.

Filled by `yaie.models.native`; checked against the library by `yaie.kernels.layout_check`.
Torch-free.
"""

from __future__ import annotations

import ctypes
from typing import ClassVar

from yaie.kernels.attention_structures import Layer
from yaie.kernels.recurrent_structures import Chains, Convolution, GatedNorm, Recurrence

BLOCKS = {  # the kinds of GGUF blocks in YaieWeights
    "Q4_0": 18,
    "Q4_1": 19,
    "Q5_0": 22,
    "Q5_1": 23,
    "Q8_0": 24,
    "Q2_K": 26,
    "Q3_K": 27,
    "Q4_K": 28,
    "Q5_K": 29,
    "Q6_K": 30,
    "IQ4_NL": 36,
    "IQ4_XS": 39,
    "MXFP4": 55,
}
FINE_BLOCKS = ("Q2_K", "Q3_K", "Q6_K")  # 16 inputs share a scale; in others 32
WEIGHTS = {"bfloat16": 0, "float32": 1, "int8": 2, "int4": 3, "mxfp4": 4, "fp8": 5} | BLOCKS
STORES = {  # YaieStore
    "set": 0,
    "add": 1,
    "gated_silu": 2,
    "gated_gelu": 3,
    "gated_clamped": 4,
    "silu_times": 5,
    "gelu_times": 6,
}
SET = STORES["set"]
OUTPUT_GATES = {"none": 0, "wide": 1, "head": 2}  # YaieOutputGates
MIXERS = {"none": 0, "recurrence": 1, "short_convolution": 2}  # YaieMixerKind
GATED = {"silu": STORES["gated_silu"], "gelu": STORES["gated_gelu"]}
SCORES = {"softmax": 0, "sigmoid": 1}  # YaieScores
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


class Mixer(ctypes.Structure):
    """A recurrent layer with its projections."""

    _fields_: ClassVar = [
        ("kind", ctypes.c_int32),
        ("residual_factor", ctypes.c_float),
        ("norm", ctypes.c_void_p),
        ("norm_after", ctypes.c_void_p),
        ("input", Linear),
        ("input_2", Linear),
        ("input_3", Linear),
        ("input_4", Linear),
        ("output", Linear),
        ("factors", ctypes.c_void_p),
        ("inputs_column", ctypes.c_int64),
        ("product_column", ctypes.c_int64),
        ("gate_column", ctypes.c_int64),
        ("steps_column", ctypes.c_int64),
        ("gates_column", ctypes.c_int64),
        ("queries_column", ctypes.c_int64),
        ("keys_column", ctypes.c_int64),
        ("values_column", ctypes.c_int64),
        ("convolution", Convolution),
        ("recurrence", Recurrence),
        ("gated_norm", GatedNorm),
    ]


class MixerCall(ctypes.Structure):
    """A mixer's rows in one step."""

    _fields_: ClassVar = [
        ("x", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("num_rows", ctypes.c_int64),
        ("chains", Chains),
    ]


class Mixture(ctypes.Structure):
    """A layer's router and experts."""

    _fields_: ClassVar = [
        ("experts", Experts),
        ("router", Linear),
        ("choice_bias", ctypes.c_void_p),
        ("shared_gate", ctypes.c_void_p),
        ("num_chosen", ctypes.c_int64),
        ("scores", ctypes.c_int32),
        ("normalises", ctypes.c_int32),
        ("num_groups", ctypes.c_int32),
        ("chosen_groups", ctypes.c_int32),
        ("factor", ctypes.c_float),
        ("reserved", ctypes.c_float),
    ]


class DecoderLayer(ctypes.Structure):
    """A decoder layer, with norms before or after attention and MLP, and perhaps a mixer."""

    _fields_: ClassVar = [
        ("attention_norm", ctypes.c_void_p),
        ("mlp_norm", ctypes.c_void_p),
        ("norm_after_attention", ctypes.c_void_p),
        ("norm_after_mlp", ctypes.c_void_p),
        ("query_norm", ctypes.c_void_p),
        ("key_norm", ctypes.c_void_p),
        ("wide_query_norm", ctypes.c_void_p),
        ("wide_key_norm", ctypes.c_void_p),
        ("qkv", Linear),
        ("key", Linear),
        ("value", Linear),
        ("output", Linear),
        ("gate_up", Linear),
        ("gate", Linear),
        ("down", Linear),
        ("attention", Layer),
        ("mixer", Mixer),
        ("cosines", ctypes.c_void_p),
        ("sines", ctypes.c_void_p),
        ("epsilon", ctypes.c_float),
        ("residual_factor", ctypes.c_float),
        ("rotary_width", ctypes.c_int32),
        ("activation", ctypes.c_int32),
        ("output_gates", ctypes.c_int32),
        ("attention_factor", ctypes.c_float),
        ("gate_factor", ctypes.c_float),
        ("score_factor", ctypes.c_float),
        ("mixture", ctypes.c_void_p),
        ("sinks", ctypes.c_void_p),
    ]


class Decoder(ctypes.Structure):
    """A stack of layers, with the embedding below and the head above."""

    _fields_: ClassVar = [
        ("num_layers", ctypes.c_int64),
        ("hidden", ctypes.c_int64),
        ("layers", ctypes.c_void_p),
        ("final_norm", ctypes.c_void_p),
        ("head", Linear),
        ("table", Linear),
        ("embedding", ctypes.c_void_p),
        ("embedding_dtype", ctypes.c_int32),
        ("epsilon", ctypes.c_float),
        ("embedding_factor", ctypes.c_float),
        ("logit_factor", ctypes.c_float),
        ("logit_softcap", ctypes.c_float),
        ("reserved", ctypes.c_float),
    ]


class LowRankPointers(ctypes.Structure):
    """A product that an adapter adds to a linear layer's results."""

    _fields_: ClassVar = [
        ("down", ctypes.c_void_p),
        ("up", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("is_bfloat16", ctypes.c_int64),
    ]


class AdapterLayer(ctypes.Structure):
    """An adapter's products in one decoder layer."""

    _fields_: ClassVar = [
        (name, LowRankPointers)
        for name in ("query", "key", "value", "output", "gate", "up", "down")
    ]


class AdapterRows(ctypes.Structure):
    """Consecutive rows with one adapter."""

    _fields_: ClassVar = [
        ("first_row", ctypes.c_int64),
        ("end_row", ctypes.c_int64),
        ("layers", ctypes.c_void_p),
    ]


class DecoderCall(ctypes.Structure):
    """A decoder's inputs and outputs in one step."""

    _fields_: ClassVar = [
        ("token_ids", ctypes.c_void_p),
        ("output_rows", ctypes.c_void_p),
        ("num_logit_rows", ctypes.c_int64),
        ("logits", ctypes.c_void_p),
        ("beats", ctypes.c_void_p),
        ("num_hidden_rows", ctypes.c_int64),
        ("hidden", ctypes.c_void_p),
        ("num_adapted", ctypes.c_int64),
        ("adapted", ctypes.c_void_p),
        ("num_adapted_outputs", ctypes.c_int64),
        ("adapted_outputs", ctypes.c_void_p),
        ("chains", Chains),
    ]
