"""`prompt_logprobs` of chats and text completions, in vLLM's form."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from tests.server.bad_bodies import check_error
from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO
from tests.server.test_chat import chat
from tests.server.test_completions import complete
from yaie.text.tokenizer import Tokenizer


def expected(tokenizer: Tokenizer, prompt: list[int], num_top: int) -> list[object]:
    """Return the answer with the logprobs that the scripted engine gives."""

    def entry(token_id: int, logprob: float, rank: int) -> dict[str, object]:
        text = tokenizer.token_bytes(token_id).decode("utf-8", "replace")
        return {"logprob": logprob, "rank": rank, "decoded_token": text}

    maps: list[object] = [None]
    for token_id in prompt[1:]:
        one = {str(token_id): entry(token_id, -0.5, 1)}
        if num_top == 2:
            one[str(token_id + 1)] = entry(token_id + 1, -9999.0, 2)
        maps.append(one)
    return maps


@pytest.mark.parametrize("num_top", [0, 1, 2])
def test_a_chat_has_them_at_top_level(
    make_app: MakeApp, tokenizer: Tokenizer, num_top: int
) -> None:
    http, engine = make_app()
    answer = chat(http, prompt_logprobs=num_top, n=2)
    prompt = list(engine.requests[-1].prompt_token_ids)
    assert answer["prompt_logprobs"] == expected(tokenizer, prompt, num_top)
    assert all(choice["logprobs"] is None for choice in answer["choices"])
    assert "prompt_logprobs" not in chat(http)


def test_each_choice_of_a_completion_has_those_of_its_prompt(
    http: TestClient, tokenizer: Tokenizer
) -> None:
    answer = complete(http, prompt=[[5, 6, 7], [9]], n=2, prompt_logprobs=2)
    prompts = [[5, 6, 7], [5, 6, 7], [9], [9]]
    shown = [choice["prompt_logprobs"] for choice in answer["choices"]]
    assert shown == [expected(tokenizer, prompt, 2) for prompt in prompts]


@pytest.mark.parametrize(("logprobs", "wanted"), [(0, 2), (2, 0), (2, 2)])
def test_the_larger_number_serves_the_echo_too(
    make_app: MakeApp, tokenizer: Tokenizer, logprobs: int, wanted: int
) -> None:
    http, engine = make_app()
    fields = {"prompt": [5, 6, 7], "echo": True, "logprobs": logprobs, "max_tokens": 0}
    both = complete(http, **fields, prompt_logprobs=wanted)["choices"][0]
    assert engine.requests[-1].sampling.prompt_logprobs == max(logprobs, wanted)
    assert both.pop("prompt_logprobs") == expected(tokenizer, [5, 6, 7], wanted)
    assert both == complete(http, **fields)["choices"][0]


def test_an_echo_without_logprobs_shows_none(http: TestClient) -> None:
    answer = complete(http, prompt=[5, 6], echo=True, prompt_logprobs=1)
    assert answer["choices"][0]["logprobs"] is None
    assert len(answer["choices"][0]["prompt_logprobs"]) == 2


def test_copies_for_all_choices_count_against_the_limit(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.info = replace(INFO, max_model_len=2048)
    body = {"prompt": [5] * 1000, "n": 64, "max_tokens": 1, "prompt_logprobs": 20}
    error = check_error(http.post("/v1/completions", json=body))
    assert error["code"] == "answer_too_large"
    assert engine.requests == []


def test_streams_are_refused(http: TestClient) -> None:
    body = {"prompt": "x", "stream": True, "prompt_logprobs": 1}
    error = check_error(http.post("/v1/completions", json=body))
    assert error["message"].startswith("prompt_logprobs is not available in streams")
