"""Documented calls of the `openai` package, with strict validation of every answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from tests.clients.questions import HELLO, KEY, MODEL, PERSON_QUESTION, Person, user
from tests.clients.servers import BuiltinServer, Launch

CHAT: Any = {"model": MODEL, "messages": [user(HELLO)], "max_tokens": 100, "temperature": 0}
LONG: Any = {**CHAT, "max_tokens": 3000, "extra_body": {"ignore_eos": True}}
TEXT: Any = {"model": MODEL, "prompt": "The tree", "max_tokens": 8, "temperature": 0}
TURN: Any = {"model": MODEL, "input": HELLO, "max_output_tokens": 100, "temperature": 0}
STATES = ("num_running", "num_waiting")  # a request for each in every engine fills its queue
PARSED: Any = {"model": MODEL, "messages": [user(PERSON_QUESTION)], "response_format": Person}


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    with openai.OpenAI(max_retries=0, _strict_response_validation=True) as client:
        yield client


def text_of(chunks: Any) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_chat_completions(client: openai.OpenAI) -> None:
    chats = client.chat.completions
    whole = chats.create(**CHAT).choices[0].message.content
    assert whole and text_of(chats.create(**CHAT, stream=True)) == whole
    with chats.stream(**CHAT) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        assert "".join(deltas) == whole == stream.get_final_completion().choices[0].message.content
    assert isinstance(chats.parse(**PARSED).choices[0].message.parsed, Person)
    assert isinstance(
        client.beta.chat.completions.parse(**PARSED).choices[0].message.parsed, Person
    )
    several = chats.create(**{**CHAT, "temperature": 1}, n=3, logprobs=True, top_logprobs=2)
    assert len(several.choices) == 3
    assert several.choices[0].logprobs and several.choices[0].logprobs.content


def test_completions(client: openai.OpenAI) -> None:
    whole = client.completions.create(**TEXT, logprobs=1).choices[0]
    assert whole.text and whole.logprobs
    assert client.completions.create(**TEXT, echo=True).choices[0].text == "The tree" + whole.text
    # The types of the library lack the null that OpenAI's own chunks have as `finish_reason`.
    lenient = openai.OpenAI(max_retries=0).completions
    chunks = lenient.create(**TEXT, stream=True, stream_options={"include_usage": True})
    *parts, last = list(chunks)
    assert "".join(part.choices[0].text for part in parts) == whole.text
    assert last.usage and last.usage.completion_tokens == 8


def test_responses(client: openai.OpenAI) -> None:
    first = client.responses.create(**TURN)
    with client.responses.create(**TURN, stream=True) as events:
        *_, last = list(events)
    assert last.type == "response.completed"
    assert last.response.output_text == first.output_text
    with client.responses.stream(**TURN) as stream:
        assert stream.until_done().get_final_response().output_text == first.output_text
    parsed = client.responses.parse(model=MODEL, input=PERSON_QUESTION, text_format=Person)
    assert isinstance(parsed.output_parsed, Person)
    assert client.responses.retrieve(first.id) == first
    with pytest.raises(openai.BadRequestError, match="has ended"):
        client.responses.cancel(first.id)
    counted = client.responses.input_tokens.count(model=MODEL, input=HELLO)
    assert first.usage and counted.input_tokens == first.usage.input_tokens
    client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(first.id)


def test_a_response_in_progress_is_cancelled(client: openai.OpenAI) -> None:
    fields: Any = {**TURN, "max_output_tokens": 3000, "extra_body": {"ignore_eos": True}}
    with client.responses.create(**fields, stream=True) as events:
        created = next(iter(events))
        assert created.type == "response.created"
        assert client.responses.cancel(created.response.id).status == "cancelled"
        *_, last = list(events)
    assert last.type == "response.incomplete" and last.response.status == "cancelled"


def test_pages_of_input_items(client: openai.OpenAI) -> None:
    first = client.responses.create(**TURN)
    second = client.responses.create(**TURN, previous_response_id=first.id)
    listed = client.responses.input_items.list(second.id, order="asc", limit=1)
    assert len(listed.data) == 1 and listed.has_next_page()
    roles = [getattr(item, "role", None) for item in listed]  # asks for the other pages
    assert roles == ["user", "assistant", "user"]


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).id == MODEL
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("org/none")


def test_raw_and_streamed_answers(client: openai.OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(
        **CHAT, extra_headers={"X-Request-ID": "mine"}
    )
    assert raw.headers["X-Request-ID"] == "mine" == raw.request_id
    whole = raw.parse().choices[0].message.content
    assert raw.parse()._request_id == "mine"
    with client.chat.completions.with_streaming_response.create(**CHAT) as streamed:
        assert streamed.parse().choices[0].message.content == whole
    with client.chat.completions.with_streaming_response.create(**CHAT, stream=True) as streamed:
        assert [line for line in streamed.iter_lines() if line][-1] == "data: [DONE]"
    odd = client.chat.completions.with_raw_response.create(**CHAT, extra_body={"odd": 1})
    assert odd.headers["X-YAIE-Ignored-Params"] == "odd"


# Calls that this server lacks, and a word of the answer.
LACKING: dict[str, tuple[Callable[[openai.OpenAI], Any], str]] = {
    "embeddings": (lambda c: c.embeddings.create(model=MODEL, input="x"), "embeddings"),
    "compaction": (lambda c: c.responses.compact(model=MODEL, input=HELLO), "compact"),
    "stored chats": (lambda c: c.chat.completions.list(), "GET"),
    "a stored chat": (lambda c: c.chat.completions.retrieve("chatcmpl-1"), "does not exist"),
    "moderation": (lambda c: c.moderations.create(input="x"), "generates text"),
    "files": (lambda c: c.files.list(), "--batch-dir"),
    "batches": (lambda c: c.batches.list(), "--batch-dir"),
    "pictures": (lambda c: c.images.generate(prompt="a tree"), "generates text"),
    "a deleted model": (lambda c: c.models.delete(MODEL), "DELETE"),
}


@pytest.mark.parametrize("name", LACKING)
def test_a_call_that_is_not_served_is_refused(client: openai.OpenAI, name: str) -> None:
    call, word = LACKING[name]
    with pytest.raises(openai.APIStatusError, match=word) as refused:
        call(client)
    assert refused.value.status_code in (400, 404, 405)
    assert refused.value.type == "invalid_request_error"


def test_options_of_a_call(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.05).chat.completions.create(**LONG)
    with pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(**LONG, timeout=0.05)
    with pytest.raises(openai.APIConnectionError):
        client.with_options(base_url="http://127.0.0.1:9/v1").chat.completions.create(**CHAT)
    assert client.copy(default_headers={"X-Other": "1"}).chat.completions.create(**CHAT).choices


def test_a_stream_may_be_left_early(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(**LONG, stream=True)
    assert next(iter(stream)).id
    stream.close()
    assert client.chat.completions.create(**CHAT).choices


def test_the_asynchronous_client() -> None:
    async def call() -> None:
        async with openai.AsyncOpenAI(max_retries=0, _strict_response_validation=True) as client:
            whole = (await client.chat.completions.create(**CHAT)).choices[0].message.content
            chunks = await client.chat.completions.create(**CHAT, stream=True)
            assert text_of([chunk async for chunk in chunks]) == whole
            async with client.chat.completions.stream(**CHAT) as stream:
                final = await stream.get_final_completion()
            assert final.choices[0].message.content == whole
            parsed = await client.chat.completions.parse(**PARSED)
            assert isinstance(parsed.choices[0].message.parsed, Person)
            assert (await client.completions.create(**TEXT)).choices[0].text
            response = await client.responses.create(**TURN)
            async with client.responses.stream(**TURN) as events:
                assert (await events.get_final_response()).output_text == response.output_text
            assert await client.responses.retrieve(response.id) == response
            page = client.responses.input_items.list(response.id)
            assert len([item async for item in page]) == 1
            await client.responses.delete(response.id)
            assert [model.id async for model in client.models.list()] == [MODEL]
            raw = await client.chat.completions.with_raw_response.create(**CHAT)
            assert raw.headers["X-Request-ID"]
            with pytest.raises(openai.APITimeoutError):
                await client.with_options(timeout=0.05).chat.completions.create(**LONG)

    asyncio.run(call())


@pytest.fixture
def busy(launch: Launch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuiltinServer]:
    """Start a server whose queue is full."""
    log = tmp_path_factory.mktemp("log") / "busy.log"
    server = BuiltinServer(launch, log, YAIE_MAX_RUNNING="1", YAIE_MAX_WAITING="1")
    try:
        server.wait_ready()
        for state in STATES:
            for count in range(1, server.num_engines + 1):
                server.keep_busy(f"{state}-{count}")
                server.wait_until(
                    lambda s=state, n=count: server.all_stats()["stats"][s] == n, state
                )
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def test_a_full_queue_is_asked_again_after_its_time(busy: BuiltinServer) -> None:
    statuses: list[int] = []

    def note(response: Any) -> None:
        statuses.append(response.status_code)
        if response.status_code == 429:
            assert int(response.headers["Retry-After"]) >= 1
            for state in STATES:
                for count in range(1, busy.num_engines + 1):
                    busy.end(f"{state}-{count}")

    fields: Any = {"base_url": f"{busy.url}/v1", "api_key": KEY}
    with openai.OpenAI(max_retries=0, **fields) as hasty, pytest.raises(openai.RateLimitError):
        hasty.chat.completions.create(**CHAT)
    http = openai.DefaultHttpxClient(event_hooks={"response": [note]})
    with openai.OpenAI(max_retries=4, http_client=http, **fields) as patient:
        assert patient.chat.completions.create(**CHAT).choices
    assert statuses[0] == 429 and statuses[-1] == 200
