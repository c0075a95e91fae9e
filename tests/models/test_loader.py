"""Loading: the loaded model, and every early end with one clear message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.conformance.case import save
from tests.conformance.zoo import CASES
from tests.models.folders import KV_BYTES_PER_TOKEN, SMALL, edit_json, make_llama
from yaie.base.errors import (
    ConfigError,
    ModelNotFound,
    ModelUnsupported,
    NotEnoughMemory,
    StartupError,
)
from yaie.base.settings import EngineConfig
from yaie.models.load import loader
from yaie.models.load.loader import load_model


def config(folder: Path, **settings: Any) -> EngineConfig:
    settings.setdefault("num_slots", 256)
    settings.setdefault("device", "cpu")
    return EngineConfig(model=str(folder), **settings)


def test_metadata_of_a_loaded_model(folder: Path) -> None:
    edit_json(folder / "generation_config.json", temperature=0.6, top_k=20, eos_token_id=[2, 5])
    loaded = load_model(config(folder))
    weights = load_file(folder / "model.safetensors")
    assert loaded.path == folder
    assert loaded.metadata.architecture == "LlamaForCausalLM"
    assert loaded.dtype == torch.float32
    assert loaded.device.type == "cpu"
    assert loaded.vocab_size == SMALL["vocab_size"]
    assert loaded.max_model_len == SMALL["max_position_embeddings"]
    assert loaded.num_slots == 256
    assert loaded.metadata.kv_bytes_per_token == KV_BYTES_PER_TOKEN
    assert loaded.metadata.num_parameters == sum(tensor.numel() for tensor in weights.values())
    assert loaded.metadata.weight_bytes == 4 * loaded.metadata.num_parameters
    assert loaded.metadata.eos_token_ids == (2, 5)
    assert loaded.metadata.default_sampling == {"temperature": 0.6, "top_k": 20}
    assert [spec.layer for spec in loaded.specs] == [0, 1]
    assert not loaded.model.training


def test_tied_weights_are_one_tensor_and_count_once(tmp_path: Path) -> None:
    loaded = load_model(config(make_llama(tmp_path / "m", tie_word_embeddings=True)))
    model: Any = loaded.model
    assert model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()
    stored = load_file(tmp_path / "m" / "model.safetensors")
    assert "lm_head.weight" not in stored
    assert loaded.metadata.num_parameters == sum(tensor.numel() for tensor in stored.values())


@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("wanted", ["auto", "float32", "bfloat16", "float16"])
def test_dtype(tmp_path: Path, stored: torch.dtype, wanted: str) -> None:
    folder = make_llama(tmp_path / "m", stored)
    loaded = load_model(config(folder, dtype=wanted))
    expected = stored if wanted == "auto" else getattr(torch, wanted)
    assert loaded.dtype == expected
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {expected}
    assert loaded.metadata.kv_bytes_per_token == KV_BYTES_PER_TOKEN // 4 * expected.itemsize


@pytest.mark.parametrize("kv_dtype", ["auto", "float32", "bfloat16", "float16", "int8"])
def test_the_pool_may_have_a_dtype_of_its_own(pristine: Path, kv_dtype: str) -> None:
    loaded = load_model(config(pristine, kv_dtype=kv_dtype))
    assert loaded.dtype is torch.float32
    assert loaded.kv_dtype is getattr(torch, "float32" if kv_dtype == "auto" else kv_dtype)
    scales = 2 * 2 * 4 if kv_dtype == "int8" else 0  # layers, keys and values, float32
    expected = KV_BYTES_PER_TOKEN // 4 * loaded.kv_dtype.itemsize + scales
    assert loaded.metadata.kv_bytes_per_token == expected


def test_no_pool_of_fp8(pristine: Path) -> None:
    with pytest.raises(ConfigError, match=r"kv_dtype is 'fp8'; it must be one of auto, .*int8"):
        config(pristine, kv_dtype="fp8")


def test_shards_hold_the_same_model(tmp_path: Path, pristine: Path) -> None:
    sharded = load_model(config(make_llama(tmp_path / "m", max_shard_size="20KB")))
    whole = load_model(config(pristine))
    for name, parameter in whole.model.named_parameters():
        assert torch.equal(sharded.model.get_parameter(name), parameter)


def test_max_model_len(folder: Path) -> None:
    assert load_model(config(folder, max_model_len=100)).max_model_len == 100
    assert load_model(config(folder, num_slots=50)).max_model_len == 50
    with pytest.raises(ConfigError, match=r"max_model_len is 129.*context length is 128"):
        load_model(config(folder, max_model_len=129))
    with pytest.raises(ConfigError, match="num_slots is 50; raise"):
        load_model(config(folder, max_model_len=100, num_slots=50))


def damage(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder / "config.json", **changes)


def test_dynamic_rope_is_refused_as_transformers_reads_it(folder: Path) -> None:
    edit_json(
        folder / "config.json",
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0},
    )
    with pytest.raises(ModelUnsupported, match="longest row of a batch"):
        load_model(config(folder))


@pytest.mark.parametrize(
    "model_type",
    ["jamba", "zamba2", "mamba", "llama4_text", "falcon", "t5"],
)
def test_real_configs_of_refused_families(tmp_path: Path, model_type: str) -> None:
    """Configs as transformers writes them, with any field names."""
    family = transformers.CONFIG_MAPPING[model_type]()
    family.save_pretrained(tmp_path)
    save_file({"w": torch.zeros(4)}, tmp_path / "model.safetensors")
    with pytest.raises(ModelUnsupported, match="cannot be served"):
        load_model(config(tmp_path))


@pytest.fixture
def never_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object, **__: object) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr(loader, "build_model", build)


@pytest.mark.usefixtures("never_built")
@pytest.mark.parametrize(
    ("change", "settings", "kind"),
    [
        (damage(architectures=["DebertaV2Model"], model_type="deberta-v2"), {}, ModelUnsupported),
        (damage(quantization_config={"quant_method": "fp8"}), {}, ModelUnsupported),
        (damage(num_attention_heads="many"), {}, ModelUnsupported),
        (damage(num_hidden_layers=0), {}, ModelUnsupported),
        (damage(max_position_embeddings=0), {}, ModelUnsupported),
        (damage(model_type="mistral", sliding_window=4), {}, ModelUnsupported),
        (damage(), {"max_model_len": 10_000}, ConfigError),
        (damage(), {"max_model_len": 100, "num_slots": 99}, ConfigError),
        (damage(), {"num_slots": 2**31 - 1}, NotEnoughMemory),
        (lambda f: (f / "config.json").unlink(), {}, ModelNotFound),
        (lambda f: (f / "model.safetensors").write_bytes(b"short"), {}, ModelUnsupported),
    ],
)
def test_refused_before_weights_are_read(
    folder: Path, change: Callable[[Path], None], settings: dict[str, Any], kind: type[StartupError]
) -> None:
    change(folder)
    with pytest.raises(kind):
        load_model(config(folder, **settings))


@pytest.mark.usefixtures("never_built")
def test_not_enough_memory_names_a_value_that_fits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "free_bytes", lambda _: 400 * 1024**2)
    with pytest.raises(NotEnoughMemory) as refused:
        load_model(config(folder, num_slots=10**7))
    fits = int(refused.value.message.rsplit("--num-slots", 1)[1].split()[0])
    monkeypatch.setattr(
        loader, "build_model", lambda *_, **__: pytest.skip("it would be built now")
    )
    with pytest.raises(pytest.skip.Exception):
        load_model(config(folder, num_slots=fits))


def rewrite(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


NAME = "model.layers.1.mlp.up_proj.weight"
BIAS = "model.layers.0.self_attn.q_proj.bias"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t.pop(NAME), f"lack 1 tensors of LlamaForCausalLM, such as {NAME}"),
        (
            lambda t: t.update({NAME: t[NAME][:-1].contiguous()}),
            f"{NAME} is [0-9]+ x [0-9]+, but the config makes it [0-9]+ x [0-9]+ .1 such",
        ),
        (lambda t: t.update({BIAS: torch.ones(64)}), f"hold {BIAS} .1 such tensors., which Llama"),
        (lambda t: t[NAME].fill_(float("nan")), f"{NAME} contains non-finite numbers"),
        (lambda t: t[NAME][3].fill_(float("inf")), f"{NAME} contains non-finite numbers"),
    ],
)
def test_damaged_weights(
    folder: Path, change: Callable[[dict[str, torch.Tensor]], object], reason: str
) -> None:
    rewrite(folder, change)
    with pytest.raises(ModelUnsupported, match=reason) as refused:
        load_model(config(folder))
    assert refused.value.code == "model_damaged"


def test_a_size_that_the_code_of_the_model_cannot_use_is_refused(tmp_path: Path) -> None:
    case = next(each for each in CASES if each.name == "glm")
    save(case, case.build(), tmp_path)
    rotary = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.5}
    edit_json(tmp_path / "config.json", rope_parameters=rotary)
    with pytest.raises(ModelUnsupported, match=r"so a size in config\.json is probably wrong"):
        load_model(config(tmp_path))


def test_weights_that_overflow_are_found_by_the_probe(folder: Path) -> None:
    rewrite(folder, lambda tensors: tensors["lm_head.weight"].fill_(1e4))
    rewrite(folder, lambda tensors: tensors["model.norm.weight"].fill_(1e3))
    with pytest.raises(ModelUnsupported, match=r"too large for torch\.float16"):
        load_model(config(folder, dtype="float16"))


def test_weights_beyond_float16_suggest_bfloat16(folder: Path) -> None:
    rewrite(folder, lambda tensors: tensors[NAME].fill_(7e4))
    with pytest.raises(ModelUnsupported, match=r"or too large for float16: .*--dtype bfloat"):
        load_model(config(folder, dtype="float16"))
    assert load_model(config(folder, dtype="bfloat16")).dtype is torch.bfloat16


def test_unused_tensors_are_named(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    rewrite(folder, lambda tensors: tensors.update({"extra.weight": torch.zeros(2)}))
    load_model(config(folder))
    assert "such as extra.weight" in caplog.text


def test_a_bias_of_zeros_changes_nothing(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    rewrite(folder, lambda tensors: tensors.update({BIAS: torch.zeros(64)}))
    load_model(config(folder))
    assert f"such as {BIAS}" in caplog.text


def test_return_dict_of_the_file_is_overridden(folder: Path) -> None:
    edit_json(folder / "config.json", return_dict=False)
    assert load_model(config(folder)).vocab_size > 0


def test_no_cuda(folder: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(ConfigError, match="torch sees no CUDA device"):
        load_model(config(folder, device="cuda"))
    assert load_model(config(folder, device="auto")).device.type == "cpu"


def test_memory_bytes_limits_weights_and_pool(tiny_model_dir: Path) -> None:
    most = 300 * 1024**2
    limited_config = EngineConfig(model=str(tiny_model_dir), device="cpu", memory_bytes=most)
    limited = load_model(limited_config)
    whole = load_model(replace(limited_config, memory_bytes=None))
    assert limited.num_slots < whole.num_slots
    assert 0 < limited.memory_bytes <= most < whole.memory_bytes
    with pytest.raises(NotEnoughMemory, match=r"the model does not fit: .* of 1\.0 MiB free"):
        load_model(replace(limited_config, memory_bytes=1024**2))


@pytest.mark.parametrize("name", ["llama", "qwen3", "smollm3"])
def test_a_head_that_is_missing_is_tied_with_a_warning(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tied = next(case for case in CASES if case.name == name)
    tied = replace(tied, settings={**tied.settings, "tie_word_embeddings": True})
    model = tied.build()
    save(tied, model, tmp_path)
    edit_json(tmp_path / "config.json", tie_word_embeddings=False)
    loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=64, device="cpu"))
    assert "the head is tied to the embedding" in caplog.text
    assert loaded.model is not None
    for key, value in model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[key], value)
