"""Experts of quantized checkpoints: packed as they are stored, against dequantized twins."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conformance.case import Case
from tests.conformance.mixtures import MIXTURES
from tests.conformance.recurrent import RECURRENT
from tests.models.float_files import BLOCK, FORMS, Float8, write_twins
from tests.models.quantized import Kind, write_pair
from tests.models.test_packed_experts import error_of_experts, find_packed, logits_of
from yaie.base.errors import ModelUnsupported
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_loading import load_executor
from yaie.kernels.library_search import load
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.moe import experts_of
from yaie.models.files.checkpoint import read_checkpoint, read_config
from yaie.models.load.expert_tensors import find_experts
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.checkpoint_layers import read_stored_layout
from yaie.models.quantization.quantized_weights import QuantizedWeight

BY_NAME: dict[str, Case] = {case.name: case for case in (*MIXTURES, *RECURRENT)}
BY_FORM = {form.name: form for form in FORMS}
Stored = Kind | Float8
GPTQ, AWQ = Kind("gptq", 4, 32), Kind("awq", 4, 32, symmetric=False)
GROUPS = Kind("gptq", 8, 32)
INT4, INT8 = Kind("pack-quantized", 4, 32), Kind("int-quantized", 8)
CHANNEL = BY_FORM["channel"]
QUICK: list[tuple[str, Stored]] = [
    ("qwen3-moe", GPTQ),
    ("mixtral", AWQ),
    ("glm4-moe", CHANNEL),
    ("deepseek-v3", BLOCK),
    ("qwen3-moe", INT4),
    ("qwen2-moe", INT8),
    ("mixtral", GROUPS),
]
MORE: list[tuple[str, Stored]] = [
    ("qwen3-moe", Kind("gptq_v2", 4, 16, symmetric=False)),
    ("mixtral", Kind("gptq", 4)),
    ("glm4-moe", AWQ),
    ("deepseek-v3", INT4),
    ("minimax-m2", BLOCK),
    ("qwen3-moe", Kind("pack-quantized", 8)),
    ("glm4-moe", Kind("pack-quantized", 8, 32)),
    ("qwen3-moe", Kind("pack-quantized", 4, 32, symmetric=False)),
    ("qwen3-moe", BY_FORM["exponents as bytes"]),
    ("qwen3-moe", BY_FORM["static"]),
    ("qwen3-next", GPTQ),
    ("qwen3.5-moe", INT4),
    ("lfm2-moe", INT4),
    ("phimoe", GPTQ),
    ("ernie4-5-moe", INT4),
]

pytestmark = pytest.mark.skipif(
    load() is None, reason="no kernel library: without a compiler experts are dequantized"
)


def leveled(name: str, form: Stored, *, default: bool) -> Any:
    marks = () if default else pytest.mark.integration
    return pytest.param(name, form, id=f"{name}, {form}", marks=marks)


CASES = [leveled(*each, default=True) for each in QUICK]
CASES += [leveled(*each, default=False) for each in MORE]


def kind_of(form: Stored) -> str:
    if isinstance(form, Float8):
        return "fp8"
    return "Q8_0" if form.bits == 8 and form.group else f"int{form.bits}"


def write(name: str, form: Stored, root: Path, **changes: Any) -> tuple[Path, Path]:
    """Write a quantized checkpoint and its dequantized twin."""
    case = BY_NAME[name]
    case = replace(case, settings={**case.settings, **changes}) if changes else case
    if isinstance(form, Kind):
        return write_pair(case, form, root)
    return write_twins(case, form.write, form.config, root)


def start(folder: Path, *, may_pack: bool = True, **settings: Any) -> LoadedModel:
    config = EngineConfig(model=str(folder), num_slots=256, calibrate="none", **settings)
    return load_model(config, may_pack=may_pack)


def modules_of(loaded: LoadedModel) -> dict[str, Any]:
    assert loaded.model is not None
    return dict(loaded.model.named_modules())


@pytest.mark.parametrize(("name", "form"), CASES)
def test_experts_stay_as_they_are_stored(name: str, form: Stored, tmp_path: Path) -> None:
    stored, wide = write(name, form, tmp_path)
    loaded, twin = start(stored), start(wide, may_pack=False)
    packed, experts = find_packed(loaded), experts_of(twin.model)  # type: ignore[arg-type]
    assert len(packed) == len(experts) > 0
    # With one group for all inputs, 8 bits are int8.
    assert {str(each.kind).removesuffix("+int8") for each in packed} == {kind_of(form)}
    assert kind_of(form) in str(loaded.metadata.quantization).split("+")
    for module, expected in experts.items():
        found = modules_of(loaded)[module]
        assert error_of_experts(found, expected.float()) < 0.04  # rows of bytes
    found, expected = logits_of(loaded), logits_of(twin)
    error = (found - expected).norm(dim=-1) / expected.norm(dim=-1)
    assert float(error.median()) < 0.08
    assert loaded.metadata.num_parameters == twin.metadata.num_parameters


@pytest.mark.parametrize(("name", "form"), CASES)
def test_weights_are_those_of_the_twin(name: str, form: Stored, tmp_path: Path) -> None:
    stored, wide = write(name, form, tmp_path)
    twin = start(wide, may_pack=False).model
    assert twin is not None
    layout = read_stored_layout(read_config(stored), read_checkpoint(stored))
    sources = find_experts(twin, {}, layout, rounds=False)
    assert len(sources) == len(experts_of(twin))
    for source in sources:
        for part in ("gate_up_proj", "down_proj"):
            for index, joined in enumerate(twin.get_parameter(f"{source.name}.{part}")):
                found = source.read(index, part)
                assert not isinstance(found, torch.Tensor)
                expected = source.layout.matrix(joined, is_gated=part == "gate_up_proj")
                assert torch.equal(found.dequantize(joined.dtype), expected)


@pytest.mark.parametrize(
    ("form", "ratio"),
    [(GPTQ, 0.5 + 2 / 32), (BLOCK, 1 + 4 / 128), (INT8, 1 + 4 / 256), (GROUPS, 34 / 32)],
    ids=str,
)
def test_experts_take_their_stored_bytes(form: Stored, ratio: float, tmp_path: Path) -> None:
    stored, _ = write(
        "qwen3-moe", form, tmp_path, hidden_size=256, moe_intermediate_size=256, num_experts=8
    )
    loaded = start(stored)
    packed = find_packed(loaded)
    held = sum(each.nbytes(packed=True) for each in packed)
    weights = sum(each.num_weights for each in packed)
    assert held == pytest.approx(ratio * weights, rel=0.01)
    assert loaded.metadata.planned_weight_bytes == pytest.approx(
        loaded.metadata.weight_bytes, rel=0.02
    )


def test_routers_and_other_layers_are_those_of_the_twin(tmp_path: Path) -> None:
    stored, wide = write("qwen3-moe", GPTQ, tmp_path)
    loaded, twin = start(stored), start(wide, may_pack=False)
    routers = [name for name in modules_of(twin) if name.endswith(".mlp.gate")]
    assert routers
    for name in routers:
        assert torch.equal(modules_of(loaded)[name].weight, modules_of(twin)[name].weight)


ORDERED = Kind("gptq", 4, 16, ordered=True)
WITH_POINTS = Kind("pack-quantized", 8, symmetric=False)


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (ORDERED, "inputs ordered by activation"),
        (WITH_POINTS, "8 bits with zero points"),
    ],
    ids=str,
)
def test_weights_without_a_kernel_are_dequantized_or_rounded(
    form: Kind, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored, wide = write("qwen3-moe", form, tmp_path)
    twin = start(wide, may_pack=False)
    loaded = start(stored)
    assert not find_packed(loaded)
    assert f"no kernel computes in their weights ({reason}" in caplog.text
    for name, module in experts_of(twin.model).items():  # type: ignore[arg-type]
        for part, weight in module.named_parameters():
            assert torch.equal(getattr(modules_of(loaded)[name], part), weight)
    rounded = start(stored, quantization="int8")
    assert {each.kind for each in find_packed(rounded)} == {"int8"}
    for name, module in experts_of(twin.model).items():  # type: ignore[arg-type]
        assert error_of_experts(modules_of(rounded)[name], module) < 0.03


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_fp8_is_rounded_if_asked(kind: str, tmp_path: Path) -> None:
    stored, _ = write("qwen3-moe", BLOCK, tmp_path)
    loaded = start(stored, quantization=kind)
    assert {each.kind for each in find_packed(loaded)} == {kind}
    assert loaded.metadata.quantization == kind


def test_integers_stay_beside_rounded_layers(tmp_path: Path) -> None:
    stored, _ = write("qwen3-moe", GPTQ, tmp_path)
    loaded = start(stored, quantization="int8")
    assert {each.kind for each in find_packed(loaded)} == {"int4"}


def test_experts_in_one_tensor_of_fp8(tmp_path: Path) -> None:
    """As wrappers with fused experts are published."""
    stored, wide = write("qwen3-moe", BLOCK, tmp_path)
    file = stored / "model.safetensors"
    tensors = load_file(file)
    for layer in range(BY_NAME["qwen3-moe"].config().num_hidden_layers):
        name = f"model.layers.{layer}.mlp.experts"
        for target, parts in (
            ("gate_up_proj", ("gate_proj", "up_proj")),
            ("down_proj", ("down_proj",)),
        ):
            for end, joined in ((".weight", ""), (".weight_scale_inv", "_scale_inv")):
                rows = [
                    [tensors.pop(f"{name}.{index}.{part}{end}") for part in parts]
                    for index in range(4)
                ]
                if end == ".weight":
                    tensors[name + f".{target}"] = torch.stack([torch.cat(each) for each in rows])
                    continue
                # Both halves have a scale for 128 outputs, of which a half has 32.
                tensors[name + f".{target}{joined}"] = torch.stack([each[0] for each in rows])
    save_file(tensors, file, {"format": "pt"})
    loaded = start(stored)
    assert {each.kind for each in find_packed(loaded)} == {"fp8"}
    down = experts_of(start(wide, may_pack=False).model)  # type: ignore[arg-type]
    layout = read_stored_layout(read_config(stored), read_checkpoint(stored))
    for source in find_experts(start(wide, may_pack=False).model, {}, layout, rounds=False):
        for index, joined in enumerate(down[source.name].down_proj):
            found = source.read(index, "down_proj")
            assert isinstance(found, QuantizedWeight)
            assert torch.equal(found.dequantize(joined.dtype), joined)


@pytest.mark.parametrize("part", ["qweight", "scales"])
def test_a_missing_part_of_an_expert_is_named(part: str, tmp_path: Path) -> None:
    stored, _ = write("qwen3-moe", GPTQ, tmp_path)
    file = stored / "model.safetensors"
    tensors = load_file(file)
    name = "model.layers.1.mlp.experts.2.down_proj"
    del tensors[f"{name}.{part}"]
    save_file(tensors, file, {"format": "pt"})
    with pytest.raises(ModelUnsupported, match=name):
        start(stored)


def test_scales_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    stored, _ = write("qwen3-moe", GPTQ, tmp_path)
    file = stored / "model.safetensors"
    tensors = load_file(file)
    name = "model.layers.1.mlp.experts.2.down_proj"
    tensors[f"{name}.scales"][0, 3] = torch.inf
    save_file(tensors, file, {"format": "pt"})
    with pytest.raises(ModelUnsupported, match=f"{name} are damaged: its scales are not finite"):
        start(stored)


def test_a_layer_of_plain_experts_stays_plain(tmp_path: Path) -> None:
    """Recipes exclude the experts of some layers."""
    stored, wide = write("qwen3-moe", INT4, tmp_path)
    file = stored / "model.safetensors"
    name = "model.layers.1.mlp.experts"
    tensors = {each: t for each, t in load_file(file).items() if not each.startswith(name)}
    twins = load_file(wide / "model.safetensors")
    tensors |= {each: t for each, t in twins.items() if each.startswith(name)}
    save_file(tensors, file, {"format": "pt"})
    loaded, twin = start(stored), start(wide, may_pack=False)
    assert len(find_packed(loaded)) == len(experts_of(twin.model)) - 1  # type: ignore[arg-type]
    found, expected = (modules_of(each)[name].down_proj for each in (loaded, twin))
    assert torch.equal(found, expected)
    error = (logits_of(loaded) - logits_of(twin)).norm(dim=-1) / logits_of(twin).norm(dim=-1)
    assert float(error.median()) < 0.08


def test_a_second_start_reads_packed_experts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored, _ = write("qwen3-moe", AWQ, tmp_path)
    config = EngineConfig(
        model=str(stored), num_slots=256, weights_cache=str(tmp_path / "cache"), dtype="bfloat16"
    )
    with caplog.at_level(logging.INFO):
        first, writer = load_executor(config)
        assert writer is not None and writer.wait(60)
        assert "experts stay in int4, as they are stored" in caplog.text
        caplog.clear()
        second, writer = load_executor(config)
    assert writer is None and "experts stay" not in caplog.text
    plan = comparison_plan(first.loaded)
    assert torch.equal(first.execute(plan), second.execute(plan))
    assert first.loaded.metadata == second.loaded.metadata
