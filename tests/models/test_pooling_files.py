"""The files of embedding models: what they say, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.embedding_model import QUERY, make_embedding_model, plain_states
from yaie.base.errors import ModelUnsupported
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest
from yaie.engine.core import EngineCore
from yaie.models.files.pooling_files import read_embedding
from yaie.models.files.snapshots import choose_small_files
from yaie.models.load.folder import open_folder


@pytest.fixture
def folder(tiny_model_dir: Path, tmp_path: Path) -> Path:
    return make_embedding_model(tiny_model_dir, tmp_path / "model")


def test_pooling_and_prompts(folder: Path, tiny_model_dir: Path) -> None:
    how = read_embedding(folder, None, 64)
    assert how is not None
    assert (how.pooling, how.normalizes, how.generates) == ("last", True, False)
    assert how.prompts == {"query": QUERY, "document": ""}
    assert read_embedding(tiny_model_dir, None, 64) is None
    asked = read_embedding(tiny_model_dir, "mean", 64)
    assert asked is not None
    assert (asked.pooling, asked.generates, asked.prompts) == ("mean", True, {})
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    newer = read_embedding(folder, None, 64)
    assert newer is not None
    assert newer.pooling == "mean"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "names the pooling cls"),
        ("1_Pooling/config.json", {}, "names the pooling none"),
        ("1_Pooling/config.json", [], "is not a JSON object"),
        ("1_Pooling/config.json", {"pooling_mode": [["mean"]]}, "names the pooling"),
        ("modules.json", [{"type": "x.Dense", "path": "2"}], "a step of type 'Dense'"),
        ("modules.json", [{"type": "x.Pooling", "path": "../y"}], "outside the folder"),
        ("modules.json", [{"path": ""}], "a step has no type"),
        ("modules.json", [{"type": "x.Transformer"}], "no step of type Pooling"),
        ("modules.json", {}, "is not a JSON list"),
        ("config_sentence_transformers.json", {"prompts": {"a": 5}}, "not texts by name"),
    ],
)
def test_other_steps_are_refused_before_the_weights(
    folder: Path, name: str, content: object, reason: str
) -> None:
    (folder / name).write_text(json.dumps(content))
    with pytest.raises(ModelUnsupported, match=reason):
        open_folder(str(folder))


def test_a_download_has_the_pooling() -> None:
    names = ["config.json", "1_Pooling/config.json", "onnx/config.json", "2_Normalize/config.json"]
    assert choose_small_files(names) == ["1_Pooling/config.json", "config.json"]


def test_a_decoder_without_a_head(folder: Path) -> None:
    """As e5-mistral and Qwen3-Embedding are saved: without a prefix of the names, or a head."""
    from transformers import AutoModel

    AutoModel.from_pretrained(folder).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["Qwen3Model"]
    core = EngineCore(
        EngineConfig(model=str(folder), dtype="float32", num_slots=64, weights_cache="off")
    )
    assert core.info.execution == "native"
    ids = (5, 9, 200, 7)
    core.add(GenerationRequest(request_id="a", prompt_token_ids=ids, pooling="last"))
    (delta,) = core.step()
    row = np.frombuffer(delta.pooled, "<f4")
    assert np.abs(row - plain_states(folder)(ids)[-1]).max() < 1e-4
    core.close()
    (folder / "modules.json").unlink()
    with pytest.raises(ModelUnsupported, match="Qwen3Model has no output head"):
        open_folder(str(folder))
