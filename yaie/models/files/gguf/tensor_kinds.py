"""Kinds of GGUF tensors: the number of values in a block, and the bytes of a block. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TensorKind:
    """The size of a block. A row of a tensor is a sequence of blocks."""

    num_values: int
    nbytes: int


# Supported kinds by name.
KINDS = {
    "F32": TensorKind(1, 4),
    "F16": TensorKind(1, 2),
    "BF16": TensorKind(1, 2),
    "Q8_0": TensorKind(32, 34),
    "Q6_K": TensorKind(256, 210),
    "Q5_K": TensorKind(256, 176),
    "Q5_1": TensorKind(32, 24),
    "Q5_0": TensorKind(32, 22),
    "Q4_K": TensorKind(256, 144),
    "Q4_1": TensorKind(32, 20),
    "Q4_0": TensorKind(32, 18),
}

# Number of a kind in a file -> its name, as refusals state it.
KIND_NAMES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    6: "Q5_0",
    7: "Q5_1",
    8: "Q8_0",
    9: "Q8_1",
    10: "Q2_K",
    11: "Q3_K",
    12: "Q4_K",
    13: "Q5_K",
    14: "Q6_K",
    15: "Q8_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    29: "IQ1_M",
    30: "BF16",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
    40: "NVFP4",
}
