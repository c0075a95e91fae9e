"""Requests that continue the output of an earlier run, as after the loss of another engine."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.engine.asking import MakeCore, ask, run, tokens_of
from yaie.base.errors import InvalidRequest
from yaie.base.types import Grammar, ReasoningLimit
from yaie.engine.validation import validate_request

pytestmark = pytest.mark.usefixtures("one_thread")

PROMPT = tokens_of(5, 20)
LENGTH = 14
CHOICES = Grammar(kind="choice", source=json.dumps(["abcdefgh", "abcdxyz", "bcd"]))
LIMIT = ReasoningLimit(max_tokens=6, opener_id=3, closer_id=7, is_open=True)


@pytest.mark.parametrize(
    ("sampling", "others"),
    [
        ({}, {}),
        ({"temperature": 1.0, "seed": 7}, {}),
        ({"temperature": 1.3, "seed": 8, "top_k": 9, "logprobs": 2}, {}),
        ({"repetition_penalty": 1.5}, {}),
        ({"presence_penalty": 1.5, "frequency_penalty": 0.5, "temperature": 1.0, "seed": 9}, {}),
        ({"bad_words_token_ids": ((9, 10), (11, 12, 13)), "temperature": 1.5, "seed": 3}, {}),
        ({"min_tokens": 10, "ignore_eos": False, "temperature": 2.0, "seed": 1}, {}),
        ({"ignore_eos": False, "temperature": 1.0, "seed": 2}, {"grammar": CHOICES}),
        ({"temperature": 1.0, "seed": 2}, {"reasoning_limit": LIMIT}),
    ],
)
def test_a_resumed_request_has_the_rest_of_the_uninterrupted_output(
    make_core: MakeCore, sampling: dict[str, object], others: dict[str, object]
) -> None:
    whole = replace(ask("whole", PROMPT, max_tokens=LENGTH, **sampling), **others)  # type: ignore[arg-type]
    answers = run(make_core(exact=True), whole)
    output, end = answers.tokens("whole"), answers.last("whole")
    if not others.get("grammar"):
        assert len(output) == LENGTH or end.finish_reason == "stop"
    core = make_core(exact=True)
    for at in range(1, len(output)):
        resumed = replace(
            whole,
            request_id=f"from {at}",
            prompt_token_ids=(*PROMPT, *output[:at]),
            num_resumed=at,
        )
        rest = run(core, resumed)
        assert rest.tokens(f"from {at}") == output[at:]
        last = rest.last(f"from {at}")
        assert (last.finish_reason, last.stop_token_id) == (end.finish_reason, end.stop_token_id)


@pytest.mark.parametrize(
    ("num_resumed", "sampling"), [(20, {}), (-1, {}), (6, {}), (3, {"n": 2, "temperature": 1.0})]
)
def test_impossible_numbers_of_resumed_tokens_are_named(
    make_core: MakeCore, num_resumed: int, sampling: dict[str, object]
) -> None:
    request = replace(ask("r", PROMPT, max_tokens=6, **sampling), num_resumed=num_resumed)
    with pytest.raises(InvalidRequest, match="num_resumed is") as caught:
        make_core().add(request)
    assert caught.value.param == "num_resumed"


def test_resumed_tokens_count_towards_min_tokens_at_the_end_of_the_context(
    make_core: MakeCore,
) -> None:
    info = make_core().info
    prompt = tuple([5] * (info.max_model_len - 8))
    request = replace(ask("r", prompt, max_tokens=40, min_tokens=16), num_resumed=12)
    assert validate_request(request, info, 1) == 8
