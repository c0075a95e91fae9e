"""Text of sequences and whole answers: stop strings, stop tokens, min_tokens, usage, errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaie.api.outputs import make_output
from yaie.base.errors import RequestError
from yaie.base.types import (
    GenerationRequest,
    SamplingParams,
    Timings,
    TokenDelta,
    TokenLogprobs,
)
from yaie.text.answer import Answer, SequenceText, TextPiece
from yaie.text.tokenizer import Tokenizer


def delta(ids: list[int], index: int = 0, **fields: Any) -> TokenDelta:
    logprobs = tuple(TokenLogprobs(token_id=i, logprob=-1.0, rank=1) for i in ids)
    return TokenDelta(
        request_id="r", index=index, token_ids=tuple(ids), logprobs=logprobs, **fields
    )


def sequence(tokenizer: Tokenizer, **sampling: Any) -> SequenceText:
    return SequenceText(tokenizer, (), SamplingParams(max_tokens=None, **sampling))


def pieces_of(tokenizer: Tokenizer, chunks: list[list[int]], **sampling: Any) -> list[TextPiece]:
    text = sequence(tokenizer, **sampling)
    pieces = []
    for chunk in chunks[:-1]:
        text.push(delta(chunk))
        pieces.append(text.take())
    text.push(delta(chunks[-1], finish_reason="length"))
    return [*pieces, text.take()]


def test_text_flows_and_ends(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("The tree 🙂")
    pieces = pieces_of(byte_level, [[i] for i in ids])
    assert "".join(piece.text for piece in pieces) == "The tree 🙂"
    assert [piece.finish_reason for piece in pieces] == [None] * (len(ids) - 1) + ["length"]


@pytest.mark.integration
@pytest.mark.parametrize("stop", [(), ("no such text",)])
@given(data=st.data())
def test_the_answer_does_not_depend_on_when_it_is_taken(
    byte_level: Tokenizer, stop: tuple[str, ...], data: st.DataObject
) -> None:
    ids = byte_level.encode("one two 🙂 three") * 3
    text = sequence(byte_level, stop=stop)
    taken = []
    for place, token_id in enumerate(ids, start=1):
        text.push(delta([token_id], finish_reason="length" if place == len(ids) else None))
        if data.draw(st.booleans()):
            taken.append(text.take())
    taken.append(text.take())
    assert "".join(piece.text for piece in taken) == byte_level.decode(ids)
    assert [i for piece in taken for i in piece.token_ids] == ids
    assert [one.token_id for piece in taken for one in piece.logprobs] == ids
    assert [piece.finish_reason for piece in taken if piece.finish_reason] == ["length"]
    assert text.num_tokens == len(ids)
    assert text.take() == TextPiece()


def test_tokens_are_decoded_in_batches_of_the_caller(
    byte_level: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = sequence(byte_level)
    sizes = []
    push = text._detokenizer.push
    monkeypatch.setattr(text._detokenizer, "push", lambda ids: sizes.append(len(ids)) or push(ids))
    ids = [10 + number % 90 for number in range(600)]
    for number, token_id in enumerate(ids, start=1):
        text.push(delta([token_id], finish_reason="length" if number == len(ids) else None))
    assert (sizes, text.num_undecoded) == ([], 600)
    text.decode(32)
    text.decode(300)
    assert text.num_undecoded == 268
    assert text.take().text == byte_level.decode(ids)
    assert (sizes, text.num_undecoded) == ([32, 300, 268], 0)


@given(data=st.data())
def test_a_stop_string_ends_at_the_same_token_in_any_chunks(
    byte_level: Tokenizer, data: st.DataObject
) -> None:
    ids = byte_level.encode("one two END three")
    text = sequence(byte_level, stop=("END",))
    shown, counted, at = "", [], 0
    while at < len(ids):
        step = data.draw(st.integers(1, len(ids) - at))
        last = at + step == len(ids)
        must_abort = text.push(delta(ids[at : at + step], finish_reason="length" if last else None))
        piece = text.take()
        shown, counted, at = shown + piece.text, counted + list(piece.token_ids), at + step
        assert len(piece.logprobs) == len(piece.token_ids)
        if piece.finish_reason is not None:
            assert (piece.finish_reason, piece.stop_reason) == ("stop", "END")
            assert must_abort is not last
            break
        assert not must_abort
    assert shown == "one two "
    assert byte_level.decode(counted).endswith("END")
    assert text.num_tokens == len(counted)
    assert text.push(delta([5, 6], finish_reason="abort")) is False
    assert text.take() == TextPiece()


def test_a_stop_string_inside_the_first_min_tokens_is_text(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("END and END")
    first = len(byte_level.encode("END"))
    pieces = pieces_of(byte_level, [[i] for i in ids], stop="END", min_tokens=first)
    assert "".join(piece.text for piece in pieces) == "END and "
    assert pieces[-1].stop_reason == "END"


def test_a_stop_string_may_begin_in_the_first_min_tokens(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("x END y")
    text_before = next(
        count for count in range(len(ids)) if "E" in byte_level.decode(list(ids[:count]))
    )
    pieces = pieces_of(byte_level, [[i] for i in ids], stop="END y", min_tokens=text_before)
    assert "".join(piece.text for piece in pieces) == "x "
    assert pieces[-1].stop_reason == "END y"


def test_the_stop_string_may_be_kept(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("x END y")
    pieces = pieces_of(byte_level, [ids], stop="END", include_stop_str_in_output=True)
    assert pieces[0].text == "x END"


def test_a_stop_token_is_counted_but_not_shown(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("a b")
    text = sequence(byte_level, stop_token_ids=(ids[-1],))
    text.push(delta(ids, finish_reason="stop", stop_token_id=ids[-1]))
    piece = text.take()
    assert piece.text == "a"
    assert piece.token_ids == tuple(ids)
    assert (piece.finish_reason, piece.stop_reason) == ("stop", ids[-1])


@pytest.mark.parametrize("skip_special_tokens", [True, False])
def test_the_end_token_is_no_stop_reason(byte_level: Tokenizer, skip_special_tokens: bool) -> None:
    eos = byte_level.eos_token_id
    assert eos is not None
    text = sequence(byte_level, skip_special_tokens=skip_special_tokens)
    text.push(delta([*byte_level.encode("done"), eos], finish_reason="stop", stop_token_id=eos))
    piece = text.take()
    assert (piece.text, piece.finish_reason, piece.stop_reason) == ("done", "stop", None)


def test_held_text_comes_out_at_the_end(byte_level: Tokenizer) -> None:
    pieces = pieces_of(byte_level, [byte_level.encode("to EN"), []], stop="END")
    assert [piece.text for piece in pieces] == ["to ", "EN"]


def test_half_a_character_at_the_end_is_replaced(byte_level: Tokenizer) -> None:
    raw = {byte_level.token_bytes(i): i for i in range(byte_level.vocab_size)}
    pieces = pieces_of(byte_level, [[raw[b"\xf0"]], [raw[b"\x9f"]]])
    assert [piece.text for piece in pieces] == ["", "\ufffd"]


# -- whole answers ------------------------------------------------------------------------------


def answer_to(tokenizer: Tokenizer, **sampling: Any) -> Answer:
    request = GenerationRequest(
        request_id="r", prompt_token_ids=(5, 6), sampling=SamplingParams(max_tokens=9, **sampling)
    )
    return Answer(request, tokenizer)


def test_usage_counts_all_sequences_up_to_their_stop_strings(byte_level: Tokenizer) -> None:
    answer = answer_to(byte_level, n=2, stop=("END",))
    ids = byte_level.encode("xEND")
    assert answer.push(delta([*ids, 7, 8], num_cached_tokens=1)) is True
    assert answer.push(delta([40, 41], index=1, num_cached_tokens=1)) is False
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (2, len(ids) + 2)
    assert usage.cached_tokens == 1
    assert (answer.finish_reason(0), answer.finish_reason(1)) == ("stop", None)


def test_an_answer_is_over_once_the_engine_has_ended_it(byte_level: Tokenizer) -> None:
    answer = answer_to(byte_level, n=2, stop=("END",))
    assert answer.push(delta(byte_level.encode("END")))
    answer.push(delta([40], index=1, finish_reason="length"))
    assert not answer.is_over  # sequence 0 still runs in the engine
    timings = Timings(queued_s=1.0, first_token_s=2.0, total_s=3.0)
    answer.push(delta([], finish_reason="abort", timings=timings))
    assert answer.is_over
    assert answer.timings[0] == timings
    assert answer.take(0).finish_reason == "stop"


def test_prompt_logprobs_come_with_the_first_delta(byte_level: Tokenizer) -> None:
    answer = answer_to(byte_level, prompt_logprobs=0)
    scored = (None, TokenLogprobs(token_id=6, logprob=-1.0, rank=1))
    answer.push(delta([40], prompt_logprobs=scored))
    answer.push(delta([41], finish_reason="length"))
    assert make_output(answer, "text").prompt_logprobs == scored


@pytest.mark.parametrize("stop", [(), ("no such text",)])
def test_tokens_before_the_error_of_another_sequence_are_kept(
    byte_level: Tokenizer, stop: tuple[str, ...]
) -> None:
    """An error ends all sequences of a request; their tokens were computed, and count."""
    answer = answer_to(byte_level, n=2, stop=stop)
    for token_id in (40, 41):
        answer.push(delta([token_id], index=1))
    answer.push(delta([42]))
    answer.push(delta([], finish_reason="error", error=RequestError("broken")))
    assert answer.is_over
    assert answer.error == RequestError("broken")
    output = make_output(answer, None)
    assert [choice.token_ids for choice in output.choices] == [(42,), (40, 41)]
    assert [choice.finish_reason for choice in output.choices] == ["error", "error"]
    assert output.usage.completion_tokens == 3
    assert output.error == "broken"


def test_draft_tokens_after_a_stop_string_do_not_count(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("abcdefgh")
    stop = byte_level.decode(ids[1:3], True)
    answer = Answer(
        GenerationRequest(
            request_id="r", prompt_token_ids=(1,), sampling=SamplingParams(stop=(stop,))
        ),
        byte_level,
    )
    answer.push(delta(ids[:1], num_rejected=2))
    assert answer.push(delta(ids[1:], num_accepted=len(ids) - 2, num_rejected=1))
    answer.push(delta(ids, num_accepted=len(ids), num_rejected=4, finish_reason="abort"))
    usage = answer.usage
    assert usage.completion_tokens == 3
    assert (usage.accepted_prediction_tokens, usage.rejected_prediction_tokens) == (2, 3)
