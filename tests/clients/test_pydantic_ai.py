"""Agents of pydantic-ai over chat completions and over Responses, by the prefix of the model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, Embedder, RunContext
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.providers.openai import OpenAIProvider

from tests.clients.questions import (
    BOTH,
    HELLO,
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
from tests.clients.retrieval import EMBEDDER, TEXTS, check_vectors

# Rows of the table, and their models.
MODELS = {"pydantic_ai": "openai-chat:builtin", "pydantic_ai_responses": "openai:builtin"}


@pytest.fixture(params=list(MODELS))
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(client: str) -> str:
    return MODELS[client]


def test_chat(model: str) -> None:
    result = Agent(model).run_sync(HELLO)
    assert result.output and result.usage.output_tokens


def test_stream(model: str) -> None:
    async def read() -> str:
        async with Agent(model).run_stream(HELLO) as result:
            return "".join([text async for text in result.stream_text(delta=True)])

    assert asyncio.run(read())


def test_multi_turn(model: str) -> None:
    agent = Agent(model)
    first = agent.run_sync(HELLO)
    assert agent.run_sync("And again?", message_history=first.all_messages()).output


def test_tools_auto(model: str) -> None:
    agent = Agent(model, model_settings={"temperature": 0})
    cities = []

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Return the weather of a city."""
        cities.append(city)
        return RESULT

    assert "21" in agent.run_sync(WEATHER).output
    assert cities == ["Paris"]


def forced(model: str, choice: Any, **settings: Any) -> tuple[Any, int]:
    """Return the answer after calls that the first request requires, and their number."""
    weather = Weather()
    agent = Agent(model)

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Return the weather of a city."""
        return weather.result()

    def fields(context: RunContext[None]) -> Any:
        is_first = context.run_step == 1
        return {"temperature": 0, **({"tool_choice": choice, **settings} if is_first else {})}

    return agent.run_sync(BOTH, model_settings=fields).output, weather.num_calls


def test_tools_required(model: str) -> None:
    assert forced(model, "required")[1] == 1


def test_tools_named(model: str) -> None:
    assert forced(model, ["get_weather"])[1] == 1


def test_tools_parallel(model: str) -> None:
    answer, num_calls = forced(model, "required", extra_body=TWO_CALLS)
    assert num_calls == 2
    check_both(answer)
    given: Any = {"extra_body": TWO_CALLS, "parallel_tool_calls": False}
    assert forced(model, "required", **given)[1] == 1


def test_schema(model: str) -> None:
    result = Agent(model, output_type=Person, model_settings={"max_tokens": 256}).run_sync(
        PERSON_QUESTION
    )
    assert isinstance(result.output, Person)


def test_async_16(model: str) -> None:
    async def all_of_them() -> list[Any]:
        agent = Agent(model, model_settings={"max_tokens": 16})
        return list(await asyncio.gather(*(agent.run(f"{HELLO} {n}") for n in range(16))))

    assert all(result.output for result in asyncio.run(all_of_them()))


def test_errors(model: str, draining_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelHTTPError) as unknown:
        Agent(model.replace("builtin", UNKNOWN)).run_sync(HELLO)
    assert unknown.value.status_code == 404
    with pytest.raises(ModelHTTPError, match="maximum context length"):
        Agent(model).run_sync(TOO_LONG)
    with pytest.raises(ModelHTTPError, match="temperature"):
        Agent(model, model_settings={"temperature": -1}).run_sync(HELLO)
    with monkeypatch.context() as elsewhere, pytest.raises(ModelHTTPError) as wrong:
        elsewhere.setenv("OPENAI_API_KEY", WRONG_KEY)
        Agent(model).run_sync(HELLO)
    assert wrong.value.status_code == 401
    with monkeypatch.context() as elsewhere, pytest.raises(ModelHTTPError) as draining:
        elsewhere.setenv("OPENAI_BASE_URL", f"{draining_url}/v1")
        Agent(model).run_sync(HELLO)
    assert draining.value.status_code == 503


def test_embeddings(client: str, retrieval_url: str) -> None:
    provider = OpenAIProvider(base_url=f"{retrieval_url}/v1")
    embedder = Embedder(OpenAIEmbeddingModel(EMBEDDER, provider=provider))
    answer = embedder.embed_documents_sync(TEXTS)
    check_vectors(retrieval_url, answer.embeddings)
    assert answer.usage.input_tokens
