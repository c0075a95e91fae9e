"""Products of quantized weights on a CUDA device, and models that consist of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.models.quantized import LLAMA, Kind, write_pair
from tests.models.quantized_device.cases import Layer, packed
from tests.models.zoo_models import executor_of, load_case
from yaie.base.settings import EngineConfig
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.fused.fused_decoder import build_fused_decoder
from yaie.models.fused.plain import choose_operations
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.device.linear import DeviceLinear
from yaie.models.quantization.device.products import choose_products

pytestmark = pytest.mark.gpu
LAYERS = [
    Layer("int4", 1024, 4096, 64, has_points=True),
    Layer("int4", 333, 896, 7, has_points=True, scale_dtype=torch.float16),
    Layer("int4", 100, 72, 18),
    Layer("int8", 1024, 4096, scale_dtype=torch.float32),
    Layer("int8", 250, 1027),
    Layer("int8", 512, 1024, 8, has_points=True),
    Layer("fp8", 1024, 2048, 16, scale_dtype=torch.float32),
]
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2**-7, torch.float16: 2**-10}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_products_equal_float64_eager_and_captured(
    layer: Layer, dtype: torch.dtype, device: torch.device
) -> None:
    products = choose_products(device)
    assert products.name == "triton"
    _, weight = packed(layer)
    exact_weight, weight = weight.dequantize(torch.float32).double(), weight.to(device)
    for rows in (1, 7, 16, 33, 64, 65, 300):
        x = torch.randn(rows, layer.inputs).to(dtype)
        exact = x.double() @ exact_weight.T
        given = x.to(device)
        output = torch.full((rows, layer.outputs), torch.nan, dtype=dtype, device=device)
        products.multiply(given, weight, None, output)
        bound = TOLERANCE[dtype] * float(exact.abs().max())
        assert float((output.cpu().double() - exact).abs().max()) <= bound
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            products.multiply(given, weight, None, output)
        given.mul_(2)
        output.fill_(torch.nan)
        graph.replay()
        assert float((output.cpu().double() - 2 * exact).abs().max()) <= 2 * bound


def check_model(loaded: LoadedModel, expected: torch.Tensor, bound: float) -> None:
    assert loaded.model is not None
    layers = [m for m in loaded.model.modules() if isinstance(m, DeviceLinear)]
    assert layers and {layer.products.name for layer in layers} == {"triton"}
    executor = executor_of(loaded)
    plan = comparison_plan(loaded)
    before = executor.execute(plan).cpu()
    decoder = build_fused_decoder(loaded, choose_operations(loaded.device))
    assert decoder is not None
    executor.fuse(decoder)
    assert executor.name == "fused"
    for found in (before, executor.execute(plan).cpu()):
        assert float((found - expected).norm() / expected.norm()) < bound


@pytest.mark.parametrize("kind", ["int8", "int4"])
@pytest.mark.parametrize("name", ["llama", "qwen3", "llama-tied"])
def test_models_quantized_at_load_equal_the_cpu(name: str, kind: str, tmp_path: Path) -> None:
    calibrate = "none" if kind == "int4" else None
    settings = {"quantization": kind, "calibrate": calibrate, "dtype": "float32"}
    twin = load_case(name, tmp_path, device="cpu", attention_backend="reference", **settings)
    expected = executor_of(twin).execute(comparison_plan(twin))
    check_model(load_case(name, tmp_path, device="cuda", **settings), expected, 1e-3)


@pytest.mark.parametrize(
    "kind", [Kind("awq", 4, 32, symmetric=False), Kind("gptq", 8, 32), Kind("int-quantized", 8)]
)
def test_quantized_checkpoints_equal_their_twins(kind: Kind, tmp_path: Path) -> None:
    quantized, dequantized = write_pair(LLAMA, kind, tmp_path, dtype=torch.float16)
    assert "quantization_config" in json.loads((quantized / "config.json").read_text())

    def load(folder: Path, device: str) -> LoadedModel:
        config = EngineConfig(
            model=str(folder),
            num_slots=256,
            dtype="float32",
            device=device,
            attention_backend="reference",
        )  # type: ignore[arg-type]
        return load_model(config, may_pack=False)

    twin = load(dequantized, "cpu")
    expected = executor_of(twin).execute(comparison_plan(twin))
    check_model(load(quantized, "cuda"), expected, 1e-3)
