"""Chats through `litellm`, by its prefix `openai/`."""

from __future__ import annotations

import asyncio
from typing import Any

import litellm
import pytest

from tests.clients.questions import (
    BOTH,
    HELLO,
    KEY,
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
from tests.clients.retrieval import (
    EMBEDDER,
    QUERY,
    RERANKER,
    TEXTS,
    TOP_N,
    check_ranking,
    check_vectors,
)

NAME = f"openai/{MODEL}"


@pytest.fixture(autouse=True)
def address(base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "api_base", base_url)


def ask(*messages: Any, **fields: Any) -> Any:
    answer: Any = litellm.completion(
        **{"model": NAME, "messages": list(messages), "max_retries": 0, **fields}
    )
    return answer.choices[0]


def test_chat() -> None:
    assert ask(user(HELLO)).message.content


def test_stream() -> None:
    chunks: Any = litellm.completion(
        model=NAME, messages=[user(HELLO)], stream=True, stream_options={"include_usage": True}
    )
    chunks = list(chunks)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert chunks[-1].usage.completion_tokens


def test_multi_turn() -> None:
    first = ask(user(HELLO)).message
    assert ask(user(HELLO), first, user("And again?")).message.content


def test_tools_auto() -> None:
    first = ask(user(WEATHER), tools=[TOOL], temperature=0)
    (call,) = first.message.tool_calls
    check_call(call.function.name, call.function.arguments)
    result = {"role": "tool", "tool_call_id": call.id, "content": RESULT}
    assert (
        "21"
        in ask(user(WEATHER), first.message, result, tools=[TOOL], temperature=0).message.content
    )


def test_tools_required() -> None:
    assert ask(user(HELLO), tools=[TOOL], tool_choice="required").message.tool_calls


def test_tools_named() -> None:
    (call,) = ask(user(HELLO), tools=[TOOL], tool_choice=NAMED).message.tool_calls
    check_call(call.function.name, call.function.arguments, city=None)


def test_tools_parallel() -> None:
    tools: dict[str, Any] = {"tools": [TOOL], "temperature": 0}
    forced = {**tools, "tool_choice": "required", "extra_body": TWO_CALLS}
    first = ask(user(BOTH), **forced).message
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call, result in zip(first.tool_calls, RESULTS, strict=True)
    ]
    check_both(ask(user(BOTH), first, *results, **tools).message.content)
    answer = ask(user(BOTH), parallel_tool_calls=False, **forced)
    assert len(answer.message.tool_calls) == 1


def test_schema() -> None:
    answer = ask(user(PERSON_QUESTION), response_format=Person)
    Person.model_validate_json(answer.message.content)


def test_async_16() -> None:
    async def all_of_them() -> list[Any]:
        asked = [
            litellm.acompletion(model=NAME, messages=[user(f"{HELLO} {n}")], max_tokens=16)
            for n in range(16)
        ]
        return list(await asyncio.gather(*asked))

    assert all(answer.choices[0].message.content for answer in asyncio.run(all_of_them()))


def test_errors(draining_url: str) -> None:
    with pytest.raises(litellm.NotFoundError):
        ask(user(HELLO), model=f"openai/{UNKNOWN}")
    with pytest.raises(litellm.ContextWindowExceededError):
        ask(user(TOO_LONG))
    with pytest.raises(litellm.BadRequestError, match="temperature"):
        ask(user(HELLO), temperature=-1)
    with pytest.raises(litellm.AuthenticationError):
        ask(user(HELLO), api_key=WRONG_KEY)
    with pytest.raises(litellm.ServiceUnavailableError, match="shutting down"):
        ask(user(HELLO), api_base=f"{draining_url}/v1")


def test_embeddings(retrieval_url: str) -> None:
    answer: Any = litellm.embedding(
        model=f"openai/{EMBEDDER}", input=TEXTS, api_base=f"{retrieval_url}/v1"
    )
    check_vectors(retrieval_url, [each["embedding"] for each in answer.data])


@pytest.mark.parametrize("provider", ["hosted_vllm", "jina_ai", "cohere"])
def test_rerank(retrieval_url: str, provider: str) -> None:
    path = {"jina_ai": "/v1/rerank", "cohere": "/v2/rerank"}.get(provider, "")
    answer: Any = litellm.rerank(
        model=f"{provider}/{RERANKER}",
        query=QUERY,
        documents=TEXTS,
        top_n=TOP_N,
        api_base=f"{retrieval_url}{path}",
        api_key=KEY,
    )
    check_ranking(retrieval_url, [(e["index"], e["relevance_score"]) for e in answer.results])
