"""Models in GGUF files: the same config, weights and answers as the folder that they came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer as FastTokenizer

from tests.models.folders import SMALL, make_llama
from tests.models.gguf_files import (
    BUILTIN,
    Stored,
    llama_metadata,
    tensors_of,
    vocabulary_metadata,
    write_gguf,
)
from tests.server.real_server import Server
from yaie import LLM, SamplingParams
from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.models.files.gguf.header import read_gguf
from yaie.models.files.gguf.hf_config import read_gguf_config
from yaie.models.load.folder import open_folder, resolve_model_path
from yaie.text.tokenizer import load_tokenizer

VOCABULARY = vocabulary_metadata()
NUM_TOKENS = len(VOCABULARY["tokenizer.ggml.tokens"])
FAMILIES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(
        "yaie.models.files.gguf.hf_folder.cache_folder", lambda name: tmp_path / name
    )
    return tmp_path / "gguf"


def make_model(name: str, **changes: Any) -> Any:
    config_class, model_class = FAMILIES[name]
    torch.manual_seed(1)
    settings = {**SMALL, "vocab_size": NUM_TOKENS, "head_dim": 16, "rms_norm_eps": 1e-6, **changes}
    model = model_class(config_class(**settings)).eval()
    for parameter in model.parameters():  # transformers makes norms ones and biases zeros
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def write_model(path: Path, name: str, model: Any, **changes: Any) -> Path:
    metadata = llama_metadata(name, **changes) | VOCABULARY
    return write_gguf(path, metadata, tensors_of(model, permutes=name == "llama"))


@pytest.mark.parametrize("name", FAMILIES)
def test_answers_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    model = make_model(name)
    path = write_model(tmp_path / "model.gguf", name, model)
    prompt = [5, 9, 200, 31, 7]
    sampling = SamplingParams(max_tokens=12, temperature=0, ignore_eos=True)
    with LLM(path, num_slots=256) as llm:
        (answer,) = llm.generate([prompt], sampling)
    generated = model.generate(
        torch.tensor([prompt]), max_new_tokens=12, min_new_tokens=12, do_sample=False
    )
    assert list(answer.token_ids) == generated[0, 5:].tolist()


def test_the_tokenizer_is_that_of_the_folder(tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.gguf", "llama", make_model("llama"))
    found = load_tokenizer(resolve_model_path(str(path)))
    original = FastTokenizer.from_file(str(BUILTIN / "tokenizer.json"))
    for text in ("Hello, world!  12345 tokens", "<|im_start|>user\né 中 \t\n\n1.", ""):
        assert found.encode(text) == original.encode(text).ids
        assert found.decode(found.encode(text), skip_special_tokens=False) == text
    assert found.eos_token_id == 2


def test_rounded_weights_are_computed_in_bfloat16(tmp_path: Path) -> None:
    tensors: dict[str, Any] = dict(tensors_of(make_model("llama"), permutes=True))
    tensors["blk.0.attn_v.weight"] = Stored("Q8_0", (16, 32), bytes(16 * 34))
    path = write_gguf(tmp_path / "model.gguf", llama_metadata() | VOCABULARY, tensors)
    checkpoint = open_folder(str(path)).checkpoint
    assert checkpoint.dtype == "bfloat16"
    assert checkpoint.files == (path,)


def test_the_folder_follows_the_file(tmp_path: Path, cache: Path) -> None:
    path = write_model(tmp_path / "model.gguf", "llama", make_model("llama"))
    first = resolve_model_path(str(path))
    assert resolve_model_path(str(path)) == first
    write_model(path, "llama", make_model("llama"), **{"llama.context_length": 64})
    second = resolve_model_path(str(path))
    assert second != first
    assert json.loads((second / "config.json").read_text())["max_position_embeddings"] == 64
    path.unlink()
    other = write_model(tmp_path / "other.gguf", "llama", make_model("llama"))
    third = resolve_model_path(str(other))
    assert list(cache.iterdir()) == [third]  # the orphans are gone


REFUSED: dict[str, dict[str, Any]] = {
    "architecture 'stablelm', which is not read": {"general.architecture": "stablelm"},
    "lacks gemma.embedding_length": {"general.architecture": "gemma"},
    "llama.attention.scale": {"llama.attention.scale": 0.5},
    "not a size": {"llama.block_count": 0},
    "llama.rope.dimension_count": {"llama.rope.dimension_count": 8},
    "rope.scaling.type": {"llama.rope.scaling.type": "longrope"},
    "'bert'": {"tokenizer.ggml.model": "bert"},
    "names no pre-tokenizer": {"tokenizer.ggml.pre": None},
    "pre-tokenizer 'viking'.*smollm": {"tokenizer.ggml.pre": "viking"},
    "lacks|has no tokens": {"tokenizer.ggml.tokens": None},
    "is damaged: .* types of": {"tokenizer.ggml.token_type": [1, 1]},
    "not a merge": {"tokenizer.ggml.merges": ["ab"]},
    "a tensor that models of its architecture lack": {"llama.block_count": 1},
    "type 'adapter'": {"general.type": "adapter"},
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_file_is_refused_with_the_reason(why: str, tmp_path: Path) -> None:
    entries = llama_metadata() | VOCABULARY | REFUSED[why]
    metadata = {key: value for key, value in entries.items() if value is not None}
    path = write_gguf(
        tmp_path / "model.gguf", metadata, tensors_of(make_model("llama"), permutes=True)
    )
    with pytest.raises(ModelUnsupported, match=why):
        open_folder(str(path))


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    tensors = tensors_of(make_model("llama"), permutes=True)
    del tensors["blk.1.ffn_up.weight"]
    path = write_gguf(tmp_path / "model.gguf", llama_metadata() | VOCABULARY, tensors)
    with pytest.raises(ModelUnsupported, match=r"lack 1 tensors .*layers\.1\.mlp\.up_proj"):
        LLM(path)


def test_a_file_that_is_not_there_names_its_neighbours(tmp_path: Path) -> None:
    write_model(tmp_path / "small-q8.gguf", "llama", make_model("llama"))
    with pytest.raises(ModelNotFound, match=r"no model .*small-q4\.gguf.*near: .*small-q8\.gguf"):
        open_folder(str(tmp_path / "small-q4.gguf"))


def test_a_folder_of_one_file_stands_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "download"
    folder.mkdir()
    path = write_model(folder / "small.gguf", "llama", make_model("llama"))
    assert open_folder(str(folder)).checkpoint.files == (path,)
    (folder / "other.gguf").write_bytes(path.read_bytes())
    with pytest.raises(ModelNotFound, match=r"2 GGUF files \(other\.gguf, small\.gguf\); name one"):
        open_folder(str(folder))


@pytest.mark.integration
def test_a_file_is_served(tmp_path: Path) -> None:
    path = write_model(tmp_path / "small.gguf", "qwen3", make_model("qwen3"))
    server = Server(path, tmp_path / "log", XDG_CACHE_HOME=str(tmp_path), YAIE_KERNELS="off")
    try:
        server.wait_ready()
        answer = server.post("/v1/completions", {"model": "tiny", "prompt": "Hi", "max_tokens": 3})
        assert answer.json()["usage"]["completion_tokens"] == 3
    finally:
        server.stop()


def test_llama3_rope_is_recognised(tmp_path: Path) -> None:
    config = transformers.LlamaConfig(
        hidden_size=64,
        num_attention_heads=1,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 500_000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    )
    frequencies, _ = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](config)
    plain = 500_000.0 ** -(np.arange(0, 64, 2) / 64)
    divisors = (plain / frequencies.numpy()).astype(np.float32)
    changes = {"llama.embedding_length": 64, "llama.attention.head_count": 1}
    metadata = llama_metadata(**changes) | {"llama.rope.freq_base": 500_000.0}
    tensors = {"token_embd.weight": np.ones((4, 64), np.float32), "rope_freqs.weight": divisors}
    file = read_gguf(write_gguf(tmp_path / "model.gguf", metadata, tensors))
    assert read_gguf_config(file)["rope_parameters"] == config.rope_parameters
    tensors["rope_freqs.weight"] = divisors * np.linspace(1, 2, 32, dtype=np.float32)
    file = read_gguf(write_gguf(tmp_path / "model.gguf", metadata, tensors))
    with pytest.raises(ModelUnsupported, match="divisors that differ"):
        read_gguf_config(file)


def test_a_folder_with_a_gguf_file_alone_names_it(tmp_path: Path) -> None:
    make_llama(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "q.gguf")
    with pytest.raises(ModelNotFound, match=r"name it: .*q\.gguf"):
        open_folder(str(tmp_path))
