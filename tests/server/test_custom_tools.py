"""Custom tools of chat completions: calls with a text, whole, streamed, forced and sent back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from openai.types.chat import ChatCompletion
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO
from tests.server.test_chat import chat, stream
from tests.server.test_client_tools import PATCH, TEMPLATE
from tests.server.test_openapi import check_described
from tests.text.test_format_families import accepts
from yaie.server.schemas.generation_replies import ChatCompletion as Reply
from yaie.server.schemas.generation_replies import ChatCompletionChunk
from yaie.text.tokenizer import Tokenizer

EDIT: Any = {"type": "custom", "custom": {"name": "edit", "description": "Edits a file."}}
ADD: Any = {"type": "function", "function": {"name": "add", "parameters": {}}}
TOOLS = [ADD, EDIT]
SUM = {"syntax": "regex", "definition": r"[0-9]\+[0-9]"}
CHOICE = {"type": "custom", "custom": {"name": "edit"}}


@pytest.fixture
def said(make_app: MakeApp, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> Any:
    http, engine = make_app()
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", TEMPLATE)
    engine.info = replace(INFO, max_model_len=2048)

    def say(*calls: tuple[str, Any]) -> Any:
        written = [{"name": name, "arguments": arguments} for name, arguments in calls]
        texts = [f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in written]
        engine.answer = tokenizer.encode("\n".join(texts))
        return http, engine

    return say


def whole(http: TestClient, **fields: Any) -> list[Any]:
    answer = chat(http, **fields)
    ChatCompletion.model_validate(answer, strict=True)
    check_described(Reply, answer)
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    return list(choice["message"]["tool_calls"])


def streamed(http: TestClient, **fields: Any) -> list[Any]:
    """Return the calls as OpenAI's client adds their deltas up."""
    calls: list[Any] = []
    for chunk in stream(http, **fields):
        check_described(ChatCompletionChunk, chunk)
        for delta in chunk["choices"][0]["delta"].get("tool_calls", ()):
            at, own = delta["index"], "custom" if "custom" in delta else "function"
            if at == len(calls):
                calls.append({"id": delta["id"], "type": delta["type"], own: delta[own]})
                continue
            assert set(delta) == {"index", own}
            for name, piece in delta[own].items():
                calls[at][own][name] += piece
    return calls


@pytest.mark.parametrize("ask", [whole, streamed])
def test_calls_have_the_form_of_their_tools(said: Any, ask: Any) -> None:
    http, _ = said(("edit", {"input": PATCH}), ("add", {"a": 1}), ("edit", {"input": "b"}))
    calls = ask(http, tools=TOOLS)
    assert [call.pop("id").startswith("call_") for call in calls] == [True] * 3
    edit, add, other = calls
    assert edit == {"type": "custom", "custom": {"name": "edit", "input": PATCH}}
    assert add == {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    assert other["custom"]["input"] == "b"


@pytest.mark.parametrize("ask", [whole, streamed])
def test_arguments_in_another_form_are_the_text(said: Any, ask: Any) -> None:
    http, _ = said(("edit", {"patch": "+a"}), ("edit", {"input": "b"}))
    assert [call["custom"]["input"] for call in ask(http, tools=TOOLS)] == ["+a", "b"]


def test_a_call_goes_back_to_the_model_as_it_wrote_it(said: Any) -> None:
    http, engine = said(("edit", {"input": PATCH}))
    (call,) = whole(http, tools=TOOLS)
    user = {"role": "user", "content": "Edit."}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "the result"}
    messages = [user, {"role": "assistant", "content": None, "tool_calls": [call]}, result]
    prompts = []
    for tools in (TOOLS, None):  # the tool may be gone
        chat(http, messages=messages, tools=tools)
        tokenizer = http.app.state.service.model().tokenizer
        prompt = tokenizer.decode(engine.requests[-1].prompt_token_ids, False)
        written = prompt.split("<tool_call>")[-1].split("</tool_call>")[0]
        assert json.loads(written) == {"name": "edit", "arguments": {"input": PATCH}}
        prompts.append(prompt.split("<|im_start|>", 1)[1])
    assert prompts[0] == prompts[1]
    assert "the result" in prompts[0]


@pytest.mark.parametrize(
    "choice",
    [
        CHOICE,
        {"type": "custom", "name": "edit"},
        {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [CHOICE]}},
    ],
)
@pytest.mark.parametrize("form", [{"grammar": SUM}, SUM])
def test_a_forced_text_follows_its_grammar(
    said: Any, tokenizer: Tokenizer, choice: Any, form: Any
) -> None:
    http, engine = said(("edit", {"input": "1+2"}))
    tool = {"type": "custom", "custom": {**EDIT["custom"], "format": {"type": "grammar", **form}}}
    chat(http, tools=[ADD, tool], tool_choice=choice)
    grammar = engine.requests[-1].grammar

    def written(name: str, text: str) -> str:
        call = json.dumps({"name": name, "arguments": {"input": text}})
        return f"<tool_call>\n{call}\n</tool_call>"

    assert accepts(tokenizer, grammar, written("edit", "1+2"))
    assert not accepts(tokenizer, grammar, written("edit", "1+"))
    assert not accepts(tokenizer, grammar, written("add", "1+2"))


def test_a_grammar_that_no_pattern_holds_is_reported(said: Any) -> None:
    http, _ = said(("edit", {"input": "(())"}))
    grammar = {"syntax": "lark", "definition": 'start: "(" start? ")"'}
    tool = {"type": "custom", "custom": {"name": "edit", "format": {"type": "grammar", **grammar}}}
    body = {"messages": [{"role": "user", "content": "a"}], "tools": [tool], "tool_choice": CHOICE}
    reply = http.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    assert reply.headers["x-yaie-ignored-params"] == "tools.custom.format"
    (call,) = reply.json()["choices"][0]["message"]["tool_calls"]
    assert call["custom"]["input"] == "(())"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [ADD, {"type": "custom"}]}, "tools[1]"),
        ({"tools": [{"type": "custom", "custom": {}}]}, "tools[0].custom.name"),
        ({"tools": [{"type": "custom", "custom": {"name": ["a"]}}]}, "tools[0].custom.name"),
        ({"tools": [EDIT, ADD, EDIT]}, "tools[2].custom.name"),
        (
            {"tools": [{**EDIT, "custom": {"name": "a", "format": {"type": "grammar"}}}]},
            "tools[0].custom.format.syntax",
        ),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": TOOLS, "tool_choice": {"type": "custom", "custom": {}}}, "tool_choice"),
        ({"tools": [], "tool_choice": CHOICE}, "tool_choice"),
    ],
)
def test_wrong_tools_are_named(http: TestClient, fields: Any, param: str) -> None:
    body = {"messages": [{"role": "user", "content": "a"}], **fields}
    reply = http.post("/v1/chat/completions", json=body)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)


def test_a_wrong_call_in_the_history_is_named(http: TestClient) -> None:
    calls = [{"id": "a", "type": "custom", "custom": {"input": "b"}}]
    user = {"role": "user", "content": "a"}
    body = {"messages": [user, {"role": "assistant", "tool_calls": calls}, user]}
    reply = http.post("/v1/chat/completions", json=body)
    param = "messages[1].tool_calls[0].custom"
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)
