"""Tools and blocks of `/v1/messages` beyond text and the client's own tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.test_messages import MESSAGES, ask, stream
from tests.server.test_openapi import check_described
from tests.server.test_tools import said
from yaie.server.anthropic.blocks import chat_messages
from yaie.server.replies.call_arguments import read_arguments
from yaie.server.schemas.message_replies import MessageDocument

__all__ = ["said"]
MINE = {"name": "add", "input_schema": {"type": "object"}}
HOSTED = [
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    {"type": "web_fetch_20250910", "name": "web_fetch"},
    {"type": "code_execution_20250825", "name": "code_execution"},
    {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
    {"type": "mcp_toolset", "mcp_server_name": "docs"},
    {"type": "a_tool_of_tomorrow"},
]
FOR_CLIENTS = [
    ({"type": "bash_20250124", "name": "bash"}, {"command": "ls"}),
    (
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
        {"command": "view", "path": "/a", "view_range": [1, 9]},
    ),
    (
        {"type": "text_editor_20250124", "name": "str_replace_editor"},
        {"command": "str_replace", "path": "/a", "old_str": "a", "new_str": "b"},
    ),
    ({"type": "memory_20250818", "name": "memory"}, {"command": "view", "path": "/memories"}),
]


def call_of(name: str, arguments: Any) -> str:
    call = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"


@pytest.mark.parametrize(("tool", "given"), FOR_CLIENTS)
def test_tools_of_anthropic_for_clients_are_called(said: Any, tool: Any, given: Any) -> None:
    http, engine = said(call_of(tool["name"], given))
    answer = ask(http, tools=[tool], max_tokens=200)
    (block,) = answer["content"]
    assert (block["type"], block["name"], block["input"]) == ("tool_use", tool["name"], given)
    assert "warnings" not in answer
    ask(http, tools=[tool, MINE], tool_choice={"type": "tool", "name": tool["name"]})
    source = engine.requests[-1].grammar.source
    assert tool["name"] in source and '"command' in source.replace("\\", "")


def test_tools_that_run_elsewhere_are_left_out(said: Any) -> None:
    http, _ = said(call_of("add", {"a": 1}))
    body = {"messages": MESSAGES, "max_tokens": 99, "tools": [*HOSTED, MINE]}
    reply = http.post("/v1/messages", json=body)
    names = reply.headers["x-yaie-ignored-params"].split(", ")
    assert names == [f"tools.{tool['type']}" for tool in HOSTED]
    answer = reply.json()
    check_described(MessageDocument, answer)
    assert answer["content"][0]["name"] == "add"
    assert len(answer["warnings"]) == len(HOSTED)
    started = stream(http, tools=[*HOSTED, MINE])[0]["message"]
    assert started["warnings"] == answer["warnings"]
    count = http.post("/v1/messages/count_tokens", json={"messages": MESSAGES, "tools": HOSTED})
    assert (count.status_code, count.headers["x-yaie-ignored-params"].split(", ")) == (200, names)


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "web_search"}])
def test_a_choice_of_tools_that_run_elsewhere_has_no_effect(http: TestClient, choice: Any) -> None:
    body = {"messages": MESSAGES, "max_tokens": 9, "tools": HOSTED, "tool_choice": choice}
    reply = http.post("/v1/messages", json=body)
    assert reply.status_code == 200, reply.text
    assert "tool_choice" in reply.headers["x-yaie-ignored-params"]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (
            {
                "type": "document",
                "title": "Trees",
                "context": "a page",
                "source": {"type": "text", "media_type": "text/plain", "data": "Roots."},
                "citations": {"enabled": True},
            },
            "Trees\na page\nRoots.",
        ),
        ({"type": "document", "source": {"type": "content", "content": "Roots."}}, "Roots."),
        (
            {
                "type": "document",
                "source": {"type": "content", "content": [{"type": "text", "text": "Roots."}]},
            },
            "Roots.",
        ),
        (
            {
                "type": "search_result",
                "title": "Trees",
                "source": "https://example.com",
                "content": [{"type": "text", "text": "Roots."}, {"type": "text", "text": "End."}],
            },
            "Trees\nhttps://example.com\nRoots.\nEnd.",
        ),
        ({"type": "tool_reference", "tool_name": "add"}, "add"),
    ],
)
def test_blocks_of_text_are_text(block: Any, text: str) -> None:
    (message,) = chat_messages(None, [{"role": "user", "content": [block]}])
    assert message == {"role": "user", "content": text}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [block]}
    (message,) = chat_messages(None, [{"role": "user", "content": [result]}])
    assert (message["role"], message["content"]) == ("tool", text)


RESULTS: list[tuple[Any, str]] = [
    (
        {
            "type": "web_search_tool_result",
            "content": [
                {
                    "type": "web_search_result",
                    "title": "Trees",
                    "url": "https://example.com",
                    "encrypted_content": "x",
                }
            ],
        },
        "Trees\nhttps://example.com",
    ),
    (
        {
            "type": "web_fetch_tool_result",
            "content": {
                "type": "web_fetch_result",
                "url": "https://example.com",
                "content": {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "Roots."},
                },
            },
        },
        "https://example.com\nRoots.",
    ),
    (
        {
            "type": "bash_code_execution_tool_result",
            "content": {
                "type": "bash_code_execution_result",
                "stdout": "1",
                "stderr": "",
                "return_code": 0,
                "content": [],
            },
        },
        "1",
    ),
    (
        {
            "type": "web_search_tool_result",
            "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
        },
        "unavailable",
    ),
    (
        {
            "type": "mcp_tool_result",
            "is_error": True,
            "content": [{"type": "text", "text": "gone"}],
        },
        "Error: gone",
    ),
]


@pytest.mark.parametrize(("result", "text"), RESULTS)
def test_calls_that_servers_ran_are_calls_with_results(result: Any, text: str) -> None:
    kind = "mcp_tool_use" if result["type"] == "mcp_tool_result" else "server_tool_use"
    call = {"type": kind, "id": "s1", "name": "find", "input": {"q": "tree"}}
    turn = [
        {"type": "text", "text": "I look."},
        call,
        {**result, "tool_use_id": "s1"},
        {"type": "text", "text": "Found."},
    ]
    messages = chat_messages(None, [{"role": "assistant", "content": turn}])
    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant"]
    made, found, last = messages
    function = {"name": "find", "arguments": {"q": "tree"}}
    assert made["content"] == "I look." and made["tool_calls"][0]["function"] == function
    assert (found["tool_call_id"], found["name"], found["content"]) == ("s1", "find", text)
    assert last == {"role": "assistant", "content": "Found."}


def test_unknown_blocks_of_the_assistant_are_left_out(http: TestClient) -> None:
    turns = [
        *MESSAGES,
        {"role": "assistant", "content": [
            {"type": "compaction", "content": "They talked of trees."},
            {"type": "container_upload", "file_id": "f"},
            {"type": "a_block_of_tomorrow"},
            {"type": "text", "text": "Yes."},
        ]},
        {"role": "user", "content": "more"},
    ]  # fmt: skip
    reply = http.post("/v1/messages", json={"messages": turns, "max_tokens": 9})
    assert reply.status_code == 200, reply.text
    names = reply.headers["x-yaie-ignored-params"].split(", ")
    assert names == ["messages.container_upload", "messages.a_block_of_tomorrow"]
    assert chat_messages(None, turns)[1]["content"] == "They talked of trees.\nYes."


def test_deep_results_of_servers_are_read() -> None:
    content: Any = "deep"
    for _ in range(5000):
        content = {"content": [content]}
    turn = [{"type": "x_tool_result", "tool_use_id": "s", "content": content}]
    assert chat_messages(None, [{"role": "assistant", "content": turn}])[0]["content"] == "deep"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (r'{"a": "x \d y", "b": 1}', {"a": r"x \d y", "b": 1}),
        (r'{"a": "\ud83d!", "b": "\ud83d\ude42"}', {"a": "\ufffd!", "b": "🙂"}),
        (r'{"a": "C:\\dir\"', {"a": 'C:\\dir"'}),
    ],
)
def test_input_with_broken_escapes_keeps_its_text(said: Any, text: str, given: Any) -> None:
    call = '<tool_call>\n{"name": "add", "arguments": ' + text
    ending = "}\n</tool_call>" if text.endswith("}") else ""
    http, _ = said(call + ending)
    (block,) = ask(http, tools=[MINE], max_tokens=200)["content"]
    assert block["input"] == given


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("", {}),
        ("[1]", {}),
        (r'{"a": "ok", "b": "half \ud83', {"a": "ok", "b": "half "}),
        (r'{"a": "ok", "b": "half \\', {"a": "ok", "b": "half \\"}),
        (r'{"a": "ok", "b": "half ' + "\\", {"a": "ok", "b": "half "}),
    ],
)
def test_arguments_are_read_up_to_their_cut(text: str, given: Any) -> None:
    assert read_arguments(text) == given


def test_an_older_output_format_is_a_schema(said: Any) -> None:
    http, engine = said("{}")
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = {"type": "json_schema", "schema": schema}
    ask(http, output_format=form)
    older = engine.requests[-1].grammar
    ask(http, output_config={"format": form})
    assert '"properties": {"a": {"type": "string"}}' in older.source
    assert older.source == engine.requests[-1].grammar.source
