"""End-of-text tokens, and the sampling recommended by a model's authors."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from tests.models.folders import edit_json
from yaie.api.llm import LLM
from yaie.base.types import SamplingParams
from yaie.models.files.generation_defaults import read_default_sampling, read_eos_token_ids


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {}),
        (
            {"temperature": 0.7, "top_p": 0.8, "top_k": 20},
            {"temperature": 0.7, "top_p": 0.8, "top_k": 20},
        ),
        ({"repetition_penalty": 1.1, "max_length": 20}, {"repetition_penalty": 1.1}),
        ({"do_sample": False}, {"temperature": 0.0}),
        ({"do_sample": True, "min_p": 0.1}, {"min_p": 0.1}),
        ({"temperature": "hot", "top_k": True, "top_p": None}, {}),
        # Values invalid in a request are ignored; else every request would fail.
        ({"temperature": -1, "top_p": 0, "top_k": 50.0, "min_p": 2}, {"top_k": 50}),
        ({"top_k": 50.5, "repetition_penalty": [1.1]}, {}),
    ],
)
def test_default_sampling(
    tmp_path: Path, settings: dict[str, Any], expected: dict[str, float]
) -> None:
    edit_json(tmp_path / "generation_config.json", **settings)
    assert read_default_sampling(tmp_path) == expected


def test_empty_without_a_generation_config(tmp_path: Path) -> None:
    assert read_default_sampling(tmp_path) == {}
    assert read_eos_token_ids(tmp_path, {}, 10) == ()
    assert read_eos_token_ids(tmp_path, {"eos_token_id": None}, 10) == ()


@pytest.mark.parametrize("written", ["<end>", {"content": "<end>", "lstrip": False}])
def test_end_tokens_of_all_three_sources(tmp_path: Path, written: object) -> None:
    Tokenizer(WordLevel({"<unk>": 0, "<end>": 7}, unk_token="<unk>")).save(
        str(tmp_path / "tokenizer.json")
    )
    edit_json(tmp_path / "tokenizer_config.json", eos_token=written)
    edit_json(tmp_path / "generation_config.json", eos_token_id=[9, 3])
    assert read_eos_token_ids(tmp_path, {"eos_token_id": 3}, 10) == (3, 7, 9)


def test_the_class_default_counts_last(tmp_path: Path) -> None:
    assert read_eos_token_ids(tmp_path, {}, 10, default=2) == (2,)
    edit_json(tmp_path / "generation_config.json", eos_token_id=7)
    assert read_eos_token_ids(tmp_path, {}, 10, default=2) == (7,)


def test_ids_beyond_the_vocabulary_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    edit_json(tmp_path / "generation_config.json", eos_token_id=[2, 10, 99999999999999999999])
    assert read_eos_token_ids(tmp_path, {"eos_token_id": 9}, 10) == (2, 9)
    assert "10, 99999999999999999999" in caplog.text


@pytest.mark.parametrize("wrong", ["x", [2, "x"], {}, -1, True, [None]])
def test_values_that_are_not_ids_are_logged(
    wrong: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    edit_json(tmp_path / "generation_config.json", eos_token_id=[2, 2])
    assert set(read_eos_token_ids(tmp_path, {"eos_token_id": 9}, 10)) == {2, 9}
    assert not caplog.records
    assert set(read_eos_token_ids(tmp_path, {"eos_token_id": wrong}, 10)) == {2}
    assert repr(wrong) in caplog.text


def test_a_damaged_tokenizer_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    edit_json(tmp_path / "tokenizer_config.json", eos_token="<end>")
    assert read_eos_token_ids(tmp_path, {"eos_token_id": 3}, 10) == (3,)
    assert "tokenizer.json cannot be read" in caplog.text


def test_ids_outside_the_vocabulary_refuse_no_model(
    tiny_model_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path(shutil.copytree(tiny_model_dir, tmp_path / "tiny"))
    edit_json(folder / "config.json", pad_token_id=10**9, bos_token_id=-5)
    edit_json(
        folder / "generation_config.json",
        eos_token_id=10**9,
        pad_token_id=-7,
        suppress_tokens=[10**9],
        begin_suppress_tokens=[-1],
        forced_eos_token_id=10**9,
        bad_words_ids=[[10**9]],
    )
    with LLM(str(folder), num_slots=256, threads=1, weights_cache="off", progress=False) as llm:
        assert llm.generate("hi", SamplingParams(max_tokens=1))
        assert llm.info.eos_token_ids == (1,)
    for said in ("end-of-text ids outside the vocabulary of 420: 1000000000", "pad_token_id"):
        assert f"ignoring {said}" in caplog.text
