"""Streamed text equals the text of all tokens at once, without half characters."""

from __future__ import annotations

import random
import re

import pytest

from tests.text.small_tokenizers import TEXT
from yaie.text.detokenize import ByteDetokenizer, StreamDetokenizer, make_detokenizer
from yaie.text.tokenizer import Tokenizer


def stream(tokenizer: Tokenizer, ids: list[int], cuts: random.Random, **options: bool) -> str:
    detokenizer = make_detokenizer(tokenizer, (), **options)
    text, at = "", 0
    while at < len(ids):
        step = cuts.randint(1, 4)
        text += detokenizer.push(ids[at : at + step])
        at += step
    return text + detokenizer.flush()


def test_each_tokenizer_gets_its_detokenizer(
    byte_level: Tokenizer, sentencepiece_like: Tokenizer
) -> None:
    assert isinstance(make_detokenizer(byte_level, ()), ByteDetokenizer)
    assert isinstance(make_detokenizer(sentencepiece_like, ()), StreamDetokenizer)


@pytest.mark.parametrize("skip_special_tokens", [True, False])
def test_ten_thousand_random_sequences_of_bytes(
    byte_level: Tokenizer, skip_special_tokens: bool
) -> None:
    cuts = random.Random(3)
    raw = [i for i in range(byte_level.vocab_size) if len(byte_level.token_bytes(i)) == 1]
    for round_ in range(5_000):
        pool = raw if round_ % 3 == 0 else range(byte_level.vocab_size)
        ids = cuts.choices(pool, k=cuts.randint(0, 24))
        whole = byte_level.decode(ids, skip_special_tokens=skip_special_tokens)
        streamed = stream(byte_level, ids, cuts, skip_special_tokens=skip_special_tokens)
        assert streamed == whole, ids


@pytest.mark.parametrize("text", TEXT)
def test_real_text_in_both_tokenizers(
    byte_level: Tokenizer, sentencepiece_like: Tokenizer, text: str
) -> None:
    cuts = random.Random(5)
    for tokenizer in (byte_level, sentencepiece_like):
        ids = tokenizer.encode(text)
        assert stream(tokenizer, ids, cuts) == tokenizer.decode(ids) == text


def test_a_character_over_several_tokens_is_shown_whole(
    byte_level: Tokenizer, sentencepiece_like: Tokenizer
) -> None:
    for tokenizer in (byte_level, sentencepiece_like):
        ids = tokenizer.encode("the is 𝄞!")
        detokenizer = make_detokenizer(tokenizer, ())
        pieces = [detokenizer.push([token_id]) for token_id in ids]
        assert len(ids) > len("the is 𝄞!") - 4
        assert all("\ufffd" not in piece for piece in pieces)
        assert "".join(pieces) == "the is 𝄞!"
        assert "𝄞" in pieces


def test_words_go_on_after_the_prompt(sentencepiece_like: Tokenizer) -> None:
    prompt = sentencepiece_like.encode("the")
    ids = sentencepiece_like.encode("the is")[len(prompt) :]
    detokenizer = make_detokenizer(sentencepiece_like, prompt)
    assert detokenizer.push(ids) + detokenizer.flush() == " is"


def test_a_prompt_that_ends_inside_a_character(
    byte_level: Tokenizer, sentencepiece_like: Tokenizer
) -> None:
    raw = {byte_level.token_bytes(i): i for i in range(byte_level.vocab_size)}
    smile = [raw[bytes([byte])] for byte in "🙂".encode()]
    detokenizer = make_detokenizer(byte_level, byte_level.encode("is") + smile[:2])
    assert detokenizer.push(smile[2:]) == "🙂"
    # The unfinished character of the prompt is not text of an empty answer.
    detokenizer = make_detokenizer(byte_level, smile[:2])
    assert detokenizer.push(byte_level.encode("<|im_end|>")) + detokenizer.flush() == ""
    detokenizer = make_detokenizer(byte_level, smile[:2])
    assert detokenizer.push(smile[2:3]) + detokenizer.flush() == "\ufffd"
    # The other kind cannot know the bytes, but never shows the prompt again.
    ids = sentencepiece_like.encode("the 🙂")
    detokenizer = make_detokenizer(sentencepiece_like, ids[:-1])
    assert "the" not in detokenizer.push(ids[-1:]) + detokenizer.flush()


@pytest.mark.parametrize("text", ["a🙂", "🙂🙂", "a é你", "你你你", "你好，世界", "the"])
@pytest.mark.parametrize("num_special", [0, 3, 9])
def test_a_space_after_a_prompt_of_rare_characters_is_kept(
    sentencepiece_like: Tokenizer, text: str, num_special: int
) -> None:
    """The context may begin inside a character, or be special tokens."""
    special = min(sentencepiece_like.special_ids)
    prompt = [*sentencepiece_like.encode(text), *[special] * num_special]
    own = [sentencepiece_like.fast.token_to_id("▁the")]
    detokenizer = make_detokenizer(sentencepiece_like, prompt)
    assert detokenizer.push(own) + detokenizer.flush() == " the"


def test_a_run_of_broken_bytes_is_not_held_for_ever(sentencepiece_like: Tokenizer) -> None:
    broken = sentencepiece_like.fast.token_to_id("<0xFF>")
    detokenizer = make_detokenizer(sentencepiece_like, ())
    shown = "".join(detokenizer.push([broken]) for _ in range(1000))
    assert len(shown) > 900
    assert shown + detokenizer.flush() == "\ufffd" * 1000


@pytest.mark.parametrize("num_before", [0, 1, 5])
def test_invalid_bytes_leave_other_characters_whole(
    sentencepiece_like: Tokenizer, num_before: int
) -> None:
    """Any token may come, at a high temperature or by a bias; words and characters stay whole."""
    cuts = random.Random(9)
    ids = {t: i for t, i in sentencepiece_like.fast.get_vocab().items() if len(t) > 1 or t in "fox"}
    raw = [ids[f"<0x{byte:02X}>"] for byte in (0x41, 0x80, 0xE2, 0x82, 0xAC, 0xFF)]
    words = [ids[text] for text in ("▁the", "▁is", "f", "o", "x")]
    for _ in range(1_500):
        chosen = cuts.choices(raw + words, k=cuts.randint(1, 24))
        prompt = cuts.choices(words, k=num_before)
        detokenizer = make_detokenizer(sentencepiece_like, prompt)
        text = "".join(detokenizer.push([token_id]) for token_id in chosen) + detokenizer.flush()
        expected = sentencepiece_like.decode([i for i in chosen if i in words])
        assert re.sub("[^a-z]", "", text) == expected.replace(" ", ""), chosen
        assert len(text) <= len(sentencepiece_like.decode(prompt + chosen)) + 24


def test_broken_bytes_are_shown_once(sentencepiece_like: Tokenizer) -> None:
    """Bytes shown because too many were held are not shown again with later text."""
    id_of = sentencepiece_like.fast.token_to_id
    detokenizer = make_detokenizer(sentencepiece_like, ())
    text = detokenizer.push([id_of("<0xFF>")] * 33 + [id_of("f")]) + detokenizer.flush()
    assert text == "\ufffd" * 33 + "f"


def test_special_tokens_are_skipped_by_default(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("a<|im_end|>b")
    assert make_detokenizer(byte_level, ()).push(ids) == "ab"
    assert make_detokenizer(byte_level, (), False).push(ids) == "a<|im_end|>b"
