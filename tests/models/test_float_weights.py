"""Checkpoints in fp8 and mxfp4, widened, load as their twins in bfloat16, to the last bit."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from tests.conformance.case import Case
from tests.conformance.wrapped import WRAPPED
from tests.conformance.zoo import CASES
from tests.models.float_files import (
    BLOCK,
    FORMS,
    MODELOPT,
    MXFP4,
    UNEVEN,
    Float8,
    blocks_of,
    compressed,
    write_mxfp4,
    write_twins,
)
from tests.models.folders import edit_json
from yaie.base.errors import ModelUnsupported, NotEnoughMemory
from yaie.base.settings import EngineConfig
from yaie.cli.models import inspect_model
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.quantization_config import read_quantization
from yaie.models.files.checkpoint import read_checkpoint, read_config
from yaie.models.load import loader
from yaie.models.load.loader import load_model
from yaie.models.quantization.checkpoint_layers import read_stored_layout
from yaie.models.quantization.dequantize_float import widen_float8, widen_mxfp4

CASE = {case.name: case for case in CASES}
WRAPPERS = {case.name: case for case in WRAPPED}
MINISTRAL = next(case for case in WRAPPED if case.settings.get("model_type") == "ministral3")
KIMI, QWEN3_VL = WRAPPERS["kimi-k25"], WRAPPERS["qwen3-vl"]
# Targets as compressed-tensors writes them: by the names of the file.
BY_NAMES = replace(
    FORMS[9],
    name="by names",
    config=compressed("tensor", targets=("re:.*language_model.*",)),
)
WIDE_CASE = Case(
    "wide",
    "LlamaForCausalLM",
    "",
    {"hidden_size": 192, "intermediate_size": 200, "num_hidden_layers": 2},
)
IN_DEFAULT = {"blocks of 128", "exponents as bytes", "static", "channel"}
UP = "model.layers.1.mlp.up_proj"


def load(folder: Path, **settings: Any) -> LoadedModel:
    settings = {"num_slots": 128, "device": "cpu", **settings}
    return load_model(EngineConfig(model=str(folder), **settings), may_pack=False)


def assert_same(found: LoadedModel, expected: LoadedModel) -> None:
    assert found.model is not None
    assert expected.model is not None
    weights, twins = found.model.state_dict(), expected.model.state_dict()
    assert weights.keys() == twins.keys()
    for name, weight in weights.items():
        assert weight.dtype == twins[name].dtype, name
        assert torch.equal(weight, twins[name]), name


def leveled(*values: Any, default: bool) -> Any:
    """Leave a case to the integration run unless it is a default one."""
    return pytest.param(*values, marks=() if default else pytest.mark.integration)


@pytest.mark.parametrize(
    "form", [leveled(form, default=form.name in IN_DEFAULT) for form in FORMS], ids=str
)
def test_fp8_is_widened_by_its_scales(form: Float8, tmp_path: Path) -> None:
    stored, wide = write_twins(WIDE_CASE, form.write, form.config, tmp_path)
    found, twin = load(stored), load(wide)
    assert found.dtype is torch.bfloat16
    assert_same(found, twin)
    assert found.metadata.quantization is None
    assert found.metadata.weight_bytes == twin.metadata.weight_bytes
    assert found.metadata.planned_weight_bytes == pytest.approx(
        twin.metadata.planned_weight_bytes, rel=0.02
    )


@pytest.mark.parametrize(
    ("family", "form"),
    [
        ("qwen3-moe", UNEVEN),  # an expert in each tensor
        leveled("mixtral", UNEVEN, default=False),
        leveled("minimax-m2", UNEVEN, default=False),
        ("gpt-oss", UNEVEN),  # all experts in one tensor
        leveled("gpt-oss", FORMS[5], default=False),
        leveled("deepseek-v3", UNEVEN, default=False),
        leveled("phi3", UNEVEN, default=False),
    ],
    ids=str,
)
def test_fp8_of_other_families(family: str, form: Float8, tmp_path: Path) -> None:
    stored, wide = write_twins(CASE[family], form.write, form.config, tmp_path)
    assert_same(load(stored), load(wide))


@pytest.mark.parametrize(
    ("case", "form"),
    [
        (MINISTRAL, FORMS[5]),  # static scales
        (KIMI, UNEVEN),  # other names of layers in the file
        leveled(KIMI, BY_NAMES, default=False),
        (QWEN3_VL, BY_NAMES),
    ],
    ids=lambda value: value.name,
)
def test_fp8_of_the_text_of_a_wrapper(case: Case, form: Float8, tmp_path: Path) -> None:
    stored, wide = write_twins(case, form.write, form.config, tmp_path)
    found = load(stored)
    assert found.metadata.architecture == case.architecture
    assert_same(found, load(wide))


def test_experts_in_one_tensor_by_the_names_of_the_model(tmp_path: Path) -> None:
    """Experts that transformers would join from a tensor each, joined in the checkpoint."""
    stored, wide = write_twins(CASE["qwen3-moe"], BLOCK.write, BLOCK.config, tmp_path, "self_attn")
    joined = dict(load(wide).model.state_dict())  # type: ignore[union-attr]
    tensors = load_file(stored / "model.safetensors")
    tensors = {name: each for name, each in tensors.items() if ".experts." not in name}
    for name, weight in joined.items():
        if ".experts." in name:
            assert weight.dim() == 3
            parts, joined[name] = BLOCK.write(name, weight.float())
            tensors |= parts
    save_file(tensors, stored / "model.safetensors", metadata={"format": "pt"})
    found = load(stored).model.state_dict()  # type: ignore[union-attr]
    for name, weight in joined.items():
        assert torch.equal(found[name], weight), name


def test_mxfp4_experts_are_widened(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stored, wide = write_twins(CASE["gpt-oss"], write_mxfp4, MXFP4, tmp_path, only=".experts.")
    with caplog.at_level(logging.INFO):
        found = load(stored)
    assert_same(found, load(wide))
    assert "8 quantized layers are dequantized to torch.bfloat16: no kernel" in caplog.text
    tensors = load_file(stored / "model.safetensors")
    name = "model.layers.0.mlp.experts.down_proj"
    theirs = convert_moe_packed_tensors(tensors[f"{name}_blocks"], tensors[f"{name}_scales"])
    assert torch.equal(found.model.get_parameter(name), theirs)  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_quantization_after_widening(kind: str, tmp_path: Path) -> None:
    """It gives what it gives for the twin, with the twin's memory figures."""
    stored, wide = write_twins(CASE["llama"], UNEVEN.write, UNEVEN.config, tmp_path)
    found, twin = (load(f, quantization=kind, calibrate="none") for f in (stored, wide))
    assert_same(found, twin)
    assert found.metadata.quantization == twin.metadata.quantization
    assert found.metadata.planned_weight_bytes == twin.metadata.planned_weight_bytes
    for name, module in found.model.named_modules():  # type: ignore[union-attr]
        if hasattr(module, "quantized"):
            other = twin.model.get_submodule(name)  # type: ignore[union-attr]
            assert torch.equal(module.quantized.values, other.quantized.values)
            assert torch.equal(module.quantized.scales, other.quantized.scales)


