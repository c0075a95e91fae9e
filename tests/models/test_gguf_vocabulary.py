"""Tokenizers of GGUF files: pre-tokenizers by name, SentencePiece by scores, and special tokens."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.gguf_files import vocabulary_metadata
from yaie.base.errors import ModelUnsupported
from yaie.models.files.gguf.header import GgufFile
from yaie.models.files.gguf.hf_tokenizer import Vocabulary, read_vocabulary
from yaie.models.files.gguf.pretokenizers import PRE_TOKENIZERS

SPACE = "▁"


def cut(name: str, text: str) -> list[str]:
    """Return the pieces of an ASCII text."""
    pieces = PRE_TOKENIZERS[name].splitter().pre_tokenize_str(text)
    return [piece.replace("Ġ", " ").replace("Ċ", "\n") for piece, _ in pieces]


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("gpt-2", ["It", "'s", " 123", " don", "'", "T", ".", "\n", "\n", "1", "."]),
        ("smollm", ["It", "'s", " ", "1", "2", "3", " don", "'", "T", ".", "\n\n", "1", "."]),
        ("llama-bpe", ["It", "'s", " ", "123", " don", "'T", ".\n\n", "1", "."]),
        ("qwen2", ["It", "'s", " ", "1", "2", "3", " don", "'T", ".\n\n", "1", "."]),
        ("tekken", ["It", "'s", " ", "1", "2", "3", " don", "'T", ".\n\n", "1", "."]),
    ],
)
def test_each_name_cuts_numbers_and_apostrophes_its_own_way(name: str, pieces: list[str]) -> None:
    assert cut(name, "It's 123 don'T.\n\n1.") == pieces


@given(
    text=st.text(st.characters(exclude_categories=["Cs"])), name=st.sampled_from([*PRE_TOKENIZERS])
)
def test_pieces_hold_all_bytes_of_a_text(text: str, name: str) -> None:
    pieces = PRE_TOKENIZERS[name].splitter().pre_tokenize_str(text)
    assert sum(len(piece) for piece, _ in pieces) == len(text.encode())


def vocabulary(**changes: Any) -> Vocabulary:
    """Return the built-in model's tokenizer, with changes of its metadata."""
    entries = vocabulary_metadata() | {f"tokenizer.ggml.{key}": v for key, v in changes.items()}
    return read_vocabulary(GgufFile(Path("x.gguf"), entries, {}))


SCORED = [f"{SPACE}a", "ab", "abc", "bc", "ca", "cab", f"{SPACE}{SPACE}", "aa", "bca"]
LETTERS = ["a", "b", "c", SPACE]
TEXTS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *LETTERS, *SCORED]


def sentencepiece(given_scores: list[float], **changes: Any) -> Vocabulary:
    entries = {
        "model": "llama",
        "tokens": TEXTS,
        "token_type": [2, 3, 3, *[6] * 256, *[1] * (len(LETTERS) + len(SCORED))],
        "scores": np.array([0.0] * (len(TEXTS) - len(SCORED)) + given_scores, np.float32),
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
        **changes,
    }
    metadata = {f"tokenizer.ggml.{key}": value for key, value in entries.items()}
    return read_vocabulary(GgufFile(Path("x.gguf"), metadata, {}))


def merged_by_score(text: str, scores: list[float]) -> list[str]:
    """Merge the leftmost pair with the best score until there is none, as SentencePiece does."""
    pieces = list(SPACE + text.replace(" ", SPACE)) if text else []
    rank = dict(zip(SCORED, scores, strict=True))
    while True:
        pairs = [
            (-rank[left + right], place)
            for place, (left, right) in enumerate(pairwise(pieces))
            if left + right in rank
        ]
        if not pairs:
            return pieces
        _, at = min(pairs)
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]


@given(text=st.text("abc ", max_size=20), order=st.permutations(range(len(SCORED))))
def test_sentencepiece_merges_the_best_score_first(text: str, order: list[int]) -> None:
    scores = [-float(place) for place in order]
    found = sentencepiece(scores).tokenizer
    ids = found.encode(text, add_special_tokens=False).ids
    assert [TEXTS[token] for token in ids] == merged_by_score(text, scores)
    assert found.decode(ids) == text


def test_sentencepiece_spells_unknown_characters_in_bytes() -> None:
    found = sentencepiece([-1.0] * len(SCORED)).tokenizer
    encoded = found.encode("aé")
    assert encoded.tokens == ["<s>", f"{SPACE}a", "<0xC3>", "<0xA9>"]
    assert found.decode(encoded.ids) == "aé"


