"""`truncation` of responses, the count of their input tokens, and the refusal to compact."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import InputTokenCountResponse
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.test_responses import ask, refuse
from yaie.text.tokenizer import Tokenizer

COUNT = "/v1/responses/input_tokens"
TOOL = {"type": "function", "name": "add", "parameters": {"type": "object"}}


def turns(number: int) -> list[dict[str, str]]:
    return [
        {"role": role, "content": f"{name} {at} the tree is the cache and the plan of the batch"}
        for at in range(number)
        for role, name in (("user", "question"), ("assistant", "answer"))
    ] + [{"role": "user", "content": "the last question"}]


def count(http: TestClient, **body: Any) -> int:
    response = http.post(COUNT, json=body)
    assert response.status_code == 200, response.text
    return InputTokenCountResponse.model_validate(response.json(), strict=True).input_tokens


@pytest.mark.parametrize("number", [1, 9, 40])
@pytest.mark.parametrize("limit", [None, 60])
def test_the_oldest_turns_are_dropped_and_no_more_than_needed(
    make_app: MakeApp, tokenizer: Tokenizer, number: int, limit: int | None
) -> None:
    http, engine = make_app()
    body = {
        "instructions": "Be brief.",
        "input": [{"role": "developer", "content": "In French."}, *turns(number)],
        "truncation": "auto",
        "max_output_tokens": limit,
    }
    answer = ask(http, **body)
    assert answer["truncation"] == "auto"
    (request,) = engine.requests
    longest = 256 - (limit or 1)
    assert len(request.prompt_token_ids) <= longest
    text = tokenizer.decode(request.prompt_token_ids, skip_special_tokens=False)
    assert "Be brief." in text and "In French." in text and "the last question" in text
    kept = [at for at in range(number) if f"question {at} " in text]
    assert kept == list(range(number - len(kept), number))
    assert [at for at in range(number) if f"answer {at} " in text] == kept
    assert count(http, **body) == answer["usage"]["input_tokens"] == len(request.prompt_token_ids)
    if len(kept) < number:
        again = [body["input"][0], *turns(number)[2 * (number - len(kept) - 1) :]]  # type: ignore[index]
        longer = {**body, "input": again, "truncation": "disabled"}
        if limit is None:
            assert refuse(http, **longer)["code"] == "context_length_exceeded"
        else:
            assert count(http, **longer) > longest


def test_a_turn_that_does_not_fit_alone_is_refused(http: TestClient) -> None:
    for items in ("x " * 2000, [*turns(3), {"role": "user", "content": "x " * 2000}]):
        error = refuse(http, input=items, truncation="auto")
        assert error["code"] == "context_length_exceeded"


def test_a_stored_conversation_is_truncated_too(make_app: MakeApp) -> None:
    http, engine = make_app()
    first = ask(http, input=turns(3))
    follow = {"input": turns(3), "previous_response_id": first["id"]}
    assert refuse(http, **follow)["code"] == "context_length_exceeded"
    answer = ask(http, **follow, truncation="auto")
    assert len(engine.requests[-1].prompt_token_ids) < 256
    assert answer["previous_response_id"] == first["id"]


@pytest.mark.parametrize(
    "body",
    [
        {"input": "the plan?"},
        {"input": turns(2), "instructions": "Be brief."},
        {"input": "the plan?", "tools": [TOOL], "tool_choice": "none"},
        {"input": "the plan?", "tools": [TOOL], "reasoning": {"effort": "low"}},
    ],
)
def test_a_count_is_the_usage_of_the_request(http: TestClient, body: Any) -> None:
    answer = ask(http, **body)
    assert count(http, **body) == answer["usage"]["input_tokens"]
    more = {"input": "and then?", "previous_response_id": answer["id"]}
    assert count(http, **more) == ask(http, **more)["usage"]["input_tokens"]


def test_a_count_beyond_the_context_and_wrong_bodies(http: TestClient) -> None:
    assert count(http, input="x " * 2000) > 256
    for body, param in (
        ({"input": 5}, "input"),
        ({"input": "x", "previous_response_id": "resp_x"}, "previous_response_id"),
        ({"input": "x", "temperature": "hot"}, "temperature"),
    ):
        response = http.post(COUNT, json=body)
        assert (response.status_code, response.json()["error"]["param"]) == (400, param)


def test_compaction_is_refused(http: TestClient) -> None:
    response = http.post("/v1/responses/compact", json={"model": "tiny", "input": "x"})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "unsupported_endpoint")
    assert "truncation" in response.json()["error"]["message"]
