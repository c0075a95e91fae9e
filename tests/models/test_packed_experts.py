"""Experts that are rounded and packed as they are read, against their dequantized twins."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conformance.case import Case, save
from tests.conformance.mixtures import MIXTURES
from tests.models.float_files import MXFP4, write_mxfp4, write_twins
from yaie.base.errors import ModelUnsupported
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels.library_search import load
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.moe import experts_of
from yaie.models.files.checkpoint import read_checkpoint, read_config
from yaie.models.load.expert_tensors import find_experts
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.native.packed_experts import PackedExperts, read_layout
from yaie.models.quantization.checkpoint_layers import read_stored_layout
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.quantized_weights import QuantizedWeight

BY_NAME = {case.name: case for case in MIXTURES}
KINDS = ["int8", "int4"]
QUICK = ("qwen3-moe", "gpt-oss")
CASES = [
    pytest.param(case, id=case.name, marks=[pytest.mark.integration] * (case.name not in QUICK))
    for case in MIXTURES
]

pytestmark = pytest.mark.skipif(
    load() is None, reason="no kernel library: without a compiler torch serves"
)


def config_for(folder: Path, kind: str | None) -> EngineConfig:
    return EngineConfig(model=str(folder), num_slots=256, quantization=kind, calibrate="none")  # type: ignore[arg-type]


def round_experts(model: Any, kind: str) -> int:
    """Replace a model's experts by their rounded weights; return the number of matrices."""
    number = 0
    for module in experts_of(model).values():
        layout = read_layout(module)
        for part in ("gate_up_proj", "down_proj"):
            for joined in getattr(module, part):
                weight = layout.matrix(joined, is_gated=part == "gate_up_proj")
                wide = quantize_weight(weight, kind).dequantize(joined.dtype)
                if part == "gate_up_proj" and layout.is_interleaved:
                    wide = torch.stack(wide.chunk(2), 1).flatten(0, 1)
                joined.copy_(wide.T if layout.is_transposed else wide)
                number += 1
    return number


@torch.no_grad()
def error_of_experts(found: Any, expected: Any) -> float:
    """Return the largest relative error of the outputs for rows that choose two experts each."""
    rows, count = 4 * found.num_experts, found.num_experts
    x = torch.randn(rows, found.layout.hidden)
    ids = torch.rand(rows, count).topk(2, -1).indices
    weights = torch.rand(rows, 2)
    wanted = expected(x, ids, weights)
    difference = (found(x, ids, weights) - wanted).norm(dim=-1) / wanted.norm(dim=-1)
    assert torch.bincount(ids.flatten(), minlength=count).min() > 0
    return float(difference.max())


def logits_of(loaded: LoadedModel) -> torch.Tensor:
    return choose_executor(loaded, may_pack=False).execute(comparison_plan(loaded))


