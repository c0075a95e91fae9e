"""Responses through the `openai` package, with strict validation of every answer."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from tests.clients.questions import (
    BOTH,
    DESCRIPTION,
    HELLO,
    MODEL,
    PARAMETERS,
    PERSON_QUESTION,
    RESULT,
    RESULTS,
    TOO_LONG,
    TWO_CALLS,
    UNKNOWN,
    WEATHER,
    WRONG_KEY,
    Person,
    check_both,
    check_call,
)

TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "description": DESCRIPTION,
    "parameters": PARAMETERS,
    "strict": True,
}


@pytest.fixture
def client() -> openai.OpenAI:
    return openai.OpenAI(max_retries=0, _strict_response_validation=True)


def calls_of(response: Any) -> list[Any]:
    return [item for item in response.output if item.type == "function_call"]


def test_chat(client: openai.OpenAI) -> None:
    response = client.responses.create(model=MODEL, input=HELLO)
    assert response.output_text and response.usage and response.usage.output_tokens


def test_stream(client: openai.OpenAI) -> None:
    with client.responses.stream(model=MODEL, input=HELLO) as stream:
        deltas = [each.delta for each in stream if each.type == "response.output_text.delta"]
        assert "".join(deltas) == stream.get_final_response().output_text != ""


def test_multi_turn(client: openai.OpenAI) -> None:
    first = client.responses.create(model=MODEL, input=HELLO)
    second = client.responses.create(model=MODEL, input="And again?", previous_response_id=first.id)
    assert second.output_text and second.usage
    assert second.usage.input_tokens_details.cached_tokens


def test_tools_auto(client: openai.OpenAI) -> None:
    first = client.responses.create(model=MODEL, input=WEATHER, tools=[TOOL], temperature=0)
    (call,) = calls_of(first)
    check_call(call.name, call.arguments)
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": RESULT}
    last = client.responses.create(
        model=MODEL, input=[result], previous_response_id=first.id, tools=[TOOL], temperature=0
    )
    assert "21" in last.output_text


def test_tools_required(client: openai.OpenAI) -> None:
    response = client.responses.create(
        model=MODEL, input=HELLO, tools=[TOOL], tool_choice="required"
    )
    assert calls_of(response)


def test_tools_named(client: openai.OpenAI) -> None:
    choice: Any = {"type": "function", "name": "get_weather"}
    response = client.responses.create(model=MODEL, input=HELLO, tools=[TOOL], tool_choice=choice)
    (call,) = calls_of(response)
    check_call(call.name, call.arguments, city=None)


def test_tools_parallel(client: openai.OpenAI) -> None:
    fields: Any = {"model": MODEL, "tools": [TOOL], "temperature": 0}
    forced: Any = {**fields, "input": BOTH, "tool_choice": "required", "extra_body": TWO_CALLS}
    first = client.responses.create(**forced)
    calls = calls_of(first)
    assert len({call.call_id for call in calls}) == 2
    for call in calls:
        check_call(call.name, call.arguments, city=None)
    results: Any = [
        {"type": "function_call_output", "call_id": call.call_id, "output": result}
        for call, result in zip(calls, RESULTS, strict=True)
    ]
    last = client.responses.create(input=results, previous_response_id=first.id, **fields)
    check_both(last.output_text)
    assert len(calls_of(client.responses.create(**forced, parallel_tool_calls=False))) == 1


def test_schema(client: openai.OpenAI) -> None:
    response = client.responses.parse(model=MODEL, input=PERSON_QUESTION, text_format=Person)
    assert isinstance(response.output_parsed, Person)


def test_async_16() -> None:
    async def all_of_them() -> list[Any]:
        async with openai.AsyncOpenAI(max_retries=0, _strict_response_validation=True) as client:
            asked: Any = [
                client.responses.create(model=MODEL, input=f"{HELLO} {n}", max_output_tokens=16)
                for n in range(16)
            ]
            return list(await asyncio.gather(*asked))

    assert all(response.output_text for response in asyncio.run(all_of_them()))


def test_errors(client: openai.OpenAI, draining_url: str) -> None:
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model=UNKNOWN, input=HELLO)
    with pytest.raises(openai.BadRequestError, match="maximum context length") as too_long:
        client.responses.create(model=MODEL, input=TOO_LONG)
    assert too_long.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as too_hot:
        client.responses.create(model=MODEL, input=HELLO, temperature=-1)
    assert too_hot.value.param == "temperature"
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key=WRONG_KEY).responses.create(model=MODEL, input=HELLO)
    elsewhere = client.with_options(base_url=f"{draining_url}/v1")
    with pytest.raises(openai.InternalServerError) as draining:
        elsewhere.responses.create(model=MODEL, input=HELLO)
    assert draining.value.code == "engine_draining"
