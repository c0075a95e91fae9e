"""Checkpoints that `yaie quantize` writes: equal to quantization at load, in vLLM's layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.models.quantized import pack
from tests.models.test_gguf_model import make_model, write_model
from tests.models.test_wrappers import BY_NAME
from yaie import LLM, SamplingParams
from yaie.base.errors import ConfigError
from yaie.base.settings import BUILTIN_MODEL, EngineConfig
from yaie.cli.main import run_command_line
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load.loader import load_model
from yaie.models.load.quantized_copy import write_quantized_copy
from yaie.models.quantization.checkpoint_writer import pack_weight
from yaie.models.quantization.quantize import quantize_weight
from yaie.models.quantization.quantized_weights import QuantizedLinear

_CASES = {case.name: case for case in CASES}
# Tied heads, renamed heads, linear layers outside of the decoder's layers, and routers.
NAMES = [
    *("llama-tied", "phi3", "gpt-neox", "gemma3n", "afmoe"),
    *(
        pytest.param(name, marks=pytest.mark.integration)
        for name in ("qwen2-moe", "gpt2", "mimo-v2")
    ),
]


def config_of(model: str | Path, **settings: Any) -> EngineConfig:
    return EngineConfig(model=str(model), num_slots=256, **settings)


def plain_folder(name: str, folder: Path) -> Path:
    save(_CASES[name], _CASES[name].build(), folder)
    return folder


def linears(loaded: LoadedModel) -> dict[str, QuantizedLinear]:
    assert loaded.model is not None
    modules = loaded.model.named_modules()
    return {name: each for name, each in modules if isinstance(each, QuantizedLinear)}


def check_equal(found: LoadedModel, expected: LoadedModel) -> None:
    """Compare all weights bit by bit."""
    assert found.model is not None and expected.model is not None
    ours, theirs = linears(found), linears(expected)
    assert ours.keys() == theirs.keys()
    for name, layer in ours.items():
        weight, other = layer.quantized, theirs[name].quantized
        assert weight is not None and other is not None
        assert layer.is_tied == theirs[name].is_tied, name
        assert torch.equal(weight.values, other.values), name
        assert torch.equal(weight.scales, other.scales), name
        if other.zero_points is None:
            assert weight.zero_points is None, name
        else:
            assert weight.zero_points is not None
            assert torch.equal(weight.zero_points, other.zero_points), name
    state, expected_state = found.model.state_dict(), expected.model.state_dict()
    assert state.keys() == expected_state.keys()
    assert all(torch.equal(state[name], expected_state[name]) for name in state)
    assert found.metadata.quantization == expected.metadata.quantization
    assert found.metadata.eos_token_ids == expected.metadata.eos_token_ids


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "settings",
    [{"quantization": "int8"}, {"quantization": "int4", "calibrate": "none"}],
    ids=lambda settings: settings["quantization"],
)
def test_a_copy_has_the_weights_of_quantization_at_load(
    name: str, settings: dict[str, str], tmp_path: Path
) -> None:
    source = plain_folder(name, tmp_path / "plain")
    write_quantized_copy(config_of(source, **settings), tmp_path / "copy")
    # Copies leave experts plain, as does a load without the kernel library.
    expected = load_model(config_of(source, **settings), may_pack=False)
    check_equal(load_model(config_of(tmp_path / "copy")), expected)


@pytest.mark.integration
@pytest.mark.parametrize("source", ["file.gguf", "qwen2.5-vl"])
def test_gguf_files_and_wrappers_have_copies_of_their_text(source: str, tmp_path: Path) -> None:
    plain = tmp_path / source
    if source.endswith(".gguf"):
        write_model(plain, "llama", make_model("llama"))
    else:
        BY_NAME[source].build().save_pretrained(plain)  # type: ignore[operator]
    config = config_of(plain, quantization="int8")
    write_quantized_copy(config, tmp_path / "copy")
    check_equal(load_model(config_of(tmp_path / "copy")), load_model(config))


@pytest.mark.slow
def test_the_calibrated_builtin_model_answers_the_same_from_its_copy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "copy"
    assert run_command_line(["quantize", BUILTIN_MODEL, str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["quantization"] == "int4"
    assert printed["bytes"] == (out / "model.safetensors").stat().st_size
    expected = load_model(config_of(BUILTIN_MODEL, quantization="int4"))
    check_equal(load_model(config_of(out)), expected)
    answers, sampling = [], SamplingParams(max_tokens=24, temperature=0)
    for config in (config_of(out), config_of(BUILTIN_MODEL, quantization="int4")):
        with LLM(config.model, num_slots=1024, quantization=config.quantization) as llm:
            (output,) = llm.generate("What is a radix", sampling)
        answers.append(output.token_ids)
    assert answers[0] == answers[1]


def test_the_config_names_each_format_and_the_head(tmp_path: Path) -> None:
    source = plain_folder("qwen3", tmp_path / "plain")
    config = config_of(source, quantization="int4", calibrate="none")
    out = write_quantized_copy(config, tmp_path / "copy")
    stored = json.loads((out / "config.json").read_text())["quantization_config"]
    most, *others = stored["config_groups"].values()
    assert (stored["quant_method"], stored["format"]) == ("compressed-tensors", "pack-quantized")
    assert most["targets"] == ["Linear"]
    assert (most["weights"]["num_bits"], most["weights"]["symmetric"]) == (4, False)
    (eight,) = (group for group in others if group["weights"]["num_bits"] == 8)
    assert eight["weights"]["strategy"] == "channel"
    assert "lm_head" in eight["targets"]
    assert all(name.endswith(("v_proj", "lm_head")) for name in eight["targets"])


def test_a_uniform_copy_has_value_projections_of_four_bits(tmp_path: Path) -> None:
    source = plain_folder("llama", tmp_path / "plain")
    config = config_of(source, quantization="int4", calibrate="none")
    out = write_quantized_copy(config, tmp_path / "copy", is_uniform=True)
    loaded = load_model(config_of(out))
    bits = {
        name: layer.quantized.bits for name, layer in linears(loaded).items() if layer.quantized
    }
    assert {name: each for name, each in bits.items() if each != 4} == {"lm_head": 8}


def test_words_are_packed_as_by_another_implementation() -> None:
    weight = quantize_weight(torch.randn(12, 40), "int4")
    tensors = pack_weight(weight)
    assert weight.zero_points is not None
    for found, values in (
        (tensors["weight_packed"], weight.values),
        (tensors["weight_zero_point"].T, weight.zero_points.T),
    ):
        expected = pack((values.int() + 8).numpy().astype(np.uint32), 4)
        assert np.array_equal(found.numpy().view(np.uint32), expected)
    assert tensors["weight_scale"].dtype == torch.bfloat16
    assert tensors["weight_shape"].tolist() == [12, 40]


def test_the_other_files_come_along_and_code_does_not(tmp_path: Path) -> None:
    source = plain_folder("llama", tmp_path / "plain")
    (source / "chat_template.jinja").write_text("{{ messages }}")
    (source / "modeling.py").write_text("raise SystemExit")
    out = write_quantized_copy(config_of(source, quantization="int8"), tmp_path / "deep/copy")
    assert (out / "chat_template.jinja").read_text() == "{{ messages }}"
    assert not (out / "modeling.py").exists()
    names = load_file(out / "model.safetensors")
    assert "model.layers.0.mlp.up_proj.weight_packed" in names
    assert "model.layers.0.mlp.up_proj.weight" not in names


def test_quantized_models_and_full_folders_are_refused(tmp_path: Path) -> None:
    source = plain_folder("llama", tmp_path / "plain")
    config = config_of(source, quantization="int8")
    out = write_quantized_copy(config, tmp_path / "copy")
    with pytest.raises(ConfigError, match="exists already"):
        write_quantized_copy(config, out)
    with pytest.raises(ConfigError, match="quantized already"):
        write_quantized_copy(config_of(out, quantization="int8"), tmp_path / "again")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        write_quantized_copy(config, tmp_path / "file/copy")
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {"plain", "copy", "file"}
