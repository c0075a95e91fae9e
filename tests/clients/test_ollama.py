"""Ollama's API through the `ollama` package."""

from __future__ import annotations

import asyncio
from typing import Any

import ollama
import pytest

from tests.clients.questions import (
    HELLO,
    KEY,
    MODEL,
    PERSON_QUESTION,
    RESULT,
    TOO_LONG,
    TOOL,
    UNKNOWN,
    WEATHER,
    WRONG_KEY,
    Person,
    check_call,
    user,
)
from tests.clients.retrieval import EMBEDDER, TEXTS, check_vectors

GREEDY = {"temperature": 0, "num_predict": 256}


def key_of(key: str = KEY) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def client(url: str) -> ollama.Client:
    return ollama.Client(host=url, headers=key_of())


def test_chat(client: ollama.Client) -> None:
    answer = client.chat(model=MODEL, messages=[user(HELLO)])
    assert answer.message.content and answer["message"]["role"] == "assistant"
    assert answer.done and answer.done_reason == "stop" and answer.eval_count
    assert answer.total_duration >= answer.prompt_eval_duration + answer.eval_duration > 0


def test_stream(client: ollama.Client) -> None:
    fields: Any = {"model": MODEL, "messages": [user(HELLO)], "options": GREEDY}
    parts = list(client.chat(**fields, stream=True))
    assert len(parts) > 2 and parts[-1].done and parts[-1].eval_count
    text = "".join(part.message.content for part in parts)
    assert text == client.chat(**fields).message.content


def test_multi_turn(client: ollama.Client) -> None:
    first = client.chat(model=MODEL, messages=[user(HELLO)])
    answer = client.chat(model=MODEL, messages=[user(HELLO), first.message, user("And again?")])
    assert answer.message.content
    assert answer.prompt_eval_count > first.prompt_eval_count


@pytest.mark.parametrize("stream", [False, True])
def test_tools_auto(client: ollama.Client, stream: bool) -> None:
    def get_weather(city: str) -> str:
        """Return the weather of a city.

        Args:
          city: Name of the city
        """
        return RESULT

    for tool in (TOOL, get_weather):
        fields: Any = {"model": MODEL, "tools": [tool], "options": GREEDY}
        turns: list[Any] = [user(WEATHER)]
        answers: Any = client.chat(**fields, messages=turns, stream=stream)
        messages = [part.message for part in answers] if stream else [answers.message]
        (call,) = [call for message in messages for call in message.tool_calls or ()]
        check_call(call.function.name, dict(call.function.arguments))
        turns.append(next(message for message in messages if message.tool_calls))
        turns.append({"role": "tool", "tool_name": "get_weather", "content": RESULT})
        assert "21" in client.chat(**fields, messages=turns).message.content


def test_schema(client: ollama.Client) -> None:
    fields: Any = {"model": MODEL, "format": Person.model_json_schema()}
    answer = client.chat(**fields, messages=[user(PERSON_QUESTION)])
    assert Person.model_validate_json(answer.message.content)
    assert Person.model_validate_json(client.generate(**fields, prompt=PERSON_QUESTION).response)
    short: Any = {"format": "json", "options": {"num_predict": 4}}
    plain = client.chat(model=MODEL, messages=[user("Answer in JSON.")], **short)
    assert plain.message.content.lstrip().startswith("{")


def test_async_16(url: str) -> None:
    async def all_of_them() -> list[Any]:
        client = ollama.AsyncClient(host=url, headers=key_of())
        chats: Any = [
            client.chat(
                model=MODEL, messages=[user(f"{HELLO} {number}")], options={"num_predict": 16}
            )
            for number in range(16)
        ]
        return list(await asyncio.gather(*chats))

    assert all(answer.message.content for answer in asyncio.run(all_of_them()))


