"""Every tool type and item type of `/v1/responses`, over a scripted engine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import Response, ResponseItemList
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.test_openapi import check_described
from tests.server.test_responses import URL, ask, events_of, messages_of, refuse
from yaie.server.responses_api.call_forms import CALL_FORMS
from yaie.server.schemas.response_replies import InputItems, ResponseDocument, ResponseEvent
from yaie.text.tokenizer import Tokenizer

TEMPLATE = """{% for tool in tools or [] %}{{ tool.function.name }} {% endfor
%}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}{% for call in message.tool_calls %}
<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|im_end|>{% endfor
%}<|im_start|>assistant
"""
PATCH = '*** Begin Patch\n+a "tree" \\ plan\t🙂\n*** End Patch'
NAMESPACE = {
    "type": "namespace",
    "name": "agents",
    "description": "Agents",
    "tools": [{"type": "function", "name": "close", "parameters": {"type": "object"}}],
}
# A declared tool, the call that the model writes, and the call's item.
FORMS: list[tuple[Any, str, Any, Any]] = [
    (
        {"type": "function", "name": "add", "parameters": {"type": "object"}},
        "add",
        {"a": 1},
        {"type": "function_call", "name": "add", "arguments": '{"a": 1}'},
    ),
    (
        {"type": "custom", "name": "apply_patch", "description": "Patch"},
        "apply_patch",
        {"input": PATCH},
        {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH},
    ),
    (
        NAMESPACE,
        "agents__close",
        {"target": "a"},
        {
            "type": "function_call",
            "name": "close",
            "namespace": "agents",
            "arguments": '{"target": "a"}',
        },
    ),
    (
        {"type": "local_shell"},
        "local_shell",
        {"command": ["ls", "-l"], "working_directory": "/a"},
        {
            "type": "local_shell_call",
            "action": {
                "type": "exec",
                "command": ["ls", "-l"],
                "env": {},
                "timeout_ms": None,
                "user": None,
                "working_directory": "/a",
            },
        },
    ),
    (
        {"type": "shell", "environment": {"type": "local"}},
        "shell",
        {"commands": ["ls", "pwd"], "timeout_ms": 5},
        {
            "type": "shell_call",
            "action": {"commands": ["ls", "pwd"], "timeout_ms": 5, "max_output_length": None},
        },
    ),
    (
        {"type": "apply_patch"},
        "apply_patch",
        {"type": "update_file", "path": "a.py", "diff": "@@\n-a\n+b\n"},
        {
            "type": "apply_patch_call",
            "operation": {"type": "update_file", "path": "a.py", "diff": "@@\n-a\n+b\n"},
        },
    ),
    (
        {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}},
        "tool_search",
        {"query": "tree"},
        {"type": "tool_search_call", "execution": "client", "arguments": {"query": "tree"}},
    ),
]
each_form = pytest.mark.parametrize(("tool", "function", "arguments", "item"), FORMS)
HOSTED = [
    {"type": "web_search", "external_web_access": False},
    {"type": "web_search_preview"},
    {"type": "file_search", "vector_store_ids": ["vs"]},
    {"type": "mcp", "server_label": "docs", "server_url": "https://example.com/mcp"},
    {"type": "image_generation"},
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {
        "type": "computer_use_preview",
        "display_width": 9,
        "display_height": 9,
        "environment": "linux",
    },
    {"type": "shell", "environment": {"type": "container_auto"}},
    {"type": "tool_search"},
]


@pytest.fixture
def said(make_app: MakeApp, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> Any:
    http, engine = make_app()
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", TEMPLATE)

    def say(name: str, arguments: Any) -> Any:
        call = {"name": name, "arguments": arguments}
        engine.answer = tokenizer.encode(f"<tool_call>\n{json.dumps(call)}\n</tool_call>")
        return http, engine

    return say


def without_ids(item: Any) -> Any:
    return {name: value for name, value in item.items() if name not in ("id", "call_id", "status")}


@each_form
def test_a_call_is_an_item_of_its_tools_form(
    said: Any, tool: Any, function: str, arguments: Any, item: Any
) -> None:
    http, _ = said(function, arguments)
    answer = ask(http, tools=[tool])
    Response.model_validate(answer, strict=True)
    check_described(ResponseDocument, answer)
    (call,) = answer["output"]
    assert without_ids(call) == item
    assert call["call_id"].startswith("call_")
    assert answer["tools"][0]["type"] == tool["type"]
    assert "warnings" not in answer


@each_form
def test_a_stream_has_the_same_item(
    said: Any, tool: Any, function: str, arguments: Any, item: Any
) -> None:
    http, _ = said(function, arguments)
    events = events_of(http, tools=[tool])
    for event in events:
        check_described(ResponseEvent, event)
    answer = events[-1]["response"]
    (call,) = answer["output"]
    assert without_ids(call) == item
    form = CALL_FORMS[item["type"]]
    deltas = [event["delta"] for event in events if event["type"].endswith(".delta")]
    if form.event:
        assert "".join(deltas) == item[form.field]
        (done,) = [each for each in events if each["type"] == f"response.{form.event}.done"]
        assert done[form.field] == item[form.field]
    else:
        assert not deltas
    again = http.get(f"{URL}/{answer['id']}?stream=true").text
    read = [json.loads(block.split("\ndata: ")[1]) for block in again.strip().split("\n\n")]
    assert read == events


@each_form
def test_a_call_goes_back_to_the_model_as_it_wrote_it(
    said: Any, tool: Any, function: str, arguments: Any, item: Any
) -> None:
    http, engine = said(function, arguments)
    answer = ask(http, tools=[tool])
    (call,) = answer["output"]
    kind = "tool_search_output" if function == "tool_search" else f"{item['type']}_output"
    result: Any = {"type": kind, "call_id": call["call_id"], "output": "the result"}
    if function == "tool_search":
        result = {
            **result,
            "status": "completed",
            "tools": [
                {
                    "type": "function",
                    "name": "find",
                    "description": "the result",
                    "parameters": {},
                    "strict": None,
                }
            ],
        }
    if item["type"] == "shell_call":
        outcome = {"type": "exit", "exit_code": 7}
        result["output"] = [{"stdout": "the result\n", "stderr": "", "outcome": outcome}]
    stored = {"input": [result], "previous_response_id": answer["id"]}
    for body in (stored, {"input": [{"role": "user", "content": "a"}, call, result]}):
        last = ask(http, tools=[tool], **body)
        tokenizer = http.app.state.service.model().tokenizer
        prompt = tokenizer.decode(engine.requests[-1].prompt_token_ids, False)
        written = json.loads(prompt.split("<tool_call>")[-1].split("</tool_call>")[0])
        assert (written["name"], written["arguments"]) == (function, arguments)
        assert "the result" in prompt.split("</tool_call>")[-1]
        assert ("exit code 7" in prompt) == (item["type"] == "shell_call")
        listed = http.get(f"{URL}/{last['id']}/input_items").json()
        check_described(InputItems, listed)
        ResponseItemList.model_validate(listed)


@pytest.mark.parametrize(
    "ask_for", [ask, lambda http, **body: events_of(http, **body)[-1]["response"]]
)
def test_tools_that_run_elsewhere_are_left_out(said: Any, ask_for: Any) -> None:
    http, _ = said("add", {"a": 1})
    answer = ask_for(http, tools=[*HOSTED, FORMS[0][0]])
    assert answer["output"][0]["name"] == "add"
    assert len(answer["warnings"]) == len(HOSTED)
    assert "'web_search'" in answer["warnings"][0]
    tools = [*HOSTED, {"type": "a_tool_of_tomorrow"}, FORMS[0][0]]
    reply = http.post(URL, json={"input": "a", "tools": tools})
    ignored = reply.headers["x-yaie-ignored-params"].split(", ")
    assert ignored == [f"tools.{tool['type']}" for tool in tools[:-1]]


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "web_search_preview"},
        {"type": "mcp", "server_label": "docs"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "image_generation"}]},
    ],
)
def test_a_choice_of_tools_that_run_elsewhere_has_no_effect(http: TestClient, choice: Any) -> None:
    reply = http.post(URL, json={"input": "a", "tools": HOSTED, "tool_choice": choice})
    assert reply.status_code == 200, reply.text
    assert "tool_choice" in reply.headers["x-yaie-ignored-params"]


@pytest.mark.parametrize(
    ("choice", "function"),
    [
        ({"type": "custom", "name": "edit"}, "edit"),
        ({"type": "function", "name": "close"}, "agents__close"),
        ({"type": "function", "name": "close", "namespace": "agents"}, "agents__close"),
        ({"type": "shell"}, "shell"),
        ({"type": "apply_patch"}, "apply_patch"),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "local_shell"}]},
            "local_shell",
        ),
    ],
)
def test_tools_of_every_form_can_be_forced(said: Any, choice: Any, function: str) -> None:
    http, engine = said("edit", {})
    tools = [
        {"type": "custom", "name": "edit"},
        NAMESPACE,
        {"type": "local_shell"},
        {"type": "shell"},
        {"type": "apply_patch"},
    ]
    Response.model_validate(ask(http, tools=tools, tool_choice=choice), strict=True)
    source = engine.requests[-1].grammar.source
    functions = ("edit", "agents__close", "local_shell", "shell", "apply_patch")
    assert [name for name in functions if f'\\"{name}\\"' in source] == [function]


@pytest.mark.parametrize(
    ("function", "namespace", "name"),
    [
        ("agents.close", "agents", "close"),
        ("agents/close", "agents", "close"),
        ("close", "agents", "close"),
        ("agents__open", "agents", "open"),
        ("mcp__docs__find", "mcp__docs__", "find"),
        ("mcp__docs__search", "mcp__docs__", "search"),
        ("agentsclose", None, "agentsclose"),
        ("open", None, "open"),
    ],
)
def test_names_that_a_model_joins_itself_are_split(
    said: Any, function: str, namespace: str | None, name: str
) -> None:
    http, _ = said(function, {})
    find = {"type": "function", "name": "find", "parameters": {}}
    docs = {"type": "namespace", "name": "mcp__docs__", "description": "", "tools": [find]}
    (call,) = ask(http, tools=[NAMESPACE, docs])["output"]
    assert (call["type"], call.get("namespace"), call["name"]) == ("function_call", namespace, name)


def test_two_tools_may_not_be_one_function(http: TestClient) -> None:
    tools = [
        {"type": "web_search"},
        {"type": "shell"},
        {"type": "function", "name": "shell", "parameters": {"type": "object"}},
    ]
    assert refuse(http, tools=tools)["param"] == "tools[2].name"
    inner = [*NAMESPACE["tools"], {"type": "function", "name": "a b"}]
    error = refuse(http, tools=[{**NAMESPACE, "tools": inner}])
    assert error["param"] == "tools[0].tools[1].name"


def test_items_of_other_servers_are_left_out(http: TestClient) -> None:
    items = [
        {"role": "user", "content": "a"},
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {}},
        {"type": "file_search_call", "id": "fs", "status": "completed", "queries": []},
        {"type": "compaction", "encrypted_content": "abc"},
        {"type": "reasoning", "summary": [], "encrypted_content": "abc"},
        {"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": []},
        {"type": "computer_call", "id": "c", "call_id": "c", "action": {"type": "wait"}},
        {"type": "an_item_of_tomorrow"},
        {"role": "user", "content": "b"},
    ]
    reply = http.post(URL, json={"input": items})
    assert reply.status_code == 200, reply.text
    names = reply.headers["x-yaie-ignored-params"].split(", ")
    left_out = ("web_search_call", "file_search_call", "compaction", "mcp_list_tools")
    assert names == [f"input.{k}" for k in (*left_out, "computer_call", "an_item_of_tomorrow")]
    assert messages_of(items) == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]


def test_calls_of_remote_tools_are_calls_with_results() -> None:
    call = {
        "type": "mcp_call",
        "id": "mcp_1",
        "server_label": "docs",
        "name": "find",
        "arguments": "{}",
    }
    made, result = messages_of([{**call, "output": "a page"}])
    assert made["tool_calls"][0]["function"] == {"name": "docs__find", "arguments": "{}"}
    assert (result["role"], result["name"], result["content"]) == ("tool", "docs__find", "a page")
    assert messages_of([{**call, "error": "gone"}])[1]["content"] == "Error: gone"


@pytest.mark.parametrize("kind", ["additional_tools", "tool_search_output"])
def test_tools_of_items_are_called(said: Any, kind: str) -> None:
    http, _ = said("n__close", {})
    close = {"type": "function", "name": "close", "parameters": {}}
    space = {"type": "namespace", "name": "n", "description": "", "tools": [close]}
    tools = [space, {"type": "web_search"}]
    found: Any = {"type": kind, "tools": tools, "role": "developer", "call_id": "c"}
    first = ask(http, input=[{"role": "user", "content": "a"}, found], tools=[FORMS[0][0]])
    second = ask(http, input="more", previous_response_id=first["id"])
    for answer in (first, second):
        (call,) = answer["output"]
        assert (call["name"], call["namespace"]) == ("close", "n")
        assert len(answer["warnings"]) == 1
    listed = http.get(f"{URL}/{second['id']}/input_items").json()
    check_described(InputItems, listed)
    ResponseItemList.model_validate(listed)
    wrong = {"type": kind, "call_id": "c", "tools": [{"type": "function", "name": "a b"}]}
    error = refuse(http, input=[{"role": "user", "content": "a"}, wrong])
    assert error["param"] == "input[1].tools[0].name"


def test_results_are_matched_by_id_where_there_is_no_call_id() -> None:
    action = {"type": "exec", "command": ["ls"], "env": {}}
    call = {"type": "local_shell_call", "id": "c1", "action": action}
    result = {"type": "local_shell_call_output", "id": "c1", "output": "a.py"}
    _, message = messages_of([call, result])
    assert message["name"] == "local_shell"


def test_an_empty_input_is_answered(http: TestClient) -> None:
    answer = ask(http, input=[], max_output_tokens=1)
    assert answer["usage"]["output_tokens"] == 1
    Response.model_validate(answer, strict=True)
