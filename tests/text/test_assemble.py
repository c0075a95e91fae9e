"""One sequence's text: stop strings, stop tokens, min_tokens, and what is counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaie.text.assemble import SequenceText, TextPiece
from yaie.text.tokenizer import Tokenizer
from yaie.types import SamplingParams, TokenDelta, TokenLogprobs


def delta(ids: list[int], **fields: Any) -> TokenDelta:
    logprobs = tuple(TokenLogprobs(token_id=i, logprob=-1.0, rank=1) for i in ids)
    return TokenDelta(request_id="r", index=0, token_ids=tuple(ids), logprobs=logprobs, **fields)


def run(tokenizer: Tokenizer, chunks: list[list[int]], **sampling: Any) -> list[TextPiece]:
    text = SequenceText(tokenizer, (), SamplingParams(max_tokens=None, **sampling))
    pieces = [text.push(delta(chunk)) for chunk in chunks[:-1]]
    return [*pieces, text.push(delta(chunks[-1], finish_reason="length"))]


def test_text_flows_and_ends(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("The tree 🙂")
    pieces = run(byte_level, [[i] for i in ids])
    assert "".join(piece.text for piece in pieces) == "The tree 🙂"
    assert pieces[-1].finish_reason == "length"
    assert not any(piece.must_abort for piece in pieces)


@given(data=st.data())
def test_a_stop_string_ends_at_the_same_token_in_any_chunks(
    byte_level: Tokenizer, data: st.DataObject
) -> None:
    ids = byte_level.encode("one two END three")
    text = SequenceText(byte_level, (), SamplingParams(max_tokens=None, stop=("END",)))
    shown, counted, at = "", [], 0
    while at < len(ids):
        step = data.draw(st.integers(1, len(ids) - at))
        last = at + step == len(ids)
        piece = text.push(delta(ids[at : at + step], finish_reason="length" if last else None))
        shown, counted, at = shown + piece.text, counted + list(piece.token_ids), at + step
        assert len(piece.logprobs) == len(piece.token_ids)
        if piece.finish_reason is not None:
            assert (piece.finish_reason, piece.stop_reason) == ("stop", "END")
            assert piece.must_abort is not last
            break
    assert shown == "one two "
    assert byte_level.decode(counted).endswith("END")
    assert text.num_tokens == len(counted)
    assert text.is_finished
    assert text.push(delta([5, 6], finish_reason="abort")) == TextPiece()


def test_a_stop_string_inside_the_first_min_tokens_is_text(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("END and END")
    first = len(byte_level.encode("END"))
    pieces = run(byte_level, [[i] for i in ids], stop="END", min_tokens=first)
    assert "".join(piece.text for piece in pieces) == "END and "
    assert pieces[-1].stop_reason == "END"


def test_a_stop_string_that_begins_in_the_first_min_tokens_ends_the_text(
    byte_level: Tokenizer,
) -> None:
    ids = byte_level.encode("x END y")
    text_before = next(
        count for count in range(len(ids)) if "E" in byte_level.decode(list(ids[:count]))
    )
    pieces = run(byte_level, [[i] for i in ids], stop="END y", min_tokens=text_before)
    assert "".join(piece.text for piece in pieces) == "x "
    assert pieces[-1].stop_reason == "END y"


def test_the_stop_string_may_be_kept(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("x END y")
    pieces = run(byte_level, [ids], stop="END", include_stop_str_in_output=True)
    assert pieces[0].text == "x END"


def test_a_stop_token_is_counted_but_not_shown(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("a b")
    sampling = SamplingParams(stop_token_ids=(ids[-1],))
    text = SequenceText(byte_level, (), sampling)
    piece = text.push(delta(ids, finish_reason="stop", stop_token_id=ids[-1]))
    assert piece.text == "a"
    assert piece.token_ids == tuple(ids)
    assert (piece.finish_reason, piece.stop_reason) == ("stop", ids[-1])


@pytest.mark.parametrize("skip_special_tokens", [True, False])
def test_the_end_token_is_no_stop_reason(byte_level: Tokenizer, skip_special_tokens: bool) -> None:
    eos = byte_level.eos_token_id
    assert eos is not None
    sampling = SamplingParams(skip_special_tokens=skip_special_tokens)
    text = SequenceText(byte_level, (), sampling)
    piece = text.push(
        delta([*byte_level.encode("done"), eos], finish_reason="stop", stop_token_id=eos)
    )
    assert (piece.text, piece.finish_reason, piece.stop_reason) == ("done", "stop", None)


def test_held_text_comes_out_at_the_end(byte_level: Tokenizer) -> None:
    pieces = run(byte_level, [byte_level.encode("to EN"), []], stop="END")
    assert [piece.text for piece in pieces] == ["to ", "EN"]


def test_half_a_character_at_the_end_is_replaced(byte_level: Tokenizer) -> None:
    raw = {byte_level.token_bytes(i): i for i in range(byte_level.vocab_size)}
    pieces = run(byte_level, [[raw[b"\xf0"]], [raw[b"\x9f"]]])
    assert [piece.text for piece in pieces] == ["", "\ufffd"]
