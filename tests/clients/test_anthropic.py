"""Messages through the `anthropic` package."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest

from tests.clients.questions import (
    BOTH,
    DESCRIPTION,
    HELLO,
    KEY,
    MODEL,
    PARAMETERS,
    PERSON_QUESTION,
    RESULT,
    RESULTS,
    TOO_LONG,
    UNKNOWN,
    WEATHER,
    WRONG_KEY,
    Person,
    check_both,
    check_call,
    user,
)

GREEDY: Any = {"extra_body": {"temperature": 0}}  # the package has no argument `temperature`
TOOL: Any = {"name": "get_weather", "description": DESCRIPTION, "input_schema": PARAMETERS}


@pytest.fixture
def client(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)


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


def test_tools_parallel(client: anthropic.Anthropic) -> None:
    cities = {"type": "string", "enum": ["Paris", "Rome"]}
    tool = {**TOOL, "input_schema": {**PARAMETERS, "properties": {"city": cities}}}
    fields: Any = {"tools": [tool], "tool_choice": {"type": "any"}}
    # This API has no least number of tokens: at this temperature chance decides on a second call.
    hot: Any = [{"extra_body": {"temperature": 100, "seed": seed}} for seed in range(32)]
    answers = (ask(client, user(BOTH), **fields, **each) for each in hot)
    first = next(answer for answer in answers if len(calls_of(answer)) == 2)
    calls = calls_of(first)
    assert len({call.id for call in calls}) == 2
    for call in calls:
        check_call(call.name, call.input, city=None)
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": result}
        for call, result in zip(calls, RESULTS, strict=True)
    ]
    turns = [user(BOTH), {"role": "assistant", "content": first.content}]
    last = ask(client, *turns, {"role": "user", "content": results}, tools=[TOOL], **GREEDY)
    check_both(last.content[0].text)
    fields["tool_choice"] = {"type": "any", "disable_parallel_tool_use": True}
    for each in hot[:8]:
        assert len(calls_of(ask(client, user(BOTH), **fields, **each))) == 1


def test_schema(client: anthropic.Anthropic) -> None:
    answer = client.messages.parse(
        model=MODEL, max_tokens=256, messages=[user(PERSON_QUESTION)], output_format=Person
    )
    assert isinstance(answer.parsed_output, Person)


def test_async_16(url: str) -> None:
    async def all_of_them() -> list[Any]:
        async with anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0) as client:
            chats: Any = [
                client.messages.create(
                    model=MODEL, max_tokens=16, messages=[user(f"{HELLO} {number}")]
                )
                for number in range(16)
            ]
            return list(await asyncio.gather(*chats))

    assert all(answer.content[0].text for answer in asyncio.run(all_of_them()))


def test_errors(client: anthropic.Anthropic, draining_url: str) -> None:
    with pytest.raises(anthropic.NotFoundError):
        client.messages.create(model=UNKNOWN, max_tokens=8, messages=[user(HELLO)])
    with pytest.raises(anthropic.BadRequestError, match="maximum context length"):
        ask(client, user(TOO_LONG))
    with pytest.raises(anthropic.BadRequestError, match="temperature"):
        ask(client, user(HELLO), extra_body={"temperature": -1})
    with pytest.raises(anthropic.AuthenticationError):
        ask(client.with_options(api_key=WRONG_KEY), user(HELLO))
    with pytest.raises(anthropic.APIStatusError) as draining:
        ask(client.with_options(base_url=draining_url), user(HELLO))
    assert draining.value.status_code == 503
    assert draining.value.response.headers["Retry-After"]