def test_every_value_of_a_byte() -> None:
    """All 256 values of e4m3; NaNs stay NaNs, so that loading refuses them."""
    byte = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).view(2, 128)
    found = widen_float8("x", byte, torch.tensor(2.0), None, torch.float32)
    for value, got in zip(byte.flatten(), found.flatten(), strict=True):
        assert float(got) == 2 * float(value) or (value.isnan() and got.isnan())


@pytest.mark.parametrize("block", [None, (64, 96)])
@pytest.mark.parametrize("scales", [1, 700])
def test_rows_are_widened_in_slices(block: Any, scales: int) -> None:
    """As in one product: matrices of more rows than are widened at once, cut off at the end."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(700, 1000, generator=generator).to(torch.float8_e4m3fn)
    shape = (11, 11) if block else (scales, 1)
    grid = torch.rand(shape, generator=generator) + 0.5
    rows, columns = block or (700 // scales, 1000)
    factors = grid[torch.arange(700) // rows][:, torch.arange(1000) // columns]
    for dtype in (torch.bfloat16, torch.float32):
        found = widen_float8("x", values, grid, block, dtype)
        assert torch.equal(found, (values.float() * factors).to(dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_every_pair_of_mxfp4(dtype: torch.dtype) -> None:
    """All bytes and all finite scales, against transformers'."""
    blocks = torch.arange(256, dtype=torch.uint8).repeat(255).view(1, 255, 16, 16)
    exponents = torch.arange(255, dtype=torch.uint8)[None, :, None].expand(1, 255, 16)
    found = widen_mxfp4("x", blocks, exponents.contiguous(), dtype)
    theirs = convert_moe_packed_tensors(blocks, exponents.contiguous(), dtype=torch.float32)
    assert torch.equal(found, theirs.to(dtype))
    assert found.shape == (1, 512, 255)


