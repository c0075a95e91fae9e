"""Encoders: whole texts in packed batches, compared with transformers text by text."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.embedding_model import unit
from tests.encoder_model import FAMILIES, add_dense, add_pooling, plain_rows, write_encoder
from tests.tiny_model import VOCAB_SIZE
from yaie.api.llm import LLM
from yaie.base.errors import ConfigError, InvalidRequest, ModelUnsupported
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, TokenDelta
from yaie.engine.core import EngineCore
from yaie.models.load.folder import open_folder

TOLERANCE = 1e-4
TEXTS = ["The tree", "a slot is one token, and the tree is the cache", "x", "the batch and plan"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_are_those_of_transformers(family: str, pooling: str, tmp_path: Path) -> None:
    rows = plain_rows(write_encoder(tmp_path, family))
    with LLM(add_pooling(tmp_path, pooling), dtype="float32", audit=True) as llm:
        assert (llm.info.execution, llm.info.max_model_len) == ("encoder", 64)
        found = llm.embed(TEXTS)
        wanted = [rows(llm.tokenizer.encode(text)) for text in TEXTS]
        pooled = [each[0] if pooling == "cls" else each.mean(axis=0) for each in wanted]
        assert np.abs(found.vectors - np.array(pooled)).max() < TOLERANCE
        assert llm.stats.rows_computed == found.prompt_tokens == sum(map(len, wanted))
        assert llm.stats.num_steps == 1
        with pytest.raises(InvalidRequest, match="generates no text"):
            llm.generate("x")
        with pytest.raises(InvalidRequest, match="computes embeddings and reranks no documents"):
            llm.rerank("x", ["y"])


def test_long_texts_have_the_distances_of_mpnet(tmp_path: Path) -> None:
    """Far distances share buckets; the bias is made for the longest text of a step."""
    rows = plain_rows(write_encoder(tmp_path, "MPNet", max_position_embeddings=302))
    with LLM(tmp_path, dtype="float32") as llm:
        texts = ["the tree", "a slot is one token " * 14, "x"]
        found = llm.embed(texts)
        assert llm.stats.num_steps == 1 and found.prompt_tokens > 200
        for text, vector in zip(texts, found.vectors, strict=True):
            wanted = unit(rows(llm.tokenizer.encode(text)).mean(axis=0))
            assert np.abs(vector - wanted).max() < TOLERANCE


def test_a_published_config_of_nomic_is_read(tmp_path: Path) -> None:
    """Its fields have names of GPT-2, and its weights those of its own code."""
    rows = plain_rows(write_encoder(tmp_path, "NomicBert"))
    assert "encoder.layers.0.attn.Wqkv.weight" in load_file(tmp_path / "model.safetensors")
    place = tmp_path / "config.json"
    config = json.loads(place.read_text())
    theta = config.pop("rope_parameters")["rope_theta"]
    published = {
        "n_embd": "hidden_size",
        "n_head": "num_attention_heads",
        "n_layer": "num_hidden_layers",
        "n_inner": "intermediate_size",
        "n_positions": "max_position_embeddings",
        "layer_norm_epsilon": "layer_norm_eps",
    }
    config |= {name: config.pop(old) for name, old in published.items()}
    for name in ("head_dim", "hidden_act"):
        del config[name]
    config |= {"activation_function": "swiglu", "rotary_emb_base": theta, "auto_map": {"x": "y"}}
    place.write_text(json.dumps(config))
    with LLM(tmp_path, dtype="float32") as llm:
        assert llm.info.max_model_len == 64
        (found,) = llm.embed(TEXTS[1]).vectors
        wanted = unit(rows(llm.tokenizer.encode(TEXTS[1])).mean(axis=0))
        assert np.abs(found - wanted).max() < TOLERANCE
    for setting, value in (("num_experts", 8), ("rotary_scaling_factor", 2.0)):
        place.write_text(json.dumps({**config, setting: value}))
        with pytest.raises(ModelUnsupported, match=f"with {setting} {value} cannot be served"):
            open_folder(str(tmp_path))


def test_layers_after_the_pooling_make_the_vector(tmp_path: Path) -> None:
    """As EmbeddingGemma has them, over a Gemma whose tokens see all others."""
    rows = plain_rows(write_encoder(tmp_path, "Gemma3Text"))
    dense = add_dense(add_pooling(tmp_path, "mean"), [(32, 48), (48, 24)])
    with LLM(tmp_path, dtype="float32", audit=True) as llm:
        assert (llm.info.execution, llm.info.architecture) == ("encoder", "Gemma3TextModel")
        found = llm.embed(TEXTS).vectors
        assert found.shape == (len(TEXTS), 24)
        for text, vector in zip(TEXTS, found, strict=True):
            pooled = rows(llm.tokenizer.encode(text)).mean(axis=0)
            with torch.no_grad():
                wanted = dense(torch.from_numpy(pooled)).numpy()
            assert np.abs(vector - wanted).max() < TOLERANCE
    (tmp_path / "2_Dense" / "model.safetensors").unlink()
    with pytest.raises(ModelUnsupported, match="does not fit its config"):
        LLM(tmp_path)


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("Bert", {}),
        ("Roberta", {}),
        ("XLMRoberta", {}),
        ("ModernBert", {"classifier_pooling": "cls"}),
        ("ModernBert", {"classifier_pooling": "mean"}),
    ],
)
def test_a_cross_encoder_scores_pairs(
    family: str, settings: dict[str, str], tmp_path: Path
) -> None:
    kind = "ForSequenceClassification"
    model = write_encoder(tmp_path, family, kind, num_labels=1, **settings)
    with LLM(tmp_path, dtype="float32", audit=True) as llm:
        found = llm.score("which tree", TEXTS).scores
        for text, each in zip(TEXTS, found, strict=True):
            pair = llm.tokenizer.encode_pair("which tree", text)
            fields = {"input_ids": torch.tensor([pair.ids])}
            if family == "Bert":
                fields["token_type_ids"] = torch.tensor([pair.type_ids])
            with torch.no_grad():
                wanted = torch.sigmoid(model(**fields).logits[0, 0])
            assert each == pytest.approx(float(wanted), abs=TOLERANCE)
        with pytest.raises(InvalidRequest, match="reranks documents and computes no embeddings"):
            llm.embed("x")


@pytest.mark.parametrize("seed", range(3))
def test_any_schedule_gives_the_same_vectors(seed: int, tmp_path: Path) -> None:
    """Texts longer than what is left of a step wait for the next; a longer step is made for one."""
    rows = plain_rows(write_encoder(tmp_path, "Bert"))
    rng = random.Random(seed)
    core = EngineCore(
        EngineConfig(
            model=str(tmp_path),
            dtype="float32",
            max_step_rows=rng.choice([16, 40, 100]),
            max_running=rng.choice([2, 5, 20]),
            num_slots=rng.choice([64, 400]),
            audit=True,
        )
    )
    asked: dict[str, tuple[int, ...]] = {}
    ended: dict[str, TokenDelta] = {}
    for number in range(30):
        ids = tuple(rng.randrange(3, VOCAB_SIZE) for _ in range(rng.randint(1, 64)))
        if asked and rng.random() < 0.2:
            ids = rng.choice(list(asked.values()))  # a text twice
        asked[f"r{number}"] = ids
        core.add(GenerationRequest(request_id=f"r{number}", prompt_token_ids=ids, pooling="last"))
        if rng.random() < 0.1:
            core.abort(f"r{number}")
        for _ in range(rng.choice([0, 1])):
            ended |= {each.request_id: each for each in core.step() if each.finish_reason}
    while core.has_work:
        ended |= {each.request_id: each for each in core.step() if each.finish_reason}
    assert len(ended) == len(asked)
    num_rows = 0
    for name, delta in ended.items():
        assert delta.error is None
        if delta.finish_reason == "abort":
            continue
        wanted = rows(asked[name]).mean(axis=0)
        assert np.abs(np.frombuffer(delta.pooled, "<f4") - wanted).max() < TOLERANCE
        num_rows += len(asked[name])
    assert core.stats.rows_computed == num_rows
    core.close()


def test_files_set_the_context_and_the_length(tmp_path: Path) -> None:
    rows = plain_rows(write_encoder(tmp_path, "Bert"))
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    with LLM(tmp_path, dtype="float32") as llm:  # without modules.json: the mean, of length 1
        assert llm.info.max_model_len == 16
        with pytest.raises(InvalidRequest, match="16 tokens"):
            llm.embed("tree " * 40)
        ids = llm.tokenizer.encode("tree " * 40)
        (found,) = llm.embed("tree " * 40, truncate=True).vectors
        wanted = unit(rows([*ids[:15], ids[-1]]).mean(axis=0))
        assert np.abs(found - wanted).max() < TOLERANCE
    with pytest.raises(ConfigError, match="encoders run as they are"):
        LLM(tmp_path, quantization="int8")


def test_a_classifier_of_several_labels_is_refused(tmp_path: Path) -> None:
    write_encoder(tmp_path, "Bert", "ForSequenceClassification", num_labels=3)
    with pytest.raises(ModelUnsupported, match="classifier of 3 labels"):
        open_folder(str(tmp_path))
