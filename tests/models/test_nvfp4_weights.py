"""Checkpoints in nvfp4, and in rarer forms of fp8, load as their twins in bfloat16."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conformance.case import Case
from tests.conformance.wrapped import WRAPPED
from tests.conformance.zoo import CASES
from tests.models.float_files import BLOCK, E4M3_MOST, LEVELS, MODELOPT, Float8, write_twins
from tests.models.folders import edit_json
from tests.models.test_float_weights import assert_same, expect_damage, load
from yaie.base.errors import ModelUnsupported
from yaie.cli.models import inspect_model
from yaie.models.architecture.quantization_config import read_quantization
from yaie.models.quantization.dequantize_float import widen_nvfp4

CASE = {case.name: case for case in (*CASES, *WRAPPED)}
UP = "model.layers.1.mlp.up_proj"
GROUP = 16


@dataclass(frozen=True)
class Nvfp4:
    """A form of nvfp4 checkpoints. `divides`: the scale of a tensor divides the others."""

    name: str
    config: dict[str, Any]
    packed: str  # suffixes of the module's name
    scale_of_all: str
    of_inputs: str
    divides: bool

    def __str__(self) -> str:
        return self.name

    def write(self, name: str, weight: torch.Tensor) -> tuple[dict[str, torch.Tensor], Any]:
        """Return the tensors of a weight, and the same weight in bfloat16."""
        module = name.removesuffix(".weight")
        of_all = weight.abs().max() / (6.0 * E4M3_MOST)
        groups = weight.view(len(weight), -1, GROUP)
        scales = (groups.abs().amax(-1) / 6.0 / of_all).to(torch.float8_e4m3fn)
        stored_of_all = (1 / of_all) if self.divides else of_all
        factors = scales.float() / stored_of_all if self.divides else scales.float() * of_all
        scaled = groups / factors.clamp_min(1e-12)[..., None]
        index = (scaled.abs()[..., None] - LEVELS).abs().argmin(-1)
        nibbles = (index + 8 * (scaled < 0)).view(weight.shape)
        values = torch.where(scaled < 0, -LEVELS[index], LEVELS[index])
        tensors = {
            f"{module}.{self.packed}": (nibbles[:, 0::2] + 16 * nibbles[:, 1::2]).to(torch.uint8),
            f"{module}.weight_scale": scales,
            f"{module}.{self.scale_of_all}": stored_of_all.reshape([1] if self.divides else []),
            f"{module}.{self.of_inputs}": torch.tensor(0.01),
        }
        return tensors, (values * factors[..., None]).view(weight.shape).bfloat16()


def compressed(**weights: Any) -> dict[str, Any]:
    """Return a compressed-tensors config of weights in nvfp4."""
    number = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": GROUP}
    return {
        "quant_method": "compressed-tensors",
        "format": "nvfp4-pack-quantized",
        "config_groups": {
            "group_0": {
                "targets": ["Linear"],
                "weights": {**number, "dynamic": False, **weights},
                "input_activations": {**number, "dynamic": "local"},
            }
        },
        "ignore": ["lm_head", "re:.*vision_tower.*"],
    }


COMPRESSED = Nvfp4(
    *("compressed-tensors", compressed(), "weight_packed"),
    *("weight_global_scale", "input_global_scale", True),
)
OF_MODELOPT = Nvfp4(
    *("modelopt", {**MODELOPT, "quant_algo": "NVFP4", "ignore": ["lm_head", "vision_tower*"]}),
    *("weight", "weight_scale_2", "input_scale", False),
)
EITHER = (COMPRESSED, OF_MODELOPT)


@dataclass(frozen=True)
class FourDimensions(Float8):
    """Scales of blocks as ModelOpt writes them: [rows, 1, columns, 1]."""

    def write(self, name: str, weight: torch.Tensor) -> tuple[dict[str, torch.Tensor], Any]:
        """Return the tensors of a weight, and the same weight in bfloat16."""
        tensors, wide = super().write(name, weight)
        scales = f"{name}{self.scale_name}"
        return tensors | {scales: tensors[scales][:, None, :, None]}, wide


RARER = (
    FourDimensions(
        "modelopt by block", (128, 128), {**MODELOPT, "quant_algo": "FP8_PB_WO"}, "_scale"
    ),
    Float8("modelopt by block, flat", (128, 128), {**MODELOPT, "quant_algo": "FP8_PB_WO"}),
    Float8(
        *("modelopt by 32", (1, 32), {**MODELOPT, "quant_algo": "MXFP8"}, "_scale"),
        scale_kind="U8",
    ),
    Float8(
        "fbgemm",
        (1, 0),
        {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0},
        "_scale",
        also=("input_scale_ub",),
    ),
)


@pytest.mark.parametrize("form", EITHER, ids=str)
@pytest.mark.parametrize(
    "family",
    ["llama", pytest.param("qwen3-moe", marks=pytest.mark.integration)],
)
def test_nvfp4_is_widened_by_its_scales(family: str, form: Nvfp4, tmp_path: Path) -> None:
    stored, wide = write_twins(CASE[family], form.write, form.config, tmp_path)
    found, twin = load(stored), load(wide)
    assert found.dtype is torch.bfloat16
    assert_same(found, twin)
    assert found.metadata.quantization is None
    assert found.metadata.weight_bytes == twin.metadata.weight_bytes
    listed = inspect_model("x", stored)
    assert listed.refused == ""
    assert listed.quantization == f"nvfp4 by {form.name}"
    assert listed.num_parameters == pytest.approx(twin.metadata.num_parameters, rel=0.05)


@pytest.mark.integration
@pytest.mark.parametrize("form", EITHER, ids=str)
@pytest.mark.parametrize("name", ["mistral3", "kimi-k25"])
def test_nvfp4_of_the_text_of_a_wrapper(name: str, form: Nvfp4, tmp_path: Path) -> None:
    stored, wide = write_twins(CASE[name], form.write, form.config, tmp_path)
    assert_same(load(stored), load(wide))


@pytest.mark.parametrize("form", RARER, ids=str)
def test_rarer_forms_of_fp8(form: Float8, tmp_path: Path) -> None:
    case = Case(
        *("wide", "LlamaForCausalLM", ""),
        {"hidden_size": 192, "intermediate_size": 224, "num_hidden_layers": 2},
    )
    stored, wide = write_twins(case, form.write, form.config, tmp_path)
    assert_same(load(stored), load(wide))


def test_formats_by_layer(tmp_path: Path) -> None:
    """ModelOpt's mixed precision: attention in fp8, the rest in nvfp4."""
    tensor = Float8("tensor", None, MODELOPT, "_scale", flat=True)

    def write(name: str, weight: torch.Tensor) -> tuple[dict[str, torch.Tensor], Any]:
        return (tensor if "self_attn" in name else OF_MODELOPT).write(name, weight)

    stored, wide = write_twins(CASE["llama"], write, {}, tmp_path)
    names = {n.removesuffix(".weight") for n in load_file(wide / "model.safetensors")}
    layers = {
        name: {"quant_algo": "FP8" if "self_attn" in name else "NVFP4", "group_size": GROUP}
        for name in names
        if name.endswith("_proj")
    }
    settings = {**MODELOPT, "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    edit_json(stored / "config.json", quantization_config=settings)
    assert_same(load(stored), load(wide))
    assert inspect_model("x", stored).quantization == "fp8+nvfp4 by modelopt"


def test_config_in_a_file_of_its_own(tmp_path: Path) -> None:
    stored, wide = write_twins(CASE["llama"], OF_MODELOPT.write, {}, tmp_path)
    inner = {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": GROUP}
    content = {"producer": {"name": "modelopt"}, "quantization": inner}
    (stored / "hf_quant_config.json").write_text(json.dumps(content))
    assert_same(load(stored), load(wide))


def test_every_pair_and_every_scale() -> None:
    """All bytes, and all scales in e4m3 that are numbers."""
    packed = torch.arange(256, dtype=torch.uint8).repeat(256, 1)  # 512 inputs, 32 groups
    scale = torch.arange(256, dtype=torch.uint8)[:, None].expand(256, 32).clone()
    scale[scale & 0x7F == 0x7F] = 0
    scales = scale.view(torch.float8_e4m3fn)
    table = torch.cat((LEVELS, -LEVELS))
    values = torch.stack((table[packed.int() & 15], table[packed.int() >> 4]), -1).view(256, 512)
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        found = widen_nvfp4("x", packed, scales, torch.tensor(0.25), dtype)
        expected = values * (scales.float() * 0.25).repeat_interleave(GROUP, 1)
        assert torch.equal(found, expected.to(dtype))


CHANGES: list[tuple[Callable[[dict[str, torch.Tensor]], Any], str]] = [
    (lambda t: t.pop(f"{UP}.weight_scale"), f"{UP}.*weight_scale is missing"),
    (lambda t: t.pop(f"{UP}.weight_scale_2"), f"{UP}.*weight_scale_2 is missing"),
    (lambda t: t[f"{UP}.weight_scale_2"].fill_(torch.nan), f"{UP}.*scales are not finite"),
    (
        lambda t: t.update({f"{UP}.weight_scale": torch.ones(96, 2).to(torch.float8_e4m3fn)}),
        f"{UP}.*its scales are of type F8_E4M3 and shape .96, 2., for 96 outputs and 64 inputs",
    ),
    (
        lambda t: t.pop(f"{UP}.weight"),
        f"{UP}.*weight_scale is present, but its quantized weights are missing",
    ),
]


@pytest.mark.parametrize(("change", "reason"), CHANGES)
def test_damaged_weights_are_named(change: Any, reason: str, tmp_path: Path) -> None:
    stored, _ = write_twins(CASE["llama"], OF_MODELOPT.write, OF_MODELOPT.config, tmp_path)
    expect_damage(stored, change, reason)


def test_a_tensor_scale_of_zero_is_damage(tmp_path: Path) -> None:
    """It divides the others."""
    stored, _ = write_twins(CASE["llama"], COMPRESSED.write, COMPRESSED.config, tmp_path)
    tensors = load_file(stored / "model.safetensors")
    tensors[f"{UP}.weight_global_scale"].zero_()
    save_file(tensors, stored / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnsupported, match=f"{UP}.*scales are not finite"):
        load(stored)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({**MODELOPT, "quant_algo": "W4A8_AWQ"}, "the ModelOpt algorithm W4A8_AWQ is not served"),
        ({**MODELOPT, "quant_algo": "NVFP4_AWQ"}, "algorithm NVFP4_AWQ is not served"),
        (
            {**MODELOPT, "quant_algo": "MIXED_PRECISION", "quantized_layers": 3},
            "damaged: quantized_layers is '3'",
        ),
        (compressed(group_size=32), "nvfp4 of group_0 has groups of 32 inputs"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ModelUnsupported, match=reason):
        read_quantization({"quantization_config": settings})


def test_weights_of_another_form_than_the_config_says(tmp_path: Path) -> None:
    form = replace(OF_MODELOPT, config=BLOCK.config)
    stored, _ = write_twins(CASE["llama"], form.write, form.config, tmp_path)
    with pytest.raises(ModelUnsupported, match=r"names no quantization for .* \(U8\)"):
        load(stored)
