"""Kinds of GGUF tensors: the `gguf` package gives block sizes and decodes blocks. Torch-free."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize
from numpy.typing import NDArray


class TensorKind(NamedTuple):
    """The size of a block. A row of a tensor is a sequence of blocks."""

    num_values: int
    nbytes: int


_SUPPORTED = (
    *("F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K", "Q5_1", "Q5_0", "Q4_K", "Q4_1", "Q4_0"),
    *("Q3_K", "Q2_K", "MXFP4", "IQ4_XS", "IQ4_NL", "IQ3_S", "IQ3_XXS", "IQ2_S", "IQ2_XS"),
    *("IQ2_XXS", "IQ1_M", "IQ1_S", "TQ2_0", "TQ1_0"),
)
KINDS = {name: TensorKind(*GGML_QUANT_SIZES[GGMLQuantizationType[name]]) for name in _SUPPORTED}
# Number of a kind in a file -> its name, as refusals state it.
KIND_NAMES = {kind.value: kind.name for kind in GGMLQuantizationType}


def decode(kind: str, raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return float32 [rows, columns] from the bytes [rows, bytes of a row] of a kind."""
    with np.errstate(all="ignore"):  # a damaged scale may be infinite
        values: NDArray[np.float32] = dequantize(raw, GGMLQuantizationType[kind])
    return values
