"""Agents of `openai-agents`, over its default model class: Responses."""

from __future__ import annotations

import asyncio
from typing import Any

import agents
import openai
import pytest
from agents import Agent, ModelSettings, Runner, StopAtTools, function_tool

from tests.clients.questions import (
    BOTH,
    HELLO,
    KEY,
    MODEL,
    PERSON_QUESTION,
    RESULT,
    TOO_LONG,
    TWO_CALLS,
    UNKNOWN,
    WEATHER,
    WRONG_KEY,
    Person,
    Weather,
    check_both,
)


@pytest.fixture(autouse=True)
def client(base_url: str) -> None:
    use_client(base_url)


def use_client(base_url: str, api_key: str = KEY) -> None:
    # The library keeps the first client of the process, and with it the address.
    client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0)
    agents.set_default_openai_client(client, use_for_tracing=False)


@function_tool
def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"{city}: {RESULT}"


def agent(**fields: Any) -> Any:
    return Agent(**{"name": "Assistant", "model": MODEL, **fields})


def calls_of(result: Any) -> list[Any]:
    return [item for item in result.new_items if item.type == "tool_call_item"]


def test_chat() -> None:
    assert Runner.run_sync(agent(), HELLO).final_output


def test_stream() -> None:
    async def read() -> str:
        result = Runner.run_streamed(agent(), HELLO)
        deltas = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event"
            and event.data.type == "response.output_text.delta"
        ]
        assert "".join(deltas) == result.final_output
        return "".join(deltas)

    assert asyncio.run(read())


def test_multi_turn() -> None:
    first = Runner.run_sync(agent(), HELLO)
    turns: Any = [*first.to_input_list(), {"role": "user", "content": "And again?"}]
    assert Runner.run_sync(agent(), turns).final_output


def test_tools_auto() -> None:
    result = Runner.run_sync(
        agent(tools=[get_weather], model_settings=ModelSettings(temperature=0)), WEATHER
    )
    assert len(calls_of(result)) == 1 and "21" in result.final_output


@pytest.mark.parametrize("choice", ["required"])
def test_tools_required(choice: str) -> None:
    forced(choice)


def test_tools_named() -> None:
    forced("get_weather")


def forced(choice: str) -> None:
    result = Runner.run_sync(
        agent(
            tools=[get_weather],
            model_settings=ModelSettings(tool_choice=choice),
            tool_use_behavior=StopAtTools(stop_at_tool_names=["get_weather"]),
        ),
        HELLO,
    )
    assert calls_of(result)


def test_tools_parallel() -> None:
    weather = Weather()

    @function_tool(name_override="get_weather")
    def count(city: str) -> str:
        """Return the weather of a city."""
        return weather.result()

    # The library requires a call in the first turn only.
    settings: Any = {"tool_choice": "required", "extra_body": TWO_CALLS, "temperature": 0}
    several = ModelSettings(parallel_tool_calls=True, **settings)
    result = Runner.run_sync(agent(tools=[count], model_settings=several), BOTH)
    assert len(calls_of(result)) == weather.num_calls == 2
    check_both(result.final_output)
    stop: Any = {"tool_use_behavior": "stop_on_first_tool"}
    single = ModelSettings(parallel_tool_calls=False, **settings)
    result = Runner.run_sync(agent(tools=[count], model_settings=single, **stop), BOTH)
    assert len(calls_of(result)) == 1


def test_schema() -> None:
    settings = ModelSettings(max_tokens=256)
    result = Runner.run_sync(agent(output_type=Person, model_settings=settings), PERSON_QUESTION)
    assert isinstance(result.final_output, Person)


def test_async_16() -> None:
    async def all_of_them() -> list[Any]:
        asked = [Runner.run(agent(), f"{HELLO} {n}") for n in range(16)]
        return list(await asyncio.gather(*asked))

    assert all(result.final_output for result in asyncio.run(all_of_them()))


def test_errors(base_url: str, draining_url: str) -> None:
    with pytest.raises(openai.NotFoundError):
        Runner.run_sync(agent(model=UNKNOWN), HELLO)
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        Runner.run_sync(agent(), TOO_LONG)
    with pytest.raises(openai.BadRequestError, match="temperature"):
        Runner.run_sync(agent(model_settings=ModelSettings(temperature=-1)), HELLO)
    use_client(base_url, WRONG_KEY)
    with pytest.raises(openai.AuthenticationError):
        Runner.run_sync(agent(), HELLO)
    use_client(f"{draining_url}/v1")
    with pytest.raises(openai.InternalServerError, match="engine_draining"):
        Runner.run_sync(agent(), HELLO)
