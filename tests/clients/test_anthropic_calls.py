"""Documented calls of the `anthropic` package, with strict validation of every answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.clients.questions import HELLO, KEY, MODEL, UNKNOWN, user

FIELDS: Any = {
    "model": MODEL,
    "max_tokens": 100,
    "messages": [user(HELLO)],
    "extra_body": {"temperature": 0},
}
LONG: Any = {**FIELDS, "max_tokens": 3000, "extra_body": {"temperature": 100, "seed": 1}}


@pytest.fixture
def client(url: str) -> Iterator[anthropic.Anthropic]:
    fields: Any = {"base_url": url, "api_key": KEY, "_strict_response_validation": True}
    with anthropic.Anthropic(max_retries=0, **fields) as client:
        yield client


def text_of(message: Any) -> str:
    (block,) = message.content
    return str(block.text)


def test_messages(client: anthropic.Anthropic) -> None:
    whole = text_of(client.messages.create(**FIELDS))
    with client.messages.create(**FIELDS, stream=True) as events:
        kinds = [event.type for event in events]
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    with client.messages.stream(**FIELDS) as stream:
        assert text_of(stream.get_final_message()) == whole
    with client.messages.stream(**FIELDS) as stream:
        assert stream.get_final_text() == whole


def test_count_tokens(client: anthropic.Anthropic) -> None:
    counted = client.messages.count_tokens(model=MODEL, messages=[user(HELLO)])  # type: ignore[list-item]
    usage = client.messages.create(**FIELDS).usage
    assert counted.input_tokens == usage.input_tokens + (usage.cache_read_input_tokens or 0)


def test_models(client: anthropic.Anthropic) -> None:
    listed = list(client.models.list(limit=1))
    assert [each.id for each in listed] == [MODEL]
    assert client.models.retrieve(MODEL) == listed[0]
    assert listed[0].max_input_tokens and listed[0].created_at.tzinfo
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve(UNKNOWN)


def test_raw_and_streamed_answers(client: anthropic.Anthropic) -> None:
    headers = {"X-Request-ID": "mine"}
    raw = client.messages.with_raw_response.create(**FIELDS, extra_headers=headers)
    assert raw.headers["Request-Id"] == "mine" == raw.request_id
    whole = raw.parse()
    assert whole._request_id == "mine"
    with client.messages.with_streaming_response.create(**FIELDS) as streamed:
        assert streamed.parse().content == whole.content


def test_options_of_a_call(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.APITimeoutError):
        client.with_options(timeout=0.05).messages.create(**LONG)
    with pytest.raises(anthropic.APIConnectionError):
        client.with_options(base_url="http://127.0.0.1:9").messages.create(**FIELDS)


def test_batches_are_refused(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.list()


def test_the_asynchronous_client(url: str) -> None:
    async def call() -> None:
        async with anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0) as client:
            whole = await client.messages.create(**FIELDS)
            async with client.messages.stream(**FIELDS) as stream:
                assert text_of(await stream.get_final_message()) == text_of(whole)
            counted = await client.messages.count_tokens(
                model=MODEL,
                messages=[user(HELLO)],  # type: ignore[list-item]
            )
            assert counted.input_tokens
            assert [model.id async for model in client.models.list()] == [MODEL]

    asyncio.run(call())
