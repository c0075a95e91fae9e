"""Tool calls and reasoning in chat answers of a scripted engine."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO, ScriptedClient
from tests.server.test_chat import chat, stream
from tests.text.test_format_families import accepts
from yaie.text.tokenizer import Tokenizer

TEMPLATE = """{% if tools %}{{ tools | tojson }} <tool_call> </tool_call> {% endif %}
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>{% endfor %}<|im_start|>assistant
{% if think %}<think>
{% endif %}{% if false %}</think>{% endif %}"""
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"properties": {"a": {}}}}}
    for name in ("add", "weather")
]
ADD = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
BROKEN = "<tool_call>\nadd(1)\n</tool_call>"


@pytest.fixture
def said(make_app: MakeApp, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> Any:
    answers = ScriptedClient([])
    answers.info = replace(INFO, max_model_len=1024)  # the template of the tools is long
    http, engine = make_app(answers)
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", TEMPLATE)

    def say(text: str) -> tuple[TestClient, ScriptedClient]:
        engine.answer = tokenizer.encode(text)
        return http, engine

    return say


def streamed(http: TestClient, **fields: Any) -> dict[str, Any]:
    """Return the message that a client puts together, and the finish reason."""
    message: dict[str, Any] = {"content": "", "reasoning_content": "", "tool_calls": []}
    for chunk in stream(http, **fields):
        (choice,) = chunk["choices"]
        delta = choice["delta"]
        message["content"] += delta.get("content") or ""
        message["reasoning_content"] += delta.get("reasoning_content", "")
        for call in delta.get("tool_calls", ()):
            if "id" in call:
                assert call["index"] == len(message["tool_calls"])
                message["tool_calls"].append({"name": call["function"]["name"], "arguments": ""})
            message["tool_calls"][call["index"]]["arguments"] += call["function"]["arguments"]
    message["finish_reason"] = choice["finish_reason"]
    message["fault"] = choice.get("tool_parse_error")
    return message


def whole(http: TestClient, **fields: Any) -> dict[str, Any]:
    (choice,) = chat(http, **fields)["choices"]
    message = choice["message"]
    return {
        "content": message["content"] or "",
        "reasoning_content": message.get("reasoning_content", ""),
        "tool_calls": [call["function"] for call in message.get("tool_calls", ())],
        "finish_reason": choice["finish_reason"],
        "fault": choice.get("tool_parse_error"),
    }


CALL = {"name": "add", "arguments": '{"a": 1}'}


@pytest.mark.parametrize("ask", [whole, streamed])
def test_calls_are_no_text(said: Any, ask: Any) -> None:
    http, _ = said(f"Adding.\n{ADD}\n{ADD}")
    answer = ask(http, tools=TOOLS)
    assert (answer["content"], answer["tool_calls"]) == ("Adding.", [CALL, CALL])
    assert (answer["finish_reason"], answer["fault"]) == ("tool_calls", None)


@pytest.mark.parametrize("ask", [whole, streamed])
def test_one_call_ends_the_answer(said: Any, ask: Any) -> None:
    http, engine = said(f"{ADD}\n{ADD}")
    answer = ask(http, tools=TOOLS, parallel_tool_calls=False)
    assert (answer["tool_calls"], answer["finish_reason"]) == ([CALL], "tool_calls")
    assert len(engine.aborted) == 1  # the rest is not computed


@pytest.mark.parametrize("ask", [whole, streamed])
def test_reasoning_is_apart(said: Any, ask: Any) -> None:
    http, _ = said("<think>\nOne.\n</think>\n\nTwo.")
    answer = ask(http)
    assert (answer["reasoning_content"], answer["content"]) == ("One.", "Two.")
    http, _ = said(f"One.\n</think>\n\n{ADD}")
    answer = ask(http, tools=TOOLS, chat_template_kwargs={"think": True})
    assert (answer["reasoning_content"], answer["tool_calls"]) == ("One.", [CALL])


@pytest.mark.parametrize("ask", [whole, streamed])
def test_hidden_reasoning(said: Any, tokenizer: Tokenizer, ask: Any) -> None:
    http, _ = said(f"<think>One, two, three.</think>Four.{ADD}")
    shown, hidden = (ask(http, tools=TOOLS, include_reasoning=given) for given in (True, False))
    assert hidden == shown | {"reasoning_content": ""} and hidden["tool_calls"] == [CALL]
    told = chat(http, include_reasoning=False, logprobs=True, return_token_ids=True)
    (choice,) = told["choices"]
    assert "reasoning_content" not in choice["message"]
    number = told["usage"]["completion_tokens"]
    assert number == len(choice["token_ids"]) == len(choice["logprobs"]["content"])
    assert told["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0
    chunks = stream(http, tools=TOOLS, include_reasoning=False)
    assert all(chunk["choices"][0]["delta"] for chunk in chunks[:-1])


def test_usage_counts_the_reasoning(said: Any, tokenizer: Tokenizer) -> None:
    http, _ = said("<think>One, two, three.</think>Four.")
    details = chat(http)["usage"]["completion_tokens_details"]
    assert details == {"reasoning_tokens": len(tokenizer.encode("One, two, three."))}
    *_, last = stream(http, stream_options={"include_usage": True})
    assert last["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0
    http, _ = said("Four.")
    assert "completion_tokens_details" not in chat(http)["usage"]


@pytest.mark.parametrize("ask", [whole, streamed])
def test_a_broken_call_is_text_with_its_reason(said: Any, ask: Any) -> None:
    http, _ = said(BROKEN)
    answer = ask(http, tools=TOOLS)
    assert (answer["content"], answer["finish_reason"]) == (BROKEN, "stop")
    assert "not a JSON" in answer["fault"]


def test_the_header_has_the_reason(said: Any) -> None:
    http, _ = said(BROKEN)
    body = {"messages": [{"role": "user", "content": "x"}], "tools": TOOLS, "n": 2}
    response = http.post("/v1/chat/completions", json=body)
    assert "not a JSON" in response.headers["X-YAIE-Tool-Parse-Error"]


def test_without_tools_a_call_is_text(said: Any) -> None:
    http, _ = said(ADD)
    assert whole(http)["content"] == ADD
    assert whole(http, tools=TOOLS, tool_choice="none")["content"] == ADD


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("required", ["add", "weather"]),
        ({"type": "function", "function": {"name": "weather"}}, ["weather"]),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "add"}}],
                },
            },
            ["add"],
        ),
    ],
)
def test_forced_calls_have_a_grammar(said: Any, choice: Any, names: list[str]) -> None:
    http, engine = said(ADD)
    chat(http, tools=TOOLS, tool_choice=choice)
    grammar = engine.requests[-1].grammar
    assert (grammar.kind, grammar.param) == ("lark", "tools")
    for name in ("add", "weather"):
        assert (json.dumps(f'"name": "{name}"')[1:-1] in grammar.source) == (name in names)


FORMS = {
    "hermes": "<tool_call>",
    "qwen3_coder": "<tool_call> <function= <parameter=",
    "glm": "<tool_call> <arg_key>",
}


def ask_for_a_call(said: Any, monkeypatch: pytest.MonkeyPatch, form: str, parameters: Any) -> Any:
    """Force a call of a tool with these parameters; return the response and its grammar."""
    http, engine = said("x")
    hf = http.app.state.service.model().tokenizer.hf
    monkeypatch.setattr(hf, "chat_template", TEMPLATE.replace("<tool_call>", FORMS[form]))
    function = {"name": "f"} | ({} if parameters == "none" else {"parameters": parameters})
    body = {
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "required",
    }
    return http.post("/v1/chat/completions", json=body), engine.requests[-1].grammar


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "object", "properties": {"x": True}, "required": None},
        {"type": "object", "properties": {"x": {"type": None, "items": None}}},
        {"type": "object", "properties": {"x": None}, "additionalProperties": None},
        {"type": "object", "properties": None, "required": ["x"]},
        {"type": "object", "properties": {"x": {"enum": [None, "a"], "default": None}}},
        {"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": True}},
    ],
    ids=json.dumps,
)
def test_loose_schemas_of_generators_are_read(
    said: Any, monkeypatch: pytest.MonkeyPatch, form: str, parameters: Any, tokenizer: Tokenizer
) -> None:
    response, grammar = ask_for_a_call(said, monkeypatch, form, parameters)
    assert response.status_code == 200, response.text
    assert not accepts(tokenizer, grammar, "no call")  # and the grammar compiles


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "parameters",
    [
        "none",
        None,
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": None, "required": []},
        {"title": "Nothing", "description": "d", "$schema": "x"},
    ],
    ids=json.dumps,
)
def test_a_tool_without_parameters_takes_an_empty_object(
    said: Any, monkeypatch: pytest.MonkeyPatch, form: str, parameters: Any, tokenizer: Tokenizer
) -> None:
    response, grammar = ask_for_a_call(said, monkeypatch, form, parameters)
    assert response.status_code == 200, response.text
    empty = {
        "hermes": '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
        "qwen3_coder": "<tool_call>\n<function=f>\n</function>\n</tool_call>",
        "glm": "<tool_call>f\n</tool_call>",
    }[form]
    assert accepts(tokenizer, grammar, empty)
    assert not accepts(tokenizer, grammar, empty.replace("{}", '{"path": 1}') + " ")


def test_a_tool_with_open_members_takes_any(
    said: Any, monkeypatch: pytest.MonkeyPatch, tokenizer: Tokenizer
) -> None:
    for schema in ({"additionalProperties": True}, {"patternProperties": {"^a": {}}}):
        parameters = {"type": "object", **schema}
        _, grammar = ask_for_a_call(said, monkeypatch, "hermes", parameters)
        call = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
        assert accepts(tokenizer, grammar, call)


@pytest.mark.parametrize("ask", [whole, streamed])
def test_a_stop_string_inside_a_call_is_no_call_of_tools(said: Any, ask: Any) -> None:
    http, _ = said(ADD.replace("1}", "12}"))
    answer = ask(http, tools=TOOLS, stop=["12"])
    (call,) = answer["tool_calls"]
    assert (call["arguments"].strip(), answer["finish_reason"]) == ('{"a":', "stop")
    answer = ask(http, tools=TOOLS, stop=["</tool"])
    assert answer["finish_reason"] == "tool_calls"
    assert (answer["content"], json.loads(answer["tool_calls"][0]["arguments"])) == ("", {"a": 12})


@pytest.mark.parametrize("ask", [whole, streamed])
def test_an_answer_cut_by_its_limit_shows_no_mark(
    said: Any, ask: Any, tokenizer: Tokenizer
) -> None:
    http, _ = said(f"Adding.\n{ADD}")
    for limit in range(2, len(tokenizer.encode(f"Adding.\n{ADD}"))):
        answer = ask(http, tools=TOOLS[:1], max_tokens=limit)
        assert answer["finish_reason"] == "length"
        assert "Adding.".startswith(answer["content"].rstrip()), limit


CODER = """{% if tools %}{{ tools | tojson }} <tool_call> <function= <parameter= {% endif %}
{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}
{% for k, v in c.function.arguments|items %}<parameter={{ k }}>{{ v }}{% endfor %}{% endfor %}
{% endfor %}"""


def test_an_answer_cut_in_a_call_can_be_continued(
    said: Any, monkeypatch: pytest.MonkeyPatch, tokenizer: Tokenizer
) -> None:
    call = "<tool_call>\n<function=f>\n<parameter=path>\n/a\n</parameter>\n<parameter=n>\n1"
    http, engine = said(call)
    hf = http.app.state.service.model().tokenizer.hf
    monkeypatch.setattr(hf, "chat_template", CODER)
    limit = len(tokenizer.encode(call)) - 12  # in the second tag
    given = {"tools": [{"type": "function", "name": "f"}], "max_output_tokens": limit}
    first = http.post("/v1/responses", json={"input": "x", **given}).json()
    (made,) = [each for each in first["output"] if each["type"] == "function_call"]
    assert made["arguments"] == '{"path": "/a"' and first["status"] == "incomplete"
    result = {"type": "function_call_output", "call_id": made["call_id"], "output": "cut"}
    response = http.post(
        "/v1/responses", json={"input": [result], "previous_response_id": first["id"], **given}
    )
    assert response.status_code == 200, response.text
    prompt = tokenizer.decode(list(engine.requests[-1].prompt_token_ids))
    assert "<parameter=path>/a" in prompt and "cut" in prompt


def test_broken_escapes_reach_messages_as_input(said: Any) -> None:
    http, _ = said(ADD.replace("1}", r'"C:\dir \ud83d"}'))
    body = {
        "max_tokens": 90,
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"name": "add", "input_schema": {"type": "object"}}],
    }
    response = http.post("/v1/messages", json=body)
    assert response.status_code == 200, response.text
    (block,) = response.json()["content"]
    assert block["input"] == {"a": "C:\\dir \ufffd"}
