"""The packings, compared with words that the formats' own libraries packed.

The digests were taken with compressed-tensors 0.20 (`pack_to_int32`), AutoGPTQ (`QuantLinear.pack`)
and AutoAWQ (`WQLinear_GEMM.from_linear`). They verify the packing of `tests.models.quantized`,
whose checkpoints the loader reads in `test_quantized.py`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests.models.quantized import Integers, Kind, stored
from yaie.models.architecture.quantization_config import read_quantization
from yaie.models.files.checkpoint import read_checkpoint
from yaie.models.quantization.checkpoint_layers import read_layout
from yaie.models.quantization.readers import TensorFiles, read_quantized

PACKED_BY_THE_LIBRARIES = {
    ("pack-quantized", 4): {
        "weight_packed": "165925dd9f822785",
        "weight_zero_point": "71a6494490be40b9",
    },
    ("pack-quantized", 8): {
        "weight_packed": "7f26b7172941b6c3",
        "weight_zero_point": "dfca517401aaed86",
    },
    ("gptq", 4): {"qweight": "b893a87c511f5926", "qzeros": "ebb3554a39eded39"},
    ("gptq", 8): {"qweight": "f197759cba342787", "qzeros": "5f330e3a96e5a8c9"},
    ("awq", 4): {"qweight": "c92097b61caec203", "qzeros": "f77a0eae9a974a50"},
}


def integers(bits: int) -> Integers:
    """Return 32 outputs of 32 inputs in two groups, with all values; zero points are above 0."""
    top = 1 << bits
    outputs, inputs = np.arange(32)[:, None], np.arange(32)[None]
    values = (7 * outputs + 3 * inputs + outputs * inputs // 5) % top
    zeros = 1 + (5 * outputs + 3 * np.arange(2)[None]) % (top - 1)
    scales = np.full((32, 2), 0.25, np.float32)
    return Integers(values.astype(np.uint32), zeros.astype(np.uint32), scales, np.arange(32) // 16)


def digest(tensor: torch.Tensor) -> str:
    return hashlib.sha256(tensor.contiguous().numpy().tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("layout", "bits"), PACKED_BY_THE_LIBRARIES)
def test_packed_words_equal_those_of_the_libraries(layout: str, bits: int) -> None:
    kind = Kind(layout, bits, 16, symmetric=False)
    tensors = stored(integers(bits), kind, torch.float32)
    expected = PACKED_BY_THE_LIBRARIES[layout, bits]
    assert {name: digest(tensors[name]) for name in expected} == expected


@pytest.mark.parametrize("layout", ["pack-quantized", "gptq", "gptq_v2", "awq", "int-quantized"])
@pytest.mark.parametrize("zero", [0, 1, 7, 8, 15])
def test_every_value_is_unpacked(layout: str, zero: int, tmp_path: Path) -> None:
    """Also with zero points of 0, whose neighbours lend a bit in GPTQ's first format."""
    kind = Kind(layout, 4, 16, symmetric=False)
    written = integers(4)
    zeros = written.zeros.copy()
    zeros[::3] = zero
    written = Integers(written.values, zeros, written.scales, written.group_of_input)
    tensors = stored(written, kind, torch.float32)
    names = {f"model.layers.0.mlp.up_proj.{name}": tensor for name, tensor in tensors.items()}
    save_file({**names, "norm.weight": torch.ones(1)}, tmp_path / "model.safetensors")
    quantization = read_quantization({"quantization_config": kind.config()})
    assert quantization is not None
    (layer,) = read_layout(read_checkpoint(tmp_path), quantization).layers
    with TensorFiles() as files:
        weight = read_quantized(layer, files)
    assert weight.zero_points is not None
    assert np.array_equal(weight.values.numpy().astype(int) + 8, written.values)
    assert np.array_equal(weight.zero_points.numpy().astype(int) + 8, zeros)
    assert torch.equal(weight.dequantize(torch.float32), written.dequantize())
