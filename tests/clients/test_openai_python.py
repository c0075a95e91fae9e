"""Chat completions through the `openai` package, with strict validation of every answer."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from tests.clients.questions import (
    BOTH,
    HELLO,
    MODEL,
    NAMED,
    PERSON_QUESTION,
    RESULT,
    RESULTS,
    TOO_LONG,
    TOOL,
    TWO_CALLS,
    UNKNOWN,
    WEATHER,
    WRONG_KEY,
    Person,
    check_both,
    check_call,
    user,
)
from tests.clients.retrieval import EMBEDDER, TEXTS, check_vectors


@pytest.fixture
def client() -> openai.OpenAI:
    return openai.OpenAI(max_retries=0, _strict_response_validation=True)


def ask(client: openai.OpenAI, text: str, **fields: Any) -> Any:
    answer = client.chat.completions.create(model=MODEL, messages=[user(text)], **fields)
    return answer.choices[0]


def test_chat(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=[user(HELLO)])
    assert answer.choices[0].message.content
    assert answer.usage and answer.usage.total_tokens > answer.usage.prompt_tokens


def test_stream(client: openai.OpenAI) -> None:
    fields: Any = {"model": MODEL, "messages": [user(HELLO)], "temperature": 0}
    options = {"include_usage": True}
    chunks = list(client.chat.completions.create(**fields, stream=True, stream_options=options))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == client.chat.completions.create(**fields).choices[0].message.content
    assert chunks[-1].usage and chunks[-1].usage.completion_tokens


def test_multi_turn(client: openai.OpenAI) -> None:
    first = ask(client, HELLO).message.content
    turns = [user(HELLO), {"role": "assistant", "content": first}, user("And again?")]
    answer = client.chat.completions.create(model=MODEL, messages=turns)
    assert answer.choices[0].message.content
    assert answer.usage and answer.usage.prompt_tokens_details
    assert answer.usage.prompt_tokens_details.cached_tokens


def test_tools_auto(client: openai.OpenAI) -> None:
    first = ask(client, WEATHER, tools=[TOOL], temperature=0)
    (call,) = first.message.tool_calls
    assert first.finish_reason == "tool_calls" and not first.message.content
    check_call(call.function.name, call.function.arguments)
    turns: Any = [
        user(WEATHER),
        first.message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": RESULT},
    ]
    last = client.chat.completions.create(
        model=MODEL, messages=turns, tools=[TOOL], temperature=0
    ).choices[0]
    assert last.finish_reason == "stop" and "21" in (last.message.content or "")


def test_tools_required(client: openai.OpenAI) -> None:
    answer = ask(client, HELLO, tools=[TOOL], tool_choice="required")
    for call in answer.message.tool_calls:
        check_call(call.function.name, call.function.arguments, city=None)


def test_tools_named(client: openai.OpenAI) -> None:
    answer = ask(client, HELLO, tools=[TOOL], tool_choice=NAMED)
    (call,) = answer.message.tool_calls
    check_call(call.function.name, call.function.arguments, city=None)


def two_calls(client: openai.OpenAI, *, streamed: bool, **fields: Any) -> Any:
    given: Any = {
        "model": MODEL,
        "messages": [user(BOTH)],
        "tools": [TOOL],
        "tool_choice": "required",
        "temperature": 0,
        "extra_body": TWO_CALLS,
        **fields,
    }
    if not streamed:
        return client.chat.completions.create(**given).choices[0]
    with client.chat.completions.stream(**given) as stream:
        return stream.get_final_completion().choices[0]


@pytest.mark.parametrize("streamed", [True, False])
def test_tools_parallel(client: openai.OpenAI, streamed: bool) -> None:
    first = two_calls(client, streamed=streamed)
    calls = first.message.tool_calls
    assert first.finish_reason == "tool_calls" and len({call.id for call in calls}) == 2
    for call in calls:
        check_call(call.function.name, call.function.arguments, city=None)
    results: Any = [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call, result in zip(calls, RESULTS, strict=True)
    ]
    turns: Any = [user(BOTH), first.message.model_dump(exclude_none=True), *results]
    last = client.chat.completions.create(
        model=MODEL, messages=turns, tools=[TOOL], temperature=0
    ).choices[0]
    check_both(last.message.content)
    only = two_calls(client, streamed=streamed, parallel_tool_calls=False)
    assert len(only.message.tool_calls) == 1


@pytest.mark.parametrize("streamed", [True, False])
def test_schema(client: openai.OpenAI, streamed: bool) -> None:
    fields: Any = {"model": MODEL, "messages": [user(PERSON_QUESTION)], "response_format": Person}
    if streamed:
        with client.chat.completions.stream(**fields) as stream:
            answer = stream.get_final_completion()
    else:
        answer = client.chat.completions.parse(**fields)
    assert isinstance(answer.choices[0].message.parsed, Person)


def test_async_16() -> None:
    async def all_of_them() -> list[Any]:
        async with openai.AsyncOpenAI(max_retries=0, _strict_response_validation=True) as client:
            chats: Any = [
                client.chat.completions.create(
                    model=MODEL, messages=[user(f"{HELLO} {number}")], max_tokens=16
                )
                for number in range(16)
            ]
            return list(await asyncio.gather(*chats))

    assert all(answer.choices[0].message.content for answer in asyncio.run(all_of_them()))


def test_errors(client: openai.OpenAI, draining_url: str) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model=UNKNOWN, messages=[user(HELLO)])
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError, match="maximum context length") as too_long:
        ask(client, TOO_LONG)
    assert too_long.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as too_hot:
        ask(client, HELLO, temperature=-1)
    assert too_hot.value.param == "temperature"
    with pytest.raises(openai.AuthenticationError) as wrong:
        ask(client.with_options(api_key=WRONG_KEY), HELLO)
    assert wrong.value.code == "invalid_api_key"
    with pytest.raises(openai.InternalServerError) as draining:
        ask(client.with_options(base_url=f"{draining_url}/v1"), HELLO)
    assert draining.value.code == "engine_draining"
    assert draining.value.response.headers["Retry-After"]


@pytest.mark.parametrize("encoding_format", ["float", "base64", openai.omit])
def test_embeddings(client: openai.OpenAI, retrieval_url: str, encoding_format: Any) -> None:
    at = client.with_options(base_url=f"{retrieval_url}/v1")
    fields: Any = {"model": EMBEDDER, "input": TEXTS, "encoding_format": encoding_format}
    if encoding_format == "base64":
        raw = at.embeddings.with_raw_response.create(**fields).http_response.json()
        assert all(isinstance(each["embedding"], str) for each in raw["data"])
        return
    answer = at.embeddings.create(**fields)
    check_vectors(retrieval_url, [each.embedding for each in answer.data])
    assert answer.usage.prompt_tokens > len(TEXTS)
    with pytest.raises(openai.BadRequestError, match="generates no text"):
        at.chat.completions.create(model=EMBEDDER, messages=[user(HELLO)])