def test_the_space_in_front_can_be_left_out() -> None:
    found = sentencepiece([-1.0] * len(SCORED), add_space_prefix=False, add_bos_token=False)
    assert found.tokenizer.encode("a b").tokens == ["a", SPACE, "b"]
    assert found.tokenizer.decode(found.tokenizer.encode(" a").ids) == " a"


@pytest.mark.parametrize("adds", [True, False])
def test_the_file_says_what_surrounds_a_text(adds: bool) -> None:
    found = vocabulary(bos_token_id=1, add_bos_token=adds, add_eos_token=adds)
    ids = found.tokenizer.encode("Hi").ids
    assert (ids[0] == 1, ids[-1] == 2) == (adds, adds)


def test_llama3_begins_a_text_if_the_file_is_silent() -> None:
    assert vocabulary(pre="llama-bpe", bos_token_id=1).tokenizer.encode("Hi").ids[0] == 1
    assert vocabulary(pre="gpt-2", bos_token_id=1).tokenizer.encode("Hi").ids[0] != 1


def test_special_tokens_are_left_out_of_a_text_and_markers_are_not() -> None:
    found = vocabulary().tokenizer
    ids = found.encode("<|im_start|><tool_call>Hi").ids
    assert found.decode(ids) == "<tool_call>Hi"


def test_all_ends_of_a_turn_are_known() -> None:
    assert vocabulary(eos_token_id=0).ends == [0, 2]  # <|endoftext|> and <|im_end|>


ENDS = ("<|im_end|>", "<|eot_id|>", "<EOT>", "_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>")


@pytest.mark.parametrize("kind", [1, 3, 4], ids=["normal", "control", "user-defined"])
@pytest.mark.parametrize("end", [*ENDS, "<end_of_utterance>"])
def test_an_end_of_any_type_ends_a_text(end: str, kind: int) -> None:
    """Fine-tunes add ChatML's tokens as user-defined ones."""
    texts = vocabulary_metadata()["tokenizer.ggml.tokens"]
    own = [each if each != "<|im_end|>" else "<|unused|>" for each in texts]
    types = [3 if each.startswith("<|") else 1 for each in own]
    found = vocabulary(tokens=[*own, end], token_type=[*types, kind], eos_token_id=0)
    assert found.ends == [0, len(own)]
    assert found.tokenizer.encode(f"hi{end}").ids[-1] == len(own)
    assert found.tokenizer.decode([len(own)]) == ""


def test_a_plain_html_tag_is_no_end() -> None:
    texts = [*vocabulary_metadata()["tokenizer.ggml.tokens"], "</s>"]
    types = [3 if each.startswith("<|") else 1 for each in texts]
    assert vocabulary(tokens=texts, token_type=types, eos_token_id=0).ends == [0, 2]


def test_in_gpt_oss_the_end_of_a_part_ends_no_answer() -> None:
    texts = vocabulary_metadata()["tokenizer.ggml.tokens"]
    ends = ["<|end|>", "<|return|>", "<|call|>"]
    types = [1] * len(texts) + [3] * 3
    found = vocabulary(tokens=[*texts, *ends], token_type=types, eos_token_id=len(texts) + 1)
    assert set(found.ends) >= {len(texts) + 1, len(texts) + 2}
    assert len(texts) not in found.ends


def test_filling_is_no_token() -> None:
    texts = vocabulary_metadata()["tokenizer.ggml.tokens"]
    filled = [*texts, f"[PAD{len(texts)}]", "<unused>"]
    found = vocabulary(tokens=filled, token_type=[1] * len(texts) + [4, 5]).tokenizer
    assert found.get_vocab_size() == len(texts)


def test_chat_templates_keep_their_names() -> None:
    entries = vocabulary_metadata() | {
        "tokenizer.chat_template": "plain",
        "tokenizer.chat_templates": ["tool_use"],
        "tokenizer.chat_template.tool_use": "with tools",
    }
    settings = read_vocabulary(GgufFile(Path("x.gguf"), entries, {})).settings
    assert settings["chat_template"] == [
        {"name": "default", "template": "plain"},
        {"name": "tool_use", "template": "with tools"},
    ]
    del entries["tokenizer.chat_template"]
    settings = read_vocabulary(GgufFile(Path("x.gguf"), entries, {})).settings
    assert settings["chat_template"] == [{"name": "tool_use", "template": "with tools"}]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"scores": [0.5]}, "lacks a score for each token"),
        ({"tokens": [1, 2]}, "has no tokens"),
    ],
)
def test_damage_is_named(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ModelUnsupported, match=f"tokenizer in x.gguf is damaged: .*{why}"):
        sentencepiece([0.0] * len(SCORED), **changes)
