"""Quantization at load: the error to the originals, and equal results of both executors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.models.folders import make_llama
from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig
from yaie.engine.core import EngineCore
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels.library_search import load
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization import quantized_weights
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.quantized_weights import (
    QuantizedLinear,
    QuantizedWeight,
    join,
)

_CASES = {case.name: case for case in CASES}
KINDS = ["int8", "int4"]

needs_library = pytest.mark.skipif(
    load() is None, reason="no kernel library: without a compiler torch serves"
)


def more(*names: str) -> list[Any]:
    """Return further models for the integration level."""
    return [pytest.param(name, marks=pytest.mark.integration) for name in names]


def load_case(name: str, folder: Path, kind: str | None, *, may_pack: bool = True) -> LoadedModel:
    save(_CASES[name], _CASES[name].build(), folder)
    config = EngineConfig(model=str(folder), num_slots=256, quantization=kind)  # type: ignore[arg-type]
    return load_model(config, may_pack=may_pack)


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize(("kind", "bound"), [("int8", 0.009), ("int4", 0.11)])
def test_the_rounding_error_is_bounded(kind: str, bound: float) -> None:
    torch.manual_seed(0)
    weight = torch.randn(1100, 256)
    rounded = quantize_weight(weight, kind)
    assert rounded.values.dtype == torch.int8
    assert relative_error(rounded.dequantize(torch.float32), weight) < bound


def test_int8_is_within_half_a_step_of_every_weight() -> None:
    weight = torch.randn(40, 96) * torch.rand(40, 1) * 100
    rounded = quantize_weight(weight, "int8")
    error = (rounded.dequantize(torch.float32) - weight).abs()
    assert bool((error <= rounded.scales * 0.5001).all())


def test_rows_of_zeros_and_odd_widths_are_kept() -> None:
    weight = torch.randn(6, 37)
    weight[2] = 0
    for kind in KINDS:  # no group divides 37: int4 becomes int8
        rounded = quantize_weight(weight, kind)
        assert rounded.bits == 8
        assert torch.equal(rounded.dequantize(torch.float32)[2], torch.zeros(37))
    assert quantize_weight(torch.randn(4, 96), "int4").group_size == 32


def test_the_step_is_chosen_for_the_least_error() -> None:
    torch.manual_seed(1)
    weight = torch.randn(64, 64)
    best = relative_error(quantize_weight(weight, "int4").dequantize(torch.float32), weight)
    steps = weight.abs().amax(-1, keepdim=True) / 7
    plain = (weight / steps).round().clamp(-8, 7) * steps
    assert best < relative_error(plain, weight)


def test_weights_of_different_formats_are_not_joined() -> None:
    bytes_, nibbles = (quantize_weight(torch.randn(8, 64), kind) for kind in KINDS)
    assert join([bytes_, nibbles]) is None
    joined = join([bytes_, bytes_])
    assert joined is not None
    assert joined.values.shape == (16, 64)


def test_a_layer_follows_its_model_to_another_device() -> None:
    layer = QuantizedLinear(quantize_weight(torch.randn(8, 64), "int4"), torch.zeros(8))
    moved = layer.to("meta")
    assert moved.quantized is not None
    assert moved.quantized.values.device.type == "meta"
    assert moved.bias is not None
    assert moved.bias.device.type == "meta"
    assert layer.to(torch.bfloat16).quantized.scales.dtype == torch.float32  # type: ignore[union-attr]


def multiply_rounded(self: QuantizedLinear, x: torch.Tensor) -> torch.Tensor:
    """Compute like the kernels: rows become bytes too, with a scale for each group.

    int8 leaves the outliers of a row in floating point.
    """
    assert self.quantized is not None
    is_outlier = x.abs() > 4 * x.square().mean(-1, keepdim=True).sqrt()
    outliers = torch.where(is_outlier & (self.quantized.bits == 8), x, 0.0)
    grouped = (x - outliers).view(*x.shape[:-1], -1, self.quantized.group_size)
    peak = grouped.abs().amax(-1, keepdim=True).clamp_min(1e-30)
    rounded = ((grouped * (127 / peak)).round() * (peak / 127)).view(x.shape)
    weight = self.quantized.dequantize(x.dtype)
    return nn.functional.linear(rounded + outliers, weight, self.bias)


@needs_library
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["llama-tied", "qwen3", *more("llama", "qwen2", "granite", "phi3")]
)
def test_the_kernels_agree_with_dequantized_weights(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In these models one different rounding changes every logit."""
    loaded = load_case(name, tmp_path, kind)
    plain = choose_executor(loaded, may_pack=False).execute(comparison_plan(loaded))
    with monkeypatch.context() as patch:
        patch.setattr(QuantizedLinear, "forward", multiply_rounded)
        twin = load_case(name, tmp_path, kind)
        expected = choose_executor(twin, may_pack=False).execute(comparison_plan(twin))
    loaded = load_case(name, tmp_path, kind)
    executor = choose_executor(loaded)
    assert executor.name == "native"
    found = executor.execute(comparison_plan(loaded))
    assert relative_error(found, expected) < 0.03
    assert 0 < relative_error(found, plain) < 0.2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["gemma2", *more("gpt-oss", "olmo2", "qwen3-moe")])
