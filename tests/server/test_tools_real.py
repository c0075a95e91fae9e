"""Tools with the built-in model on a real server, through the `openai` client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.server.real_server import Server
from tests.weather import QUESTION, TOOL

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def builtin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("log") / "server.log"
    server = Server(Path("builtin"), log, YAIE_AUDIT="false")
    try:
        server.wait_ready()
        yield server
    finally:
        server.stop()


@pytest.fixture
def client(builtin: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{builtin.url}/v1", api_key="none", max_retries=0)


def ask(client: openai.OpenAI, messages: list[Any], **fields: Any) -> Any:
    options = {"model": "tiny", "messages": messages, "tools": [TOOL], **fields}
    return client.chat.completions.create(**options).choices[0]


def ask_streamed(client: openai.OpenAI, messages: list[Any], **fields: Any) -> Any:
    options = {"model": "tiny", "messages": messages, "tools": [TOOL], **fields}
    with client.chat.completions.stream(**options) as stream:
        for event in stream:
            if event.type == "chunk":
                text = event.chunk.choices[0].delta.content if event.chunk.choices else None
                assert "<tool" not in (text or "")
        return stream.get_final_completion().choices[0]


@pytest.mark.parametrize("ask", [ask, ask_streamed])
@pytest.mark.parametrize("parallel_tool_calls", [True, False])
def test_the_loop_of_an_agent(
    client: openai.OpenAI, ask: Callable[..., Any], parallel_tool_calls: bool
) -> None:
    first = ask(client, [QUESTION], parallel_tool_calls=parallel_tool_calls)
    assert first.finish_reason == "tool_calls"
    assert not first.message.content
    (call,) = first.message.tool_calls
    assert call.id.startswith("call_")
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments) == {"city": "Paris"}
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call.id, "type": "function", "function": call.function.model_dump()}],
    }
    result = {"role": "tool", "tool_call_id": call.id, "content": '{"temperature": 21}'}
    last = ask(client, [QUESTION, asked, result])
    assert last.finish_reason == "stop"
    assert not last.message.tool_calls
    assert "21" in last.message.content


ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
}
HELLO = {"role": "user", "content": "Hello!"}


@pytest.mark.parametrize("ask", [ask, ask_streamed])
@pytest.mark.parametrize("parallel_tool_calls", [True, False])
def test_forced_calls_follow_the_schema(
    client: openai.OpenAI, ask: Callable[..., Any], parallel_tool_calls: bool
) -> None:
    named = {"type": "function", "function": {"name": "add"}}
    fields = {"tools": [TOOL, ADD], "max_tokens": 200}
    choice = ask(client, [HELLO], tool_choice=named, **fields)
    (call,) = choice.message.tool_calls
    assert (call.function.name, choice.finish_reason) == ("add", "tool_calls")
    arguments = json.loads(call.function.arguments)
    assert sorted(arguments) == ["a", "b"]
    assert all(type(value) is int for value in arguments.values())
    choice = ask(
        client,
        [QUESTION],
        tool_choice="required",
        parallel_tool_calls=parallel_tool_calls,
        **fields,
    )
    assert not choice.message.content
    assert choice.message.tool_calls[0].function.name == "get_weather"
    assert parallel_tool_calls or len(choice.message.tool_calls) == 1


def test_strict_tools_called_freely_follow_the_schema(client: openai.OpenAI) -> None:
    cities = {"type": "string", "enum": ["Reykjavik", "Ulaanbaatar"]}
    parameters = {"type": "object", "properties": {"city": cities}, "required": ["city"]}
    strict = {**TOOL["function"], "parameters": parameters, "strict": True}
    tools = [{"type": "function", "function": strict}]
    (call,) = ask(client, [QUESTION], tools=tools, max_tokens=100).message.tool_calls
    assert json.loads(call.function.arguments)["city"] in cities["enum"]
    assert ask(client, [HELLO], tools=tools, max_tokens=100).message.content


def test_none_makes_no_calls(client: openai.OpenAI) -> None:
    choice = ask(client, [QUESTION], tool_choice="none", max_tokens=100)
    assert choice.finish_reason == "stop"
    assert choice.message.content
    assert not choice.message.tool_calls


def test_an_unsupported_schema_is_its_callers_fault(client: openai.OpenAI) -> None:
    odd = {"type": "object", "properties": {"a": {"$ref": "https://example.org/none"}}}
    function = {"name": "odd", "parameters": odd}
    tool = {"type": "function", "function": function}
    assert ask(client, [HELLO], tools=[tool]).finish_reason == "stop"
    assert ask(client, [HELLO], tools=[tool], tool_choice="required").message.tool_calls
    strict = {"type": "function", "function": {**function, "strict": True}}
    with pytest.raises(openai.BadRequestError, match="odd") as refused:
        ask(client, [HELLO], tools=[strict], tool_choice="required")
    assert str(refused.value.param).startswith("tools")


def test_a_schema_holds_for_answers_without_calls(client: openai.OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"greeting": {"type": "string", "maxLength": 20}},
        "required": ["greeting"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "hello", "schema": schema}}
    fields = {"response_format": form, "max_tokens": 200}
    choice = ask(client, [HELLO], **fields)
    if choice.message.tool_calls is None:
        assert list(json.loads(choice.message.content)) == ["greeting"]
    choice = ask(client, [HELLO], tool_choice="none", **fields)
    assert list(json.loads(choice.message.content)) == ["greeting"]
    called = ask(client, [QUESTION], tool_choice="required", **fields)
    assert json.loads(called.message.tool_calls[0].function.arguments)
    called = ask(client, [QUESTION], **fields)
    assert called.message.tool_calls or json.loads(called.message.content)
