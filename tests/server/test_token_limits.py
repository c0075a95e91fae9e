"""Token limits beyond the context are clipped and reported; prompts beyond it are refused."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.server.bad_bodies import check_error
from tests.server.conftest import MakeApp
from tests.server.real_server import WAIT_S, Server
from yaie.server.requests.prompt_tokens import reserve_tokens

CHAT, TEXT, RESPONSES, MESSAGES = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
)
HEADER = "X-YAIE-Max-Tokens"
ASK = {"messages": [{"role": "user", "content": "the plan?"}]}
# A body of each API, and the names of its limit.
APIS = [
    (CHAT, ASK, "max_tokens"),
    (CHAT, ASK, "max_completion_tokens"),
    (TEXT, {"prompt": "the tree"}, "max_tokens"),
    (RESPONSES, {"input": "the plan?"}, "max_output_tokens"),
    (MESSAGES, ASK, "max_tokens"),
]
BEYOND = (257, 8_000, 32_000, 2**53)


@pytest.mark.parametrize(("path", "body", "limit"), APIS)
def test_a_limit_beyond_the_context_is_clipped_and_reported(
    make_app: MakeApp, path: str, body: dict[str, Any], limit: str
) -> None:
    http, engine = make_app()
    for wanted in BEYOND:
        response = http.post(path, json={**body, limit: wanted})
        assert response.status_code == 200, response.text
        room = 256 - len(engine.requests[-1].prompt_token_ids)
        assert engine.requests[-1].sampling.max_tokens == room
        assert response.headers[HEADER] == str(room)
        rendered = http.post(path, json={**body, limit: room})
        assert HEADER not in rendered.headers
        assert engine.requests[-1].sampling.max_tokens == room
        assert http.post(path, json={**body, limit: room + 1}).headers[HEADER] == str(room)


def test_the_least_room_of_several_prompts_is_reported(make_app: MakeApp) -> None:
    http, engine = make_app()
    prompts = [[5] * 10, [5] * 200, [5]]
    response = http.post(TEXT, json={"prompt": prompts, "max_tokens": 100})
    assert response.headers[HEADER] == "56"
    assert sorted(each.sampling.max_tokens or 0 for each in engine.requests) == [56, 100, 100]
    assert HEADER not in http.post(TEXT, json={"prompt": prompts, "max_tokens": 56}).headers


@pytest.mark.parametrize(("path", "body", "limit"), APIS)
def test_a_prompt_that_fills_the_context_is_refused(
    http: TestClient, path: str, body: dict[str, Any], limit: str
) -> None:
    long = {"prompt": [5] * 256} if path == TEXT else {}
    if path == RESPONSES:
        long = {"input": "the " * 400}
    if path in (CHAT, MESSAGES):
        long = {"messages": [{"role": "user", "content": "the " * 400}]}
    response = http.post(path, json={**body, **long, limit: 32_000})
    if path == MESSAGES:
        assert response.status_code == 400 and "context length" in response.text
    else:
        error = check_error(response)
        assert error["code"] == "context_length_exceeded"
        assert error["param"] in ("messages", "prompt", "input", "input[0].content")


def test_a_guaranteed_length_beyond_the_context_is_refused(make_app: MakeApp) -> None:
    http, engine = make_app()
    body = {"prompt": [5] * 200, "max_tokens": 32_000, "min_tokens": 57}
    error = check_error(http.post(TEXT, json=body))
    assert (error["code"], error["param"]) == ("context_length_exceeded", "min_tokens")
    assert "56" in error["message"]
    assert http.post(TEXT, json={**body, "min_tokens": 56}).status_code == 200
    (request,) = engine.requests
    assert (request.sampling.min_tokens, request.sampling.max_tokens) == (56, 56)


def test_the_default_limit_gives_way_to_a_clipped_one(make_app: MakeApp) -> None:
    http, engine = make_app(default_max_tokens=3)
    for path, body, limit in APIS:
        http.post(path, json={**body, limit: 32_000})
        request = engine.requests[-1]
        assert request.sampling.max_tokens == 256 - len(request.prompt_token_ids)


def test_truncated_prompts_leave_room_for_a_limit_beyond_the_context(make_app: MakeApp) -> None:
    http, engine = make_app()
    for wanted, kept in ((100, 156), (255, 1), (256, 128), (32_000, 128), (None, 255)):
        body = {"prompt": [5] * 300, "truncate_prompt_tokens": -1, "max_tokens": wanted}
        assert http.post(TEXT, json=body).status_code == 200
        assert len(engine.requests[-1].prompt_token_ids) == kept
    items = [
        {"role": role, "content": f"{at} the tree is the cache and the plan of the batch"}
        for at in range(30)
        for role in ("user", "assistant")
    ]
    items.append({"role": "user", "content": "the last question"})
    for limit, room in ((None, 1), (100, 100), (32_000, 128)):
        body = {"input": items, "truncation": "auto", "max_output_tokens": limit}
        assert http.post(RESPONSES, json=body).status_code == 200
        assert 50 < len(engine.requests[-1].prompt_token_ids) <= 256 - room
    # The last turn stays, whatever the limit.
    body = {"input": items[-1]["content"] + " x" * 50, "truncation": "auto"}
    assert http.post(RESPONSES, json={**body, "max_output_tokens": 250}).headers[HEADER]


@given(max_tokens=st.none() | st.integers(1, 1 << 40), max_model_len=st.integers(2, 1 << 20))
def test_a_truncated_prompt_and_its_reserve_fit(max_tokens: int | None, max_model_len: int) -> None:
    reserved = reserve_tokens(max_tokens, max_model_len)
    assert 1 <= reserved < max_model_len
    if max_tokens is not None and max_tokens < max_model_len:
        assert reserved == max_tokens


@pytest.mark.integration
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("path", "body", "limit"), APIS)
def test_a_clipped_answer_fills_the_context_and_says_so(
    server: Server, path: str, body: dict[str, Any], limit: str, stream: bool
) -> None:
    given = {**body, limit: 32_000, "stream": stream, "ignore_eos": True}
    if path == MESSAGES:
        given.pop("ignore_eos")
    if path in (CHAT, TEXT) and stream:
        given["stream_options"] = {"include_usage": True}
    reply = requests.post(server.url + path, json=given, timeout=WAIT_S)
    assert reply.status_code == 200, reply.text
    limit_of_answer = int(reply.headers[HEADER])
    if path == MESSAGES:
        return  # its stop reason with a script: test_messages
    if not stream:
        document = reply.json()
    else:
        events = [line[6:] for line in reply.text.splitlines() if line.startswith("data: ")]
        chunks = [json.loads(event) for event in events if event != "[DONE]"]
        document = chunks[-1].get("response") or chunks[-1]
        if path != RESPONSES:
            (reason,) = {
                choice["finish_reason"]
                for chunk in chunks
                for choice in chunk["choices"]
                if choice.get("finish_reason")
            }
            document["choices"] = [{"finish_reason": reason}]
    if path == RESPONSES:
        assert document["incomplete_details"] == {"reason": "max_output_tokens"}
        assert document["usage"]["output_tokens"] == limit_of_answer
        assert document["max_output_tokens"] == 32_000
    else:
        assert document["choices"][0]["finish_reason"] == "length"
        assert document["usage"]["completion_tokens"] == limit_of_answer
        longest = requests.get(server.url + "/v1/models", timeout=WAIT_S).json()
        assert document["usage"]["total_tokens"] == longest["data"][0]["max_model_len"]


@pytest.mark.integration
def test_the_openai_client_reads_the_clipped_limit(server: Server) -> None:
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
        raw = client.chat.completions.with_raw_response.create(
            model="tiny",
            messages=ASK["messages"],
            max_tokens=8_000,
            extra_body={"ignore_eos": True},
        )
        answer = raw.parse()
        assert answer.choices[0].finish_reason == "length"
        assert answer.usage is not None
        assert answer.usage.completion_tokens == int(raw.headers[HEADER])