def test_models_run_by_transformers_are_quantized_too(name: str, kind: str, tmp_path: Path) -> None:
    """All but experts, which the kernel library alone keeps quantized."""
    loaded = load_case(name, tmp_path, kind, may_pack=False)
    assert any(isinstance(module, QuantizedLinear) for module in loaded.model.modules())
    found = choose_executor(loaded, may_pack=False).execute(comparison_plan(loaded))
    plain = load_case(name, tmp_path, None)
    executor = choose_executor(plain, may_pack=False)
    original = executor.execute(comparison_plan(plain))
    for layer_name, layer in loaded.model.named_modules():
        if isinstance(layer, QuantizedLinear) and layer.quantized is not None:
            weight = plain.model.get_submodule(layer_name).weight
            weight.data.copy_(layer.quantized.dequantize(torch.float32))  # a tied one too
    expected = executor.execute(comparison_plan(plain))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert relative_error(found, original) > 1e-3


@needs_library
def test_tied_embeddings_equal_the_quantized_head(tmp_path: Path) -> None:
    loaded = load_case("llama-tied", tmp_path, "int8")
    head = loaded.model.get_output_embeddings()  # type: ignore[operator]
    assert isinstance(head, QuantizedLinear)
    assert head.quantized is not None
    embedding = loaded.model.get_input_embeddings().weight  # type: ignore[operator]
    assert torch.equal(embedding, head.quantized.dequantize(embedding.dtype))


@needs_library
def test_packed_weights_take_a_quarter_and_an_eighth(tmp_path: Path) -> None:
    make_llama(tmp_path, hidden_size=256, intermediate_size=512, num_attention_heads=4)
    sizes = [
        load_model(
            EngineConfig(model=str(tmp_path), num_slots=64, quantization=kind)
        ).metadata.weight_bytes  # type: ignore[arg-type]
        for kind in (None, "int8", "int4")
    ]
    assert sizes[1] < 0.3 * sizes[0]
    assert sizes[2] < 0.19 * sizes[0]


@pytest.mark.parametrize(("name", "reported"), [("gpt2", "int8")])
def test_a_large_plain_share_is_logged(
    name: str, reported: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Most of GPT-2, whose head alone is quantized, at int8."""
    loaded = load_case(name, tmp_path, "int4")
    assert loaded.metadata.quantization == reported
    model: Any = loaded.model
    embedding = model.get_input_embeddings().weight
    plain = sum(p.numel() for p in model.parameters() if p is not embedding)
    weights = [m.quantized for m in model.modules() if isinstance(m, QuantizedLinear)]
    rounded = sum(weight.values.numel() for weight in weights if weight is not None)
    share = round(100 * plain / (plain + rounded))
    assert share > 60
    assert f"leaves {share} % of the weights unquantized" in caplog.text


def test_full_quantization_logs_no_share(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert load_case("llama", tmp_path, "int4").metadata.quantization == "int4"
    assert "unquantized" not in caplog.text


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="quantization is 'int3'; it must be one of int8, int4"):
        EngineConfig(quantization="int3")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_reports_its_quantization(kind: str, tiny_model_dir: Path) -> None:
    core = EngineCore(EngineConfig(model=str(tiny_model_dir), num_slots=256, quantization=kind))  # type: ignore[arg-type]
    assert core.info.quantization == kind


def test_dequantized_groups_have_their_own_zero_points() -> None:
    weight = QuantizedWeight(
        bits=4,
        values=torch.tensor([[1, 2, 3, 4]], dtype=torch.int8),
        scales=torch.tensor([[2.0, 10.0]]),
        zero_points=torch.tensor([[1, -1]], dtype=torch.int8),
    )
    assert weight.dequantize(torch.float32).tolist() == [[0.0, 2.0, 40.0, 50.0]]


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_a_large_layer_is_dequantized_in_parts(
    kind: str, has_bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight = quantize_weight(torch.randn(37, 64), kind)
    layer = QuantizedLinear(weight, torch.randn(37) if has_bias else None)
    inputs = torch.randn(3, 64)
    whole = layer(inputs)
    monkeypatch.setattr(quantized_weights, "DEQUANTIZED_AT_ONCE", 64 * 5)
    assert len(list(weight.parts())) == 8
    torch.testing.assert_close(layer(inputs), whole)
