"""Random-weight models: complete folders, reproducible weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoConfig

from benchmarks import shapes
from benchmarks.peers.workloads import read_vocabulary
from benchmarks.shapes import MODEL_SHAPES, ModelShape, train_tokenizer, write_model, write_models
from yaie import LLM, SamplingParams
from yaie.base.errors import InvalidRequest

TINY = {"tiny-shape": ModelShape("LlamaConfig", 64, 96, 2, 4, 2, 16, 1e-5)}


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    write_model(folder / "tiny", TINY["tiny-shape"], train_tokenizer(600))
    return folder / "tiny"


def test_a_written_model_is_served(tiny_folder: Path) -> None:
    with LLM(tiny_folder, num_slots=512, threads=1) as llm:
        asked = SamplingParams(max_tokens=4, temperature=0.0, ignore_eos=True)
        (output,) = llm.generate(["import os"], asked, progress=False)
        assert len(output.token_ids) == 4
        (chat,) = llm.chat([{"role": "user", "content": "hello"}], asked, progress=False)
        assert chat.usage.prompt_tokens > 1
    assert max(read_vocabulary(tiny_folder)) < 600


def test_the_weights_are_the_same_each_time(tiny_folder: Path, tmp_path: Path) -> None:
    write_model(tmp_path, TINY["tiny-shape"], train_tokenizer(600))
    for name in ("model.safetensors", "tokenizer.json"):
        assert (tmp_path / name).read_bytes() == (tiny_folder / name).read_bytes()


def test_existing_models_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "MODEL_SHAPES", TINY)
    said: list[str] = []
    write_models(tmp_path, vocabulary=400, tell=said.append)
    (path,) = write_models(tmp_path, vocabulary=400, tell=said.append)
    assert path == tmp_path / "tiny-shape" and said[-1].endswith("is there already")
    assert AutoConfig.from_pretrained(path).max_position_embeddings == 16_384


def test_an_unknown_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"qwen3-0\.6b-shape, smollm2-135m-shape"):
        write_models(tmp_path, ["gpt5"])


def test_the_shapes_are_those_of_the_real_models() -> None:
    qwen = MODEL_SHAPES["qwen3-0.6b-shape"]
    assert (qwen.hidden_size, qwen.num_hidden_layers, qwen.num_key_value_heads) == (1024, 28, 8)
    smollm = MODEL_SHAPES["smollm2-135m-shape"]
    assert (smollm.hidden_size, smollm.num_hidden_layers, smollm.head_dim) == (576, 30, 64)