def test_errors(client: ollama.Client, url: str, draining_url: str) -> None:
    wrong = ollama.Client(host=url, headers=key_of(WRONG_KEY))
    draining = ollama.Client(host=draining_url, headers=key_of())
    cases: list[tuple[ollama.Client, int, str, dict[str, Any]]] = [
        (client, 404, "not served", {"model": UNKNOWN}),
        (client, 400, "maximum context length", {"messages": [user(TOO_LONG)]}),
        (client, 400, "options.temperature", {"options": {"temperature": -1}}),
        (wrong, 401, "API key is wrong", {}),
        (draining, 503, "shutting down", {}),
    ]
    for asked, status, words, fields in cases:
        body: Any = {"model": MODEL, "messages": [user(HELLO)], **fields}
        for stream in (False, True):
            with pytest.raises(ollama.ResponseError, match=words) as refused:
                list(asked.chat(**body, stream=stream))
            assert refused.value.status_code == status


def test_embeddings(retrieval_url: str) -> None:
    client = ollama.Client(host=retrieval_url, headers=key_of())
    answer = client.embed(model=EMBEDDER, input=TEXTS)
    check_vectors(retrieval_url, answer.embeddings)
    assert answer.prompt_eval_count and answer.total_duration
    assert len(client.embed(model=EMBEDDER, input=TEXTS[0], dimensions=8).embeddings[0]) == 8


def test_generate(client: ollama.Client) -> None:
    fields: Any = {"model": MODEL, "options": GREEDY}
    answer = client.generate(**fields, prompt=HELLO)
    assert answer.response and answer.done_reason == "stop"
    chat = client.chat(**fields, messages=[user(HELLO)])
    assert chat.message.content == answer.response
    parts = list(client.generate(**fields, prompt=HELLO, stream=True))
    assert "".join(part.response for part in parts) == answer.response
    raw = client.generate(model=MODEL, prompt="One, two,", raw=True, options={"num_predict": 4})
    assert raw.done_reason == "length" and raw.eval_count == 4
    loaded = client.generate(model=MODEL, prompt="")
    assert loaded.done_reason == "load"
    with pytest.raises(ollama.ResponseError, match="suffix is not supported"):
        client.generate(model=MODEL, prompt="a", suffix="b")


def test_logprobs(client: ollama.Client) -> None:
    fields: Any = {"model": MODEL, "messages": [user(HELLO)], "options": GREEDY}
    answer = client.chat(**fields, logprobs=True, top_logprobs=2)
    assert answer.logprobs is not None and len(answer.logprobs[0].top_logprobs or ()) == 2


def test_models(client: ollama.Client) -> None:
    (listed,) = client.list().models
    assert listed.model == f"{MODEL}:latest" and listed.size
    shown = client.show(listed.model)
    assert shown.capabilities == ["completion", "tools"] and shown.details is not None
    family = shown.modelinfo["general.architecture"]
    assert shown.modelinfo[f"{family}.context_length"] == 4096
    assert shown.details.family == family and shown.template and shown.modified_at
    (loaded,) = client.ps().models
    assert loaded.model == listed.model and loaded.size and loaded.context_length == 4096
    assert loaded.expires_at is not None


def test_pull(client: ollama.Client) -> None:
    assert client.pull(MODEL).status == "success"
    lines = list(client.pull(MODEL, stream=True))
    assert lines[-1].status == "success"
    assert any(line.total == line.completed and line.total for line in lines)
    with pytest.raises(ollama.ResponseError, match="not served here") as refused:
        client.pull(UNKNOWN)
    assert refused.value.status_code == 404


def test_refused_calls(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="computes no embeddings"):
        client.embed(model=MODEL, input="x")
    with pytest.raises(ollama.ResponseError, match="/api/embed"):
        client.embeddings(model=MODEL, prompt="x")
    for call in (
        lambda: client.create(model="x", from_=MODEL),
        lambda: client.copy(MODEL, "x"),
        lambda: client.push("x"),
    ):
        with pytest.raises(ollama.ResponseError, match="is not supported: the settings"):
            call()
    with pytest.raises(ollama.ResponseError, match="is not supported: the settings"):
        client.delete(MODEL)
