"""Messages through the `anthropic` package."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest

from tests.clients.questions import (
    DESCRIPTION,
    HELLO,
    MODEL,
    PARAMETERS,
    PERSON_QUESTION,
    RESULT,
    TOO_LONG,
    UNKNOWN,
    WEATHER,
    Person,
    check_call,
    user,
)
from tests.server.real_server import Server

GREEDY: Any = {"extra_body": {"temperature": 0}}  # the package has no argument `temperature`
TOOL: Any = {"name": "get_weather", "description": DESCRIPTION, "input_schema": PARAMETERS}


@pytest.fixture
def client(server: Server) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0)


def ask(client: anthropic.Anthropic, *messages: Any, **fields: Any) -> Any:
    limits = {"max_tokens": 256, **fields}
    return client.messages.create(model=MODEL, messages=list(messages), **limits)


def calls_of(answer: Any) -> list[Any]:
    return [block for block in answer.content if block.type == "tool_use"]


def test_chat(client: anthropic.Anthropic) -> None:
    answer = ask(client, user(HELLO))
    assert answer.content[0].text and answer.usage.output_tokens
    assert answer.stop_reason == "end_turn"


def test_stream(client: anthropic.Anthropic) -> None:
    fields: Any = {"model": MODEL, "max_tokens": 256, "messages": [user(HELLO)], **GREEDY}
    with client.messages.stream(**fields) as stream:
        text = "".join(stream.text_stream)
        assert stream.get_final_message().usage.output_tokens
    assert text == ask(client, user(HELLO), **GREEDY).content[0].text


def test_multi_turn(client: anthropic.Anthropic) -> None:
    first = ask(client, user(HELLO))
    turns = [user(HELLO), {"role": "assistant", "content": first.content}, user("And again?")]
    answer = ask(client, *turns)
    assert answer.content[0].text and answer.usage.cache_read_input_tokens


def test_tools_auto(client: anthropic.Anthropic) -> None:
    first = ask(client, user(WEATHER), tools=[TOOL], **GREEDY)
    (call,) = calls_of(first)
    assert first.stop_reason == "tool_use"
    check_call(call.name, call.input)
    result = {"type": "tool_result", "tool_use_id": call.id, "content": RESULT}
    turns = [user(WEATHER), {"role": "assistant", "content": first.content}]
    last = ask(client, *turns, {"role": "user", "content": [result]}, tools=[TOOL], **GREEDY)
    assert "21" in last.content[0].text


def test_tools_required(client: anthropic.Anthropic) -> None:
    answer = ask(client, user(HELLO), tools=[TOOL], tool_choice={"type": "any"})
    assert calls_of(answer)
    for call in calls_of(answer):
        check_call(call.name, call.input, city=None)


def test_tools_named(client: anthropic.Anthropic) -> None:
    choice = {"type": "tool", "name": "get_weather"}
    (call,) = calls_of(ask(client, user(HELLO), tools=[TOOL], tool_choice=choice))
    check_call(call.name, call.input, city=None)


@pytest.mark.parametrize("disabled", [True, False])
def test_tools_parallel(client: anthropic.Anthropic, disabled: bool) -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": disabled}
    question = user("What is the weather in Paris and in Rome?")
    calls = calls_of(ask(client, question, tools=[TOOL], tool_choice=choice, **GREEDY))
    assert calls and (len(calls) == 1 or not disabled)


def test_schema(client: anthropic.Anthropic) -> None:
    answer = client.messages.parse(
        model=MODEL, max_tokens=256, messages=[user(PERSON_QUESTION)], output_format=Person
    )
    assert isinstance(answer.parsed_output, Person)


def test_async_16(server: Server) -> None:
    async def all_of_them() -> list[Any]:
        async with anthropic.AsyncAnthropic(
            base_url=server.url, api_key="none", max_retries=0
        ) as client:
            chats: Any = [
                client.messages.create(
                    model=MODEL, max_tokens=16, messages=[user(f"{HELLO} {number}")]
                )
                for number in range(16)
            ]
            return list(await asyncio.gather(*chats))

    assert all(answer.content[0].text for answer in asyncio.run(all_of_them()))


def test_errors(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError):
        client.messages.create(model=UNKNOWN, max_tokens=8, messages=[user(HELLO)])
    with pytest.raises(anthropic.BadRequestError, match="maximum context length"):
        ask(client, user(TOO_LONG))
    with pytest.raises(anthropic.BadRequestError, match="temperature"):
        ask(client, user(HELLO), extra_body={"temperature": -1})


def test_models(client: anthropic.Anthropic) -> None:
    strict = client.with_options(max_retries=0)
    strict._strict_response_validation = True
    listed = list(strict.models.list(limit=1))
    assert [each.id for each in listed] == [MODEL]
    assert strict.models.retrieve(MODEL) == listed[0]
    assert listed[0].max_input_tokens and listed[0].created_at.tzinfo
    with pytest.raises(anthropic.NotFoundError):
        strict.models.retrieve(UNKNOWN)
