"""`/v1/responses` of a server process with a real engine, driven by the strict `openai` client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import openai
import pytest

from tests.server.real_server import WAIT_S, Server
from tests.weather import FUNCTION
from yaie.models.builtin import BUILTIN_MODEL_DIR

pytestmark = pytest.mark.integration
LONG = {"ignore_eos": True}


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=server.url + "/v1",
        api_key="none",
        max_retries=0,
        timeout=WAIT_S,
        _strict_response_validation=True,
    ) as client:
        yield client


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    """A client of the built-in model, whose texts are tokenized as they were sampled."""
    server = Server(BUILTIN_MODEL_DIR, tmp_path_factory.mktemp("log") / "server.log")
    try:
        server.wait_ready()
        with openai.OpenAI(
            base_url=server.url + "/v1", api_key="none", _strict_response_validation=True
        ) as client:
            yield client
    finally:
        server.stop()


def test_a_second_turn_hits_the_tree(talker: openai.OpenAI) -> None:
    first = talker.responses.create(
        model="tiny", input="What is a radix tree?", max_output_tokens=64
    )
    assert first.usage is not None and first.status == "completed"
    second = talker.responses.create(
        model="tiny", input="Thank you.", previous_response_id=first.id, max_output_tokens=64
    )
    assert second.usage is not None
    # All but the end token, unless an idle moment was long enough for it.
    assert second.usage.input_tokens_details.cached_tokens >= first.usage.total_tokens - 1
    again = talker.responses.create(
        model="tiny",
        input=[
            {"role": "user", "content": "What is a radix tree?"},
            *first.output,  # type: ignore[list-item]
            {"role": "user", "content": "Thank you."},
        ],
        max_output_tokens=64,
    )
    assert again.output_text == second.output_text
    assert again.usage is not None
    assert again.usage.input_tokens == second.usage.input_tokens
    assert again.usage.input_tokens_details.cached_tokens == second.usage.input_tokens - 1


def test_a_stream_is_the_whole_response(client: openai.OpenAI) -> None:
    whole = client.responses.create(model="tiny", input="the plan?", max_output_tokens=12)
    with client.responses.stream(model="tiny", input="the plan?", max_output_tokens=12) as stream:
        events = list(stream)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    last: Any = events[-1]
    assert text == last.response.output_text == whole.output_text
    assert [event.sequence_number for event in events] == sorted(
        event.sequence_number for event in events
    )
    assert last.response.status == whole.status
    assert client.responses.retrieve(last.response.id) == last.response


def test_a_stream_is_read_again_by_its_id(client: openai.OpenAI) -> None:
    own = list(
        client.responses.create(
            model="tiny", input="the plan?", max_output_tokens=12, stream=True, extra_body=LONG
        )
    )
    begun: Any = own[0]
    again = client.responses.retrieve(begun.response.id, stream=True)
    assert list(again) == own
    rest = client.responses.retrieve(begun.response.id, stream=True, starting_after=5)
    assert list(rest) == own[6:]


def test_input_tokens_are_counted(client: openai.OpenAI) -> None:
    answer = client.responses.create(model="tiny", input="the plan?", max_output_tokens=4)
    counted = client.responses.input_tokens.count(model="tiny", input="the plan?")
    assert answer.usage is not None
    assert counted.input_tokens == answer.usage.input_tokens


def test_logprobs(client: openai.OpenAI) -> None:
    answer = client.responses.create(
        model="tiny",
        input="the plan?",
        max_output_tokens=4,
        include=["message.output_text.logprobs"],
        top_logprobs=3,
        extra_body=LONG,
    )
    part: Any = answer.output[0].content[0]  # type: ignore[union-attr]
    assert [len(one.top_logprobs) for one in part.logprobs] == [3] * 4


def test_a_stored_response_is_listed_and_deleted(client: openai.OpenAI) -> None:
    answer = client.responses.create(model="tiny", input="the plan?", max_output_tokens=4)
    items = client.responses.input_items.list(answer.id)
    assert [item.type for item in items] == ["message"]
    client.responses.delete(answer.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(answer.id)
    with pytest.raises(openai.BadRequestError) as gone:
        client.responses.create(model="tiny", input="more?", previous_response_id=answer.id)
    assert gone.value.code == "previous_response_not_found"


def test_a_stream_in_progress_can_be_read_and_cancelled(
    client: openai.OpenAI, server: Server
) -> None:
    stream = client.responses.create(
        model="tiny", input="the plan?", stream=True, max_output_tokens=120, extra_body=LONG
    )
    created: Any = next(iter(stream))
    running = client.responses.retrieve(created.response.id)
    assert running.status in ("in_progress", "incomplete")
    cancelled = running
    with suppress(openai.BadRequestError):  # it has ended
        cancelled = client.responses.cancel(created.response.id)
    *_, last = stream
    assert last.type == "response.incomplete"
    if running.status == "in_progress" and cancelled.status == "cancelled":
        assert last.response.status == "cancelled"
        assert last.response.output_text.startswith(cancelled.output_text)
    assert client.responses.retrieve(created.response.id) == last.response
    server.wait_idle()


def test_sixteen_conversations_at_once_keep_to_themselves(server: Server) -> None:
    async def talk(client: openai.AsyncOpenAI, number: int) -> None:
        first = await client.responses.create(
            model="tiny", input=f"number {number}", max_output_tokens=4
        )
        second = await client.responses.create(
            model="tiny", input="more", previous_response_id=first.id, max_output_tokens=4
        )
        items = [item async for item in client.responses.input_items.list(second.id, order="asc")]
        assert items[0].content[0].text == f"number {number}"  # type: ignore[union-attr]
        assert len(items) == 3

    async def all_of_them() -> None:
        async with openai.AsyncOpenAI(
            base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=WAIT_S
        ) as client:
            await asyncio.gather(*(talk(client, number) for number in range(16)))

    asyncio.run(all_of_them())


def test_errors_name_the_field(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as wrong:
        client.responses.create(model="tiny", input="x", tools=[{"type": "custom", "name": ""}])
    assert wrong.value.param == "tools[0].name"
    with pytest.raises(openai.BadRequestError) as background:
        client.responses.create(model="tiny", input="x", background=True, store=False)
    assert background.value.param == "background"


def test_a_response_in_the_background_is_polled(client: openai.OpenAI, server: Server) -> None:
    asked: Any = {"model": "tiny", "input": "the plan?", "max_output_tokens": 8}
    begun = client.responses.create(**asked, background=True)
    assert (begun.status, begun.output) == ("queued", [])
    found = begun
    while found.status in ("queued", "in_progress"):
        found = client.responses.retrieve(begun.id)
    assert found.output_text == client.responses.create(**asked).output_text
    long = client.responses.create(
        model="tiny", input="the plan?", background=True, max_output_tokens=120, extra_body=LONG
    )
    assert client.responses.cancel(long.id).status in ("cancelled", "incomplete")
    server.wait_idle()


WEATHER: Any = {"type": "function", **FUNCTION, "strict": True}


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("tool_choice", ["auto", {"type": "function", "name": "get_weather"}])
def test_the_loop_of_an_agent(talker: openai.OpenAI, is_streamed: bool, tool_choice: Any) -> None:
    question: Any = {
        "model": "tiny",
        "input": "What is the weather in Paris?",
        "tools": [WEATHER],
        "tool_choice": tool_choice,
    }
    if is_streamed:
        with talker.responses.stream(**question) as stream:
            first: Any = stream.get_final_response()
    else:
        first = talker.responses.create(**question)
    (call,) = first.output
    assert (call.type, call.name) == ("function_call", "get_weather")
    assert json.loads(call.arguments) == {"city": "Paris"}
    result: Any = {
        "type": "function_call_output",
        "call_id": call.call_id,
        "output": '{"temperature": 21}',
    }
    last = talker.responses.create(
        model="tiny", input=[result], tools=[WEATHER], previous_response_id=first.id
    )
    assert "21" in last.output_text
    assert last.usage is not None
    assert last.usage.input_tokens_details.cached_tokens >= first.usage.total_tokens - 1
