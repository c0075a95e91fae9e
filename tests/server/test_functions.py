"""OpenAI's older `functions`: the prompt of tools, and answers with a `function_call`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO, ScriptedClient
from tests.server.test_chat import chat, stream
from tests.server.test_tools import ADD, CALL, TEMPLATE, TOOLS
from yaie.text.tokenizer import Tokenizer

FUNCTIONS = [tool["function"] for tool in TOOLS]
WITH_CALLS = TEMPLATE.replace(
    "{{ message.content }}",
    "{{ message.content }}{{ message.tool_calls | tojson if message.tool_calls }}"
    "{{ message.tool_call_id }}",
)


@pytest.fixture
def said(make_app: MakeApp, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> Any:
    http, engine = make_app()
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", WITH_CALLS)
    engine.info = replace(INFO, max_model_len=1024)

    def say(text: str) -> tuple[TestClient, ScriptedClient]:
        engine.answer = tokenizer.encode(text)
        return http, engine

    return say


def whole(http: TestClient, **fields: Any) -> tuple[str, Any, str]:
    (choice,) = chat(http, **fields)["choices"]
    message = choice["message"]
    assert "tool_calls" not in message
    return message["content"] or "", message.get("function_call"), choice["finish_reason"]


def streamed(http: TestClient, **fields: Any) -> tuple[str, Any, str]:
    content, call = "", None
    for chunk in stream(http, **fields):
        (choice,) = chunk["choices"]
        delta = choice["delta"]
        assert "tool_calls" not in delta
        content += delta.get("content") or ""
        grown = delta.get("function_call", {})
        if "name" in grown:
            assert call is None
            call = {"name": grown["name"], "arguments": ""}
        if grown:
            call["arguments"] += grown["arguments"]
    return content, call, choice["finish_reason"]


@pytest.mark.parametrize("ask", [whole, streamed])
def test_a_call_is_a_function_call_and_the_end(said: Any, ask: Any) -> None:
    http, _ = said(f"Adding.\n{ADD}\n{ADD} more")
    assert ask(http, functions=FUNCTIONS) == ("Adding.", CALL, "function_call")


@pytest.mark.parametrize("ask", [whole, streamed])
def test_an_answer_without_a_call(said: Any, ask: Any) -> None:
    http, _ = said("The tree.")
    assert ask(http, functions=FUNCTIONS) == ("The tree.", None, "stop")
    assert ask(http, functions=FUNCTIONS, function_call="none") == ("The tree.", None, "stop")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"parallel_tool_calls": False}),
        ({"function_call": "none"}, {"tool_choice": "none"}),
        (
            {"function_call": {"name": "add"}},
            {"tool_choice": {"type": "function", "function": {"name": "add"}}},
        ),
    ],
)
def test_the_engine_gets_the_request_of_tools(said: Any, old: Any, new: Any) -> None:
    http, engine = said(ADD)
    chat(http, functions=FUNCTIONS, **old)
    chat(http, tools=TOOLS, **new)
    first, second = engine.requests
    assert first.prompt_token_ids == second.prompt_token_ids
    assert first.grammar == second.grammar


def test_past_calls_and_results_are_those_of_tools(said: Any) -> None:
    http, engine = said("done")
    asked = {"role": "user", "content": "1?"}
    old = [
        asked,
        {"role": "assistant", "content": None, "function_call": CALL},
        {"role": "function", "name": "add", "content": "2"},
    ]
    new = [
        asked,
        {
            "role": "assistant",
            "tool_calls": [{"id": "call_1", "type": "function", "function": CALL}],
        },
        {"role": "tool", "tool_call_id": "call_1", "name": "add", "content": "2"},
    ]
    for messages in (old, new):
        chat(http, messages=messages)
        count = http.post("/v1/count_tokens", json={"messages": messages}).json()["count"]
        assert count == len(engine.requests[-1].prompt_token_ids)
    first, second = engine.requests
    assert first.prompt_token_ids == second.prompt_token_ids


def test_the_client_reads_its_own_names(http: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def post(path: str, **fields: Any) -> Any:
        messages = [{"role": "user", "content": "x"}]
        return http.post(path, json={"messages": messages, "functions": FUNCTIONS, **fields})

    for path in ("/v1/chat/completions", "/v1/count_tokens"):
        error = post(path, functions=[{"name": "a b"}]).json()["error"]
        assert error["param"] == "functions[0].name"
        assert "functions[0].name must be" in error["message"]
    error = post("/v1/chat/completions", function_call={"name": "g"}).json()["error"]
    assert error["message"].startswith(
        "function_call.name must be the name of one of the functions"
    )
    error = post("/v1/chat/completions", functions=FUNCTIONS * 513).json()["error"]
    assert error["message"].startswith("functions has ")
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", "{{ messages[0].content }}")
    assert "X-YAIE-Ignored-Params" not in post("/v1/chat/completions").headers  # as text


@pytest.mark.parametrize(
    ("fields", "echo"),
    [
        ({}, ""),
        ({"continue_final_message": True}, "the plan is"),
        ({"add_generation_prompt": False}, "the plan is"),
        ({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]},
         "y"),
        ({"messages": [{"role": "assistant", "content": [{"type": "text", "text": "y"}, "z"]}]},
         "y\nz"),
    ],
)  # fmt: skip
def test_the_echo_is_the_message_that_the_answer_continues(
    http: TestClient, fields: Any, echo: str
) -> None:
    fields = {"messages": [{"role": "user", "content": "the plan is"}], "n": 2, **fields}
    plain = [choice["message"]["content"] for choice in chat(http, **fields)["choices"]]
    answer = chat(http, echo=True, **fields)
    assert [choice["message"]["content"] for choice in answer["choices"]] == [
        echo + each for each in plain
    ]
    texts = ["", ""]
    for chunk in stream(http, echo=True, **fields):
        for choice in chunk["choices"]:
            texts[choice["index"]] += choice["delta"].get("content") or ""
    assert texts == [echo + each for each in plain]