CHANGES = [
    (lambda t: t.pop(f"{UP}.weight_scale_inv"), f"{UP}.*weight_scale_inv is missing"),
    (
        lambda t: t.update({f"{UP}.weight_scale_inv": torch.ones(2, 2)}),
        f"{UP}.*its scales are of type F32 and shape .2, 2., for 96 outputs and 64 inputs",
    ),
    (
        lambda t: t[f"{UP}.weight_scale_inv"].fill_(torch.nan),
        f"{UP}.*its scales are not finite",
    ),
    (
        lambda t: t.pop(f"{UP}.weight"),
        f"{UP}.*weight_scale_inv is present, but its quantized weights are missing",
    ),
    (
        lambda t: t[f"{UP}.weight"].view(torch.uint8).fill_(0x7F),
        f"{UP}.weight contains non-finite numbers",
    ),
]


def expect_damage(stored: Path, change: Any, reason: str) -> None:
    """Change the tensors of a checkpoint, and require that its load names the damage."""
    tensors = load_file(stored / "model.safetensors")
    change(tensors)
    save_file(tensors, stored / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnsupported, match=reason) as refused:
        load(stored)
    assert refused.value.code == "model_damaged"


@pytest.mark.parametrize(("change", "reason"), CHANGES)
def test_damaged_weights_are_named(change: Any, reason: str, tmp_path: Path) -> None:
    stored, _ = write_twins(CASE["llama"], UNEVEN.write, UNEVEN.config, tmp_path)
    expect_damage(stored, change, reason)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (MXFP4, "names no quantization for .*F8_E4M3"),
        (MODELOPT | {"quant_algo": "NVFP4"}, "names no quantization for .*F8_E4M3"),
        (blocks_of(128, 128) | {"weight_block_size": [0, 1]}, "damaged: the block of a scale"),
        (compressed("channel", num_bits=4), "float with 4 bits"),
        (compressed("attn_head"), "scaled by attn_head"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], reason: str, tmp_path: Path) -> None:
    stored, _ = write_twins(CASE["llama"], UNEVEN.write, settings, tmp_path)
    with pytest.raises(ModelUnsupported, match=reason):
        load(stored)


def test_a_missing_scale_of_mxfp4_is_named(tmp_path: Path) -> None:
    stored, _ = write_twins(CASE["gpt-oss"], write_mxfp4, MXFP4, tmp_path, only=".experts.")
    tensors = load_file(stored / "model.safetensors")
    name = "model.layers.2.mlp.experts.gate_up_proj"
    del tensors[f"{name}_scales"]
    save_file(tensors, stored / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnsupported, match=f"{name} are damaged: {name}_scales is missing"):
        load(stored)


@pytest.mark.parametrize("quantization", [None, "int8"])
def test_a_model_too_large_when_widened_is_refused_with_both_sizes(
    quantization: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, _ = write_twins(CASE["gpt-oss"], write_mxfp4, MXFP4, tmp_path, only=".experts.")
    layout = read_stored_layout(read_config(stored), read_checkpoint(stored))
    assert layout is not None
    free = layout.nbytes(2, packed=False)  # and nothing for activations
    monkeypatch.setattr(loader, "free_bytes", lambda _: free)
    with pytest.raises(NotEnoughMemory, match=r"Its files take .* no kernel computes in mxfp4"):
        load(stored, quantization=quantization)


def test_config_of_modelopt_in_its_own_file(tmp_path: Path) -> None:
    form = FORMS[-1]
    stored, wide = write_twins(CASE["llama"], form.write, {}, tmp_path)
    content = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8"}}
    (stored / "hf_quant_config.json").write_text("{}")
    edit_json(stored / "hf_quant_config.json", **content)
    assert_same(load(stored), load(wide))


def test_the_list_of_models_names_the_format(tmp_path: Path) -> None:
    stored, _ = write_twins(CASE["llama"], BLOCK.write, BLOCK.config, tmp_path)
    found = inspect_model("x", stored)
    assert (found.refused, found.quantization) == ("", "fp8 by fp8")


def test_kv_scales_are_noticed() -> None:
    settings = MODELOPT | {"kv_cache_scheme": {"num_bits": 8}}
    found = read_quantization({"quantization_config": settings})
    assert found is not None
    assert found.has_kv_scales


def test_unstated_blocks_are_those_of_128(tmp_path: Path) -> None:
    """Older configs leave `weight_block_size` out."""
    config = {k: v for k, v in BLOCK.config.items() if k != "weight_block_size"}
    form = replace(BLOCK, config=config)
    stored, wide = write_twins(WIDE_CASE, form.write, form.config, tmp_path)
    assert_same(load(stored), load(wide))