def find_packed(loaded: LoadedModel) -> list[PackedExperts]:
    assert loaded.model is not None
    return [each for each in loaded.model.modules() if isinstance(each, PackedExperts)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_logits_are_those_of_dequantized_experts(case: Case, kind: str, tmp_path: Path) -> None:
    save(case, case.build(), tmp_path)
    twin = load_model(config_for(tmp_path, kind), may_pack=False)
    rounded = round_experts(twin.model, kind)
    loaded = load_model(config_for(tmp_path, kind))
    packed = find_packed(loaded)
    assert sum(2 * each.num_experts for each in packed) == rounded > 0
    assert {each.kind for each in packed} == {kind}
    for name, module in experts_of(twin.model).items():
        assert error_of_experts(loaded.model.get_submodule(name), module) < 0.03
    found, expected = logits_of(loaded), logits_of(twin)
    error = (found - expected).norm(dim=-1) / expected.norm(dim=-1)
    # Rows of a few numbers are rounded to bytes in each layer, and may choose another expert.
    assert float(error.median()) < 0.08
    assert loaded.metadata.num_parameters == twin.metadata.num_parameters


@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_model_serves_with_packed_experts(kind: str, tmp_path: Path) -> None:
    save(BY_NAME["qwen3-moe"], BY_NAME["qwen3-moe"].build(), tmp_path)
    loaded = load_model(config_for(tmp_path, kind))
    expected = logits_of(loaded)
    executor = choose_executor(load_model(config_for(tmp_path, kind)))
    assert executor.name == "native"
    found = executor.execute(comparison_plan(loaded))
    error = (found - expected).norm(dim=-1) / expected.norm(dim=-1)
    assert float(error.median()) < 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_counts_packed_experts(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"hidden_size": 128, "moe_intermediate_size": 128, "num_experts": 16}
    case = Case("wide", "Qwen3MoeForCausalLM", "", {**BY_NAME["qwen3-moe"].settings, **settings})
    save(case, case.build(), tmp_path)
    loaded = load_model(config_for(tmp_path, kind))
    packed = find_packed(loaded)
    weights = sum(each.num_weights for each in packed)
    per_weight = {"int8": 1.0, "int4": 0.5}[kind]
    held = sum(each.nbytes(packed=True) for each in packed)
    assert per_weight * weights < held < (per_weight + 0.1) * weights
    planned, found = loaded.metadata.planned_weight_bytes, loaded.metadata.weight_bytes
    assert abs(planned - found) < 0.05 * found
    assert "unquantized" not in caplog.text


def test_experts_in_separate_and_in_joined_tensors_are_the_same(tmp_path: Path) -> None:
    """Published checkpoints have a tensor for each expert; transformers may save joined ones."""
    case = BY_NAME["qwen3-moe"]
    model: Any = case.build()
    save(case, model, tmp_path / "apart")
    save(case, model, tmp_path / "joined")
    stored = tmp_path / "joined/model.safetensors"
    tensors = load_file(stored)
    kept = {name: tensor for name, tensor in tensors.items() if ".experts." not in name}
    joined = {
        f"{name}.{part}": parameter.detach().contiguous()
        for name, module in experts_of(model).items()
        for part, parameter in module.named_parameters()
    }
    assert len(kept) < len(tensors)
    save_file(kept | joined, stored, {"format": "pt"})
    logits = [
        logits_of(load_model(config_for(tmp_path / name, "int8"))) for name in ("apart", "joined")
    ]
    assert torch.equal(*logits)


def test_a_missing_expert_is_refused(tmp_path: Path) -> None:
    save(BY_NAME["qwen3-moe"], BY_NAME["qwen3-moe"].build(), tmp_path)
    stored = tmp_path / "model.safetensors"
    tensors = load_file(stored)
    del tensors["model.layers.1.mlp.experts.2.down_proj.weight"]
    save_file(tensors, stored, {"format": "pt"})
    with pytest.raises(ModelUnsupported):
        load_model(config_for(tmp_path, "int8"))


def test_experts_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    save(BY_NAME["qwen3-moe"], BY_NAME["qwen3-moe"].build(), tmp_path)
    stored = tmp_path / "model.safetensors"
    tensors = load_file(stored)
    tensors["model.layers.1.mlp.experts.2.up_proj.weight"][3, 4] = torch.inf
    save_file(tensors, stored, {"format": "pt"})
    with pytest.raises(ModelUnsupported, match=r"expert 2 contains non-finite numbers"):
        load_model(config_for(tmp_path, "int8"))


def test_unknown_experts_stay_plain(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save(BY_NAME["qwen3-moe"], BY_NAME["qwen3-moe"].build(), tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "hidden_act": "relu"}))
    with caplog.at_level(logging.WARNING):
        loaded = load_model(config_for(tmp_path, "int8"))
    assert not find_packed(loaded)
    assert "experts of Qwen3MoeForCausalLM are not packed: its activation" in caplog.text


def make_mxfp4(folder: Path) -> tuple[Path, Path]:
    """Write gpt-oss as published, and its twin in bfloat16."""
    return write_twins(BY_NAME["gpt-oss"], write_mxfp4, MXFP4, folder, only=".experts.")


@pytest.mark.parametrize("kind", [None, "int8"])
def test_experts_in_mxfp4_stay_as_they_are_stored(kind: str | None, tmp_path: Path) -> None:
    stored, wide = make_mxfp4(tmp_path)
    loaded = load_model(config_for(stored, kind))
    packed = find_packed(loaded)
    assert {each.kind for each in packed} == {"mxfp4"}
    assert loaded.metadata.quantization == ("mxfp4" if kind is None else "int8+mxfp4")
    twin = load_model(config_for(wide, None), may_pack=False)
    assert twin.model is not None
    for name, module in experts_of(twin.model).items():
        assert error_of_experts(loaded.model.get_submodule(name), module.float()) < 0.03  # type: ignore[union-attr]
    planned, found = loaded.metadata.planned_weight_bytes, loaded.metadata.weight_bytes
    assert abs(planned - found) < 0.05 * found
    assert loaded.metadata.num_parameters == twin.metadata.num_parameters


def test_numbers_of_mxfp4_are_those_of_its_twin(tmp_path: Path) -> None:
    stored, wide = make_mxfp4(tmp_path)
    twin = load_model(config_for(wide, None), may_pack=False).model
    assert twin is not None
    for source in find_experts(
        twin, {}, read_stored_layout(read_config(stored), read_checkpoint(stored))
    ):
        for part in ("gate_up_proj", "down_proj"):
            for index, joined in enumerate(twin.get_parameter(f"{source.name}.{part}")):
                found = source.read(index, part)
                assert isinstance(found, QuantizedWeight)
                expected = source.layout.matrix(joined, is_gated=part == "gate_up_proj")
                assert torch.equal(found.dequantize(torch.float32), expected.float())


def test_a_scale_of_mxfp4_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    stored, _ = make_mxfp4(tmp_path)
    file = stored / "model.safetensors"
    tensors = load_file(file)
    tensors["model.layers.1.mlp.experts.down_proj_scales"][3, 0, 0] = 255
    save_file(tensors, file, {"format": "pt"})
    with pytest.raises(ModelUnsupported, match="its scales are not finite"):
        load_model(config_for(stored, None))
