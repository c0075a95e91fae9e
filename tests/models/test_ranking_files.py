"""Folders that are rerankers, and scores of kinds that `test_ranking.py` lacks."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from tests.ranking_model import add_words, make_classifier, make_reranker
from tests.text.small_tokenizers import write_byte_level
from tests.tiny_model import VOCAB_SIZE
from yaie.api.llm import LLM
from yaie.base.errors import ModelUnsupported
from yaie.base.ranking_info import RankingInfo
from yaie.models.files.checkpoint import read_config
from yaie.models.files.ranking_files import read_ranking
from yaie.models.files.snapshots import choose_small_files
from yaie.models.load.folder import open_folder

QUESTION = (
    "Given a query A and a passage B, determine whether the passage contains an answer to the "
    "query by providing a prediction of either 'Yes' or 'No'."
)


def test_a_gemma_scores_by_the_logit_of_yes(tmp_path: Path) -> None:
    from transformers import GemmaConfig, GemmaForCausalLM

    folder = tmp_path / "models--baai--bge-reranker-v2-gemma" / "snapshots" / "abc"
    config = GemmaConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        pad_token_id=2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = GemmaForCausalLM(config).float().eval()
    model.save_pretrained(folder)
    add_words(write_byte_level(folder), "Yes")
    with LLM(folder, dtype="float32", num_slots=512, weights_cache="off") as llm:
        encode = llm.tokenizer.encode
        (found,) = llm.score("the tree", "a slot").scores
        parts = ("A: the tree", "\n", "B: a slot", "\n", QUESTION)
        ids = [each for part in parts for each in encode(part, False)]
        yes = llm.tokenizer.fast.token_to_id("Yes")
    with torch.no_grad():
        logit = float(model(torch.tensor([ids])).logits[0, -1, yes])
    assert found == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-4)


def test_a_step_names_the_tokens(tiny_model_dir: Path, tmp_path: Path) -> None:
    folder = make_reranker(tiny_model_dir, tmp_path / "reranker")
    step = {"type": "sentence_transformers.cross_encoder.models.LogitScore", "path": "1_LogitScore"}
    (folder / "modules.json").write_text(json.dumps([{"type": "x.Transformer", "path": ""}, step]))
    (folder / "1_LogitScore").mkdir()
    tokens = {"true_token_id": 7, "false_token_id": 5}
    (folder / "1_LogitScore" / "config.json").write_text(json.dumps(tokens))
    found = read_ranking(folder, read_config(folder))
    assert found is not None
    assert (found.yes, found.no) == (7, 5)
    open_folder(str(folder))
    tokens["true_token_id"] = 10**6
    (folder / "1_LogitScore" / "config.json").write_text(json.dumps(tokens))
    with pytest.raises(ModelUnsupported, match="its score is of token 1000000"):
        open_folder(str(folder))
    names = ["config.json", "1_LogitScore/config.json", "onnx/config.json"]
    assert choose_small_files(names) == ["1_LogitScore/config.json", "config.json"]


def test_a_chat_model_reranks_where_the_settings_say_so(
    tiny_model_dir: Path, tmp_path: Path
) -> None:
    assert read_ranking(tiny_model_dir, read_config(tiny_model_dir)) is None
    with pytest.raises(ModelUnsupported, match="no token 'yes' or 'no'"):
        read_ranking(tiny_model_dir, read_config(tiny_model_dir), "score")
    folder = make_reranker(tiny_model_dir, tmp_path / "reranker").rename(tmp_path / "other")
    with LLM(folder, pooling="score", num_slots=512, weights_cache="off") as llm:
        assert llm.info.ranking == RankingInfo(form="qwen3", generates=True)
        assert 0 < llm.score("a", "b").scores[0] < 1
        assert llm.generate("a", {"max_tokens": 2})[0].outputs[0].token_ids


def test_an_identity_keeps_the_logits_of_a_classifier(tiny_model_dir: Path, tmp_path: Path) -> None:
    folder = make_classifier(tiny_model_dir, tmp_path / "classifier")
    config = read_config(folder)
    found = read_ranking(folder, config)
    assert found is not None
    assert found.info == RankingInfo(form="pair")
    config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.linear.Identity"}
    found = read_ranking(folder, config)
    assert found is not None
    assert not found.info.is_probability
