"""llguidance's tokenizer from tokens as bytes: the same as from JSON, made in pieces."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer
from llguidance.numpy import fill_next_token_bitmask
from tokenizers import AddedToken

from tests.engine.asking import Answers, MakeCore, ask, run, tokens_of
from tests.text.small_tokenizers import write_byte_level, write_sentencepiece_like
from yaie.base.types import Grammar
from yaie.engine.grammar.token_table import TokenTable, make_tokenizer
from yaie.text.tokenizer import Tokenizer, load_tokenizer

SCHEMA = json.dumps({"type": "object", "properties": {"näme": {"type": "string"}}})


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A byte-level one with added tokens: special, named like special ones, and plain text."""
    read = load_tokenizer(write_byte_level(tmp_path_factory.mktemp("byte_level")))
    plain = AddedToken("  two spaces", normalized=False)
    read.fast.add_tokens([AddedToken("<mark>"), plain, AddedToken("plan")])
    return load_tokenizer(_saved(read, tmp_path_factory.mktemp("added")))


def _saved(read: Tokenizer, folder: Path) -> Path:
    read.hf.save_pretrained(str(folder))
    return folder


def both(tokenizer: Tokenizer) -> tuple[LLTokenizer, LLTokenizer]:
    """Return the tokenizer as read from JSON, and as made here, for more logits than tokens."""
    vocab_size = tokenizer.vocab_size + 9
    ends = [1, 2]
    read = LLTokenizer(tokenizer.fast.to_str(), n_vocab=vocab_size, eos_token=ends)
    return read, make_tokenizer(tokenizer, vocab_size=vocab_size, end_token_ids=ends)


def test_tokens_and_ends_are_those_of_the_json_form(tokenizer: Tokenizer) -> None:
    read, made = both(tokenizer)
    assert made.vocab_size == read.vocab_size == tokenizer.vocab_size + 9
    assert made.eos_tokens == read.eos_tokens == [1, 2]
    assert made.is_canonical and read.is_canonical
    for token_id in range(read.vocab_size):
        assert made.dbg_tokens([token_id]) == read.dbg_tokens([token_id])
        assert made.decode_bytes([token_id]) == read.decode_bytes([token_id])
        assert made.is_special_token(token_id) == read.is_special_token(token_id)


@pytest.mark.parametrize(
    "text", ["", "the plan", "Grüße 你好 🙂 \n\n x", "<|im_start|>the  two spaces<mark>", "näme"]
)
def test_texts_divide_as_in_the_json_form(tokenizer: Tokenizer, text: str) -> None:
    read, made = both(tokenizer)
    assert made.tokenize_str(text) == read.tokenize_str(text)
    assert made.tokenize_bytes(text.encode()[:-1]) == read.tokenize_bytes(text.encode()[:-1])


@given(st.text(max_size=20))
def test_masks_and_forced_tokens_are_those_of_the_json_form(
    tokenizer: Tokenizer, text: str
) -> None:
    for grammar in (
        LLMatcher.grammar_from_json_schema(SCHEMA),
        LLMatcher.grammar_from_lark('start: "<" /[^<]*/ <|im_end|> "the tree is"'),
    ):
        matchers = [LLMatcher(each, grammar, log_level=0) for each in both_once(tokenizer)]
        said = ('{"näme": ' + json.dumps(text)) if "näme" in grammar else "<" + text
        for token_id in [None, *tokenizer.encode(said), 1]:
            for matcher in matchers:
                if token_id is not None:
                    matcher.consume_token(token_id)
            first, second = (mask_of(each, tokenizer.vocab_size + 9) for each in matchers)
            assert np.array_equal(first, second)
            assert matchers[0].compute_ff_tokens() == matchers[1].compute_ff_tokens()


_made: dict[int, tuple[LLTokenizer, LLTokenizer]] = {}


def both_once(tokenizer: Tokenizer) -> tuple[LLTokenizer, LLTokenizer]:
    if id(tokenizer) not in _made:
        _made[id(tokenizer)] = both(tokenizer)
    return _made[id(tokenizer)]


def mask_of(matcher: LLMatcher, vocab_size: int) -> np.ndarray:
    mask = np.zeros((1, -(-vocab_size // 32)), np.int32)
    fill_next_token_bitmask(matcher, mask)
    return mask


def test_a_tokenizer_without_byte_level_tokens_is_read_from_json(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_sentencepiece_like(tmp_path))
    made = make_tokenizer(tokenizer, vocab_size=tokenizer.vocab_size, end_token_ids=[1])
    token_ids = made.tokenize_str("the is")
    assert len(token_ids) == 2 and made.decode_str(token_ids) == "the is"


def test_tokens_behind_a_gap_of_the_vocabulary_have_their_text(tmp_path: Path) -> None:
    folder = write_byte_level(tmp_path)
    read = json.loads((folder / "tokenizer.json").read_text())
    vocab = read["model"]["vocab"]
    last = max(vocab, key=lambda token: vocab[token])
    vocab[last] += 7
    (folder / "tokenizer.json").write_text(json.dumps(read))
    tokenizer = load_tokenizer(folder)
    moved = vocab[last]
    assert tokenizer.vocab_size < moved
    made = make_tokenizer(tokenizer, vocab_size=moved + 3, end_token_ids=[1])
    assert made.decode_bytes([moved]) == tokenizer.token_bytes(moved) != b""
    assert made.dbg_tokens([moved - 1]) == f"⟦<[{moved - 1}]>⟧"


def test_more_tokens_than_logits_are_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="the model 300 logits"):
        make_tokenizer(tokenizer, vocab_size=300, end_token_ids=[1])


def test_other_threads_run_while_the_tokens_are_read(tokenizer: Tokenizer) -> None:
    """Each pause lets another thread make its steps; a table is read in many slices."""
    pauses: list[int] = []
    turn, done = threading.Semaphore(0), threading.Semaphore(0)

    def make_steps() -> None:
        while turn.acquire() and len(pauses) < 10:
            pauses.append(len(pauses))
            done.release()

    thread = threading.Thread(target=make_steps, daemon=True)
    thread.start()

    def pause() -> None:
        turn.release()
        done.acquire()

    TokenTable(tokenizer, vocab_size=512 * 9, eos_token_id=1, pause=pause)
    assert len(pauses) == 9
    pauses.append(9)
    turn.release()
    thread.join()


def test_steps_go_on_while_the_tokenizer_is_read(make_core: MakeCore, tiny_model_dir: Path) -> None:
    core = make_core()
    began, may_go_on = threading.Event(), threading.Event()

    def read_slowly() -> Tokenizer:
        began.set()
        may_go_on.wait()
        return load_tokenizer(tiny_model_dir)

    core._grammars = core._make_grammars(read_slowly)
    prompt = tokens_of(1, 20)
    choice = Grammar.choice(["yes", "no"])
    core.add(replace(ask("g", prompt, ignore_eos=False), grammar=choice))
    began.wait()
    core.add(ask("plain", prompt, max_tokens=12))
    answers = Answers()
    while ("plain", 0) not in answers.deltas or not answers.deltas["plain", 0][-1].finish_reason:
        answers.take(core.step())
    assert len(answers.tokens("plain")) == 12 and ("g", 0) not in answers.deltas
    may_go_on.set()
    assert run(core).last("g").finish_reason == "stop"
