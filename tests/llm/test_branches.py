"""`fork` and `choose`: several continuations of one prefix, computed once."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.conftest import GREEDY, HELLO, is_idle
from yaie import LLM, SamplingParams
from yaie.api.ranked_choice import edges_of
from yaie.base.errors import (
    ContextLengthExceeded,
    InvalidRequest,
    RequestError,
    RequestFailed,
)
from yaie.base.types import TokenDelta

CHOICES = ["the lazy dog", "the lazy cat", "a fox", "x"]


def twin_logprobs(llm: LLM, prompt: list[int], choice: str) -> float:
    """Return the log-probability of a choice by the log-probabilities of a whole prompt."""
    ids = llm.tokenizer.encode(choice, add_special_tokens=False)
    whole = llm.generate(
        {"prompt_token_ids": prompt + ids}, SamplingParams(max_tokens=1, prompt_logprobs=0)
    )[0]
    assert whole.prompt_logprobs is not None
    scored = whole.prompt_logprobs[len(prompt) :]
    return sum(each.logprob for each in scored if each is not None)


@pytest.mark.parametrize("per_token", [False, True])
def test_choices_have_the_log_probabilities_of_whole_prompts(llm: LLM, per_token: bool) -> None:
    prompt = llm.tokenizer.encode("A quick brown fox jumps over")
    found = llm.choose("A quick brown fox jumps over", CHOICES, per_token=per_token)
    expected = [twin_logprobs(llm, prompt, choice) for choice in CHOICES]
    assert found.logprobs == pytest.approx(expected, abs=1e-3)
    scores = [
        score / (count if per_token else 1)
        for score, count in zip(found.logprobs, found.num_tokens, strict=True)
    ]
    assert found.index == max(range(4), key=scores.__getitem__)
    assert found.text == CHOICES[found.index]
    softmax = torch.softmax(torch.tensor(scores, dtype=torch.float64), dim=0).tolist()
    assert found.probabilities == pytest.approx(softmax)
    assert sum(found.probabilities) == pytest.approx(1.0)


def test_the_shared_prompt_and_shared_beginnings_are_computed_once(llm: LLM) -> None:
    prompt = [7, 9, 11, 13, 402, 55, 66, 77]
    before = llm.stats.rows_computed
    found = llm.choose(prompt, CHOICES, cache_salt="rows")
    sequences = [tuple(llm.tokenizer.encode(c, add_special_tokens=False)) for c in CHOICES]
    inner = {ids[:place] for ids in sequences for place in range(1, len(ids))}
    assert llm.stats.rows_computed - before == len(prompt) + len(inner)
    assert found.usage.prompt_tokens == len(prompt)
    again = llm.choose(prompt, CHOICES, cache_salt="rows")
    assert again.usage.cached_tokens == len(prompt) - 1
    assert again.logprobs == pytest.approx(found.logprobs, abs=1e-3)
    assert is_idle(llm)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple), min_size=1))
def test_edges_are_those_of_the_tree_of_choices(sequences: list[tuple[int, ...]]) -> None:
    edges = edges_of(sequences)
    assert len(edges) == len(set(edges))
    beginnings = {ids[: place + 1] for ids in sequences for place in range(len(ids))}
    assert {(*behind, token) for behind, token in edges} == beginnings
    assert edges[0][0] == ()


def test_a_conversation_can_be_answered_by_a_choice(llm: LLM) -> None:
    found = llm.choose(HELLO, ["yes", "no"])
    prompt = llm.process_prompt(HELLO, GREEDY)
    assert found.usage.prompt_tokens == prompt.prompt_tokens
    assert found.text in ("yes", "no")
    assert math.isclose(sum(found.probabilities), 1.0)


@pytest.mark.parametrize("choices", ["yes", [], ["yes", ""], ["yes", 5]])
def test_choices_are_a_list_of_texts(llm: LLM, choices: list[str]) -> None:
    with pytest.raises(InvalidRequest, match="choices"):
        llm.choose("the", choices)


def test_a_choice_beyond_the_context_is_refused(llm: LLM) -> None:
    with pytest.raises(ContextLengthExceeded):
        llm.choose([5] * 1020, ["A quick brown fox jumps over the lazy dog 123456"])
    assert is_idle(llm)


def test_a_fork_answers_as_the_whole_prompt_and_shares_its_prefix(llm: LLM) -> None:
    prefix = "A quick brown fox jumps over the lazy dog. "
    fork = llm.fork(prefix, cache_salt="fork")
    assert fork.token_ids == tuple(llm.tokenizer.encode(prefix))
    before = llm.stats.prompt_rows_computed
    answers = fork.generate(["It", "She", ""], GREEDY)
    computed = llm.stats.prompt_rows_computed - before
    ids = [
        [*fork.token_ids, *llm.tokenizer.encode(text, add_special_tokens=False)]
        for text in ("It", "She", "")
    ]
    whole = llm.generate(ids, GREEDY, cache_salt="other")
    assert [a.token_ids for a in answers] == [w.token_ids for w in whole]
    assert [a.prompt for a in answers] == [prefix + "It", prefix + "She", prefix]
    assert computed == len(fork) + sum(len(each) - len(fork) for each in ids)
    cached = [each.usage.cached_tokens for each in fork.generate(["a", "b", ""], GREEDY)]
    assert cached == [len(fork), len(fork), len(fork) - 1]


def test_a_fork_of_a_fork_a_stream_and_a_choice_begin_with_its_tokens(llm: LLM) -> None:
    fork = llm.fork("A quick ")
    longer = fork.fork("brown ")
    assert longer.token_ids[: len(fork)] == fork.token_ids
    text = "".join(piece.text for piece in longer.stream("fox", GREEDY))
    assert text == longer.generate("fox", GREEDY)[0].text
    assert longer.generate([5, 6], GREEDY)[0].prompt_token_ids == (*longer.token_ids, 5, 6)
    assert fork.choose(CHOICES).logprobs == llm.choose(list(fork.token_ids), CHOICES).logprobs


def test_a_conversation_is_forked_at_the_beginning_of_its_answer(llm: LLM) -> None:
    fork = llm.fork(HELLO)
    (answer,) = fork.generate(sampling_params=GREEDY)
    (chat,) = llm.chat(HELLO, GREEDY)
    assert answer.text == chat.text
    with pytest.raises(InvalidRequest, match="prompt 1"):
        fork.generate(["a", [1000]], replace(GREEDY, max_tokens=1))


def test_a_failed_choice_raises(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(answers: dict[str, object], **_: object) -> object:
        name = next(iter(answers))
        error = RequestError("it broke")
        yield TokenDelta(request_id=name, index=0, finish_reason="error", error=error)

    monkeypatch.setattr(llm, "_grow", fail)
    with pytest.raises(RequestFailed, match="it broke"):
        llm.choose("the", CHOICES)
