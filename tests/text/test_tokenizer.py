"""Tokenizers: loading without torch, round trips, bytes of single tokens, lower bounds."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer

from tests.light_transformers import needs_light_transformers
from tests.text.small_tokenizers import TEXT, write_byte_level
from yaie.base.errors import ContextLengthExceeded, InvalidRequest, ModelUnsupported
from yaie.text.tokenizer import TextKind, Tokenizer, encode_start, load_tokenizer


@pytest.mark.parametrize("text", [*TEXT, "", " ", "\x00", "🙂", "a" * 5000])
def test_text_comes_back(byte_level: Tokenizer, text: str) -> None:
    assert byte_level.decode(byte_level.encode(text)) == text


def test_token_bytes_join_to_the_text(byte_level: Tokenizer, sentencepiece_like: Tokenizer) -> None:
    text = "the 🙂 is naïve"
    ids = byte_level.encode(text)
    assert b"".join(map(byte_level.token_bytes, ids)) == text.encode()
    ids = sentencepiece_like.encode(text)
    assert b"".join(map(sentencepiece_like.token_bytes, ids)) == (" " + text).encode()
    assert byte_level.token_bytes(10**6) == b""


def test_ids_and_names_of_tokens(byte_level: Tokenizer) -> None:
    assert byte_level.is_byte_level
    assert byte_level.eos_token_id == byte_level.fast.token_to_id("<|im_end|>")
    assert byte_level.bos_token_id is None
    assert byte_level.has_chat_template
    assert len(byte_level.special_ids) == 3
    assert byte_level.token_bytes(byte_level.eos_token_id or 0) == b"<|im_end|>"
    assert byte_level.vocab_size > 256


def test_an_unpaired_surrogate_is_refused(byte_level: Tokenizer) -> None:
    with pytest.raises(InvalidRequest, match="surrogate"):
        byte_level.encode("\ud800")


def test_other_threads_run_while_a_text_is_encoded(byte_level: Tokenizer) -> None:
    ticks = []
    begun, done = threading.Event(), threading.Event()

    def tick() -> None:
        while not done.is_set():
            if begun.is_set():
                ticks.append(1)
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begun.set()
    byte_level.encode("the radix tree " * 40_000)
    done.set()
    ticker.join()
    assert len(ticks) > 20  # one or two if the call keeps the interpreter lock


@given(
    st.text(
        alphabet=st.one_of(
            st.characters(exclude_categories=["Cs"]), st.sampled_from("the e\u0301")
        ),
        max_size=60,
    ),
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_lower_bound_never_exceeds_the_token_count(
    byte_level: Tokenizer, text: str, nfc: bool
) -> None:
    byte_level.fast.normalizer = normalizers.NFC() if nfc else None
    try:
        num_tokens = len(byte_level.encode(text))
        byte_level.encode(text, max_tokens=num_tokens)
    finally:
        byte_level.fast.normalizer = None


def test_a_text_that_cannot_fit_is_not_encoded(byte_level: Tokenizer) -> None:
    text = "the radix tree " * 1000
    with pytest.raises(
        ContextLengthExceeded, match=r"prompt\[2\] has at least \d+ tokens"
    ) as caught:
        byte_level.encode(text, max_tokens=100, name="prompt[2]")
    assert caught.value.param == "prompt[2]"
    assert len(byte_level.encode(text, max_tokens=10**6)) > 1000


class Watched:
    """A fast tokenizer that counts the characters it encodes."""

    def __init__(self, fast: Any) -> None:
        self.fast = fast
        self.num_chars = 0

    def encode_batch_fast(self, texts: list[str], **options: bool) -> Any:
        self.num_chars += sum(map(len, texts))
        return self.fast.encode_batch_fast(texts, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fast, name)


@pytest.mark.parametrize("kind", ["prompt", "long prompt"])
def test_of_a_text_without_known_length_only_a_start_is_encoded(
    sentencepiece_like: Tokenizer, kind: TextKind
) -> None:
    fast = sentencepiece_like.fast
    watched = sentencepiece_like.fast = Watched(fast)  # type: ignore[assignment]
    try:
        for encode in (sentencepiece_like.encode, sentencepiece_like.encode_pieces):
            watched.num_chars = 0
            text = "the radix tree " * 20_000
            given: Any = text if encode == sentencepiece_like.encode else [text, "b"]
            with pytest.raises(ContextLengthExceeded, match=r"has at least \d{3,4} tokens"):
                encode(given, max_tokens=100, kind=kind)
            assert 0 < watched.num_chars < 8000
    finally:
        sentencepiece_like.fast = fast


def test_a_long_prompt_is_refused_with_one_token_too_many(byte_level: Tokenizer) -> None:
    text = "the plan " * 100
    for encode in (byte_level.encode, byte_level.encode_pieces):
        given: Any = text if encode == byte_level.encode else [text, "b"]
        ids = encode(given)
        assert encode(given, max_tokens=len(ids), kind="long prompt") == ids
        with pytest.raises(ContextLengthExceeded, match="counted or truncated"):
            encode(given, max_tokens=len(ids) - 1, kind="long prompt")


def test_a_long_word_that_a_start_cuts_counts_as_one_token(tmp_path: Path) -> None:
    """WordPiece has one [UNK] for a word of over 100 characters, and a piece a character."""
    vocab = {token: place for place, token in enumerate(["[UNK]", "internationalization"])}
    vocab.update({token: len(vocab) + at for at, token in enumerate(["x", "##x"])})
    fast = FastTokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    fast.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    fast.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast"}'
    )
    tokenizer = load_tokenizer(tmp_path)
    text = "internationalization " * ((16 * 73 - 90) // 21) + "x" * 3000
    ids = tokenizer.encode(text)
    assert tokenizer.encode(text, max_tokens=73) == ids
    assert encode_start(tokenizer.encode, text, 40)[:40] == ids[:40]


@given(st.lists(st.sampled_from(["the ", "radix", "\n", "  ", "🙂", "e\u0301", "1"]), min_size=40))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_text_of_as_many_tokens_as_allowed_is_encoded(
    byte_level: Tokenizer, sentencepiece_like: Tokenizer, parts: list[str]
) -> None:
    """Also one with so many characters a token that its start was encoded before."""
    for tokenizer in (byte_level, sentencepiece_like):
        text = " " * 2000 + "".join(parts)
        ids = tokenizer.encode(text)
        assert tokenizer.encode(text, max_tokens=len(ids)) == ids


@pytest.mark.timeout(60)
def test_a_million_combining_marks_are_no_load(byte_level: Tokenizer) -> None:
    """Marks out of their canonical order are sorted; in quadratic time this takes hours."""
    byte_level.fast.normalizer = normalizers.NFC()
    try:
        assert byte_level._least_tokens("a" + "\u0301\u0316" * 500_000) > 1000
    finally:
        byte_level.fast.normalizer = None


def test_tokens_that_absorb_spaces_have_no_length(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_byte_level(tmp_path))
    tokenizer.fast.add_tokens([AddedToken("<wide>", lstrip=True)])
    text = " " * 10_000 + "<wide>"
    assert len(tokenizer.encode(text, max_tokens=10)) == 1


def test_texts_whose_bytes_may_be_dropped_have_no_length(tmp_path: Path) -> None:
    folder = write_byte_level(tmp_path)
    spec = json.loads((folder / "tokenizer.json").read_text())
    drops = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
    spec["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [drops, spec["pre_tokenizer"]]}
    (folder / "tokenizer.json").write_text(json.dumps(spec))
    assert len(load_tokenizer(folder).encode(" " * 10_000 + "a", max_tokens=10)) == 1


def test_truncation_in_the_file_is_not_obeyed(tmp_path: Path) -> None:
    folder = write_byte_level(tmp_path)
    spec = json.loads((folder / "tokenizer.json").read_text())
    spec["truncation"] = {
        "direction": "Right",
        "max_length": 4,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    (folder / "tokenizer.json").write_text(json.dumps(spec))
    assert len(load_tokenizer(folder).encode("x y z " * 20)) > 4


@pytest.mark.integration
def test_old_vocabularies_are_converted(tmp_path: Path) -> None:
    source = json.loads((write_byte_level(tmp_path / "fast") / "tokenizer.json").read_text())
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(source["model"]["vocab"]))
    merges = [" ".join(pair) for pair in source["model"]["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
    tokenizer = load_tokenizer(folder)
    assert tokenizer.decode(tokenizer.encode(TEXT[2])) == TEXT[2]


@pytest.mark.integration
def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnsupported, match=r"has no tokenizer\.json"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.model").write_bytes(b"no SentencePiece at all")
    with pytest.raises(ModelUnsupported, match="could not be converted") as refused:
        load_tokenizer(tmp_path)
    is_readable = importlib.util.find_spec("sentencepiece") is not None
    assert ("pip install sentencepiece" in refused.value.message) is not is_readable


def test_a_broken_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = write_byte_level(tmp_path)
    (folder / "tokenizer.json").write_text('{"model": ')
    with pytest.raises(ModelUnsupported, match="cannot be read"):
        load_tokenizer(folder)


@pytest.mark.integration
@needs_light_transformers
def test_text_needs_no_torch(tmp_path: Path) -> None:
    folder = write_byte_level(tmp_path)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from yaie.text.answer import Answer\n"
        "from yaie.text.chat_template import ChatTemplate\n"
        "from yaie.text.tokenizer import load_tokenizer\n"
        "tokenizer = load_tokenizer(Path(sys.argv[1]))\n"
        "ChatTemplate(tokenizer).render([{'role': 'user', 'content': 'hi'}])\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@given(st.text(st.sampled_from("".join(TEXT)), max_size=60), st.integers(1, 6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_start_has_the_tokens_of_the_text(
    byte_level: Tokenizer, sentencepiece_like: Tokenizer, text: str, longest: int
) -> None:
    for tokenizer in (byte_level, sentencepiece_like):
        start = encode_start(tokenizer.encode, text * 40, longest)
        whole = tokenizer.encode(text * 40)
        assert start[:longest] == whole[:longest]
        assert len(start) > longest or start == whole


def test_of_megabytes_that_are_cut_a_start_is_encoded(byte_level: Tokenizer) -> None:
    lengths: list[int] = []

    def encode(text: str) -> list[int]:
        lengths.append(len(text))
        return byte_level.encode(text)

    assert len(encode_start(encode, "many words " * 100_000, 100)) > 100
    assert sum(lengths) < 10_000
