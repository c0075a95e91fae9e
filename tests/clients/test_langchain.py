"""Chats through LangChain's `ChatOpenAI`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openai import AuthenticationError, BadRequestError, InternalServerError, NotFoundError
from pydantic import SecretStr

from tests.clients.questions import (
    BOTH,
    HELLO,
    MODEL,
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
from tests.clients.retrieval import EMBEDDER, TEXTS, check_vectors


@tool
def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"{city}: {RESULT}"


@pytest.fixture
def chat() -> ChatOpenAI:
    return ChatOpenAI(model=MODEL, max_retries=0, temperature=0)


def test_chat(chat: ChatOpenAI) -> None:
    answer = chat.invoke(HELLO)
    assert answer.content and answer.usage_metadata


def test_stream(chat: ChatOpenAI) -> None:
    assert "".join(str(chunk.content) for chunk in chat.stream(HELLO))


def test_multi_turn(chat: ChatOpenAI) -> None:
    turns = [HumanMessage(HELLO), chat.invoke(HELLO), HumanMessage("And again?")]
    assert chat.invoke(turns).content


def test_tools_auto(chat: ChatOpenAI) -> None:
    bound = chat.bind_tools([get_weather])
    first = bound.invoke(WEATHER)
    assert isinstance(first, AIMessage)
    (call,) = first.tool_calls
    check_call(call["name"], call["args"])
    turns = [HumanMessage(WEATHER), first, ToolMessage(RESULT, tool_call_id=call["id"])]
    assert "21" in str(bound.invoke(turns).content)


@pytest.mark.parametrize("choice", ["any", "required"])
def test_tools_required(chat: ChatOpenAI, choice: str) -> None:
    answer = chat.bind_tools([get_weather], tool_choice=choice).invoke(HELLO)
    assert isinstance(answer, AIMessage) and answer.tool_calls


def test_tools_named(chat: ChatOpenAI) -> None:
    answer = chat.bind_tools([get_weather], tool_choice="get_weather").invoke(HELLO)
    assert isinstance(answer, AIMessage)
    (call,) = answer.tool_calls
    check_call(call["name"], call["args"], city=None)


def test_tools_parallel(chat: ChatOpenAI) -> None:
    forced: Any = {"tool_choice": "any", "extra_body": TWO_CALLS}
    first = chat.bind_tools([get_weather], **forced).invoke(BOTH)
    assert isinstance(first, AIMessage) and len(first.tool_calls) == 2
    turns: list[Any] = [HumanMessage(BOTH), first]
    for call, result in zip(first.tool_calls, RESULTS, strict=True):
        turns.append(ToolMessage(result, tool_call_id=call["id"]))
    check_both(chat.bind_tools([get_weather]).invoke(turns).content)
    answer = chat.bind_tools([get_weather], parallel_tool_calls=False, **forced).invoke(BOTH)
    assert isinstance(answer, AIMessage) and len(answer.tool_calls) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "function_calling"},
        {"method": "json_schema", "strict": True},
    ],
)
def test_schema(chat: ChatOpenAI, options: dict[str, Any]) -> None:
    answer = chat.with_structured_output(Person, **options).invoke(PERSON_QUESTION)
    assert isinstance(answer, Person)


def test_async_16(chat: ChatOpenAI) -> None:
    answers = asyncio.run(chat.abatch([f"{HELLO} {n}" for n in range(16)]))
    assert all(answer.content for answer in answers)


def test_errors(chat: ChatOpenAI, draining_url: str) -> None:
    with pytest.raises(NotFoundError):
        ChatOpenAI(model=UNKNOWN, max_retries=0).invoke(HELLO)
    with pytest.raises(ContextOverflowError):
        chat.invoke(TOO_LONG)
    with pytest.raises(BadRequestError, match="temperature"):
        chat.invoke(HELLO, temperature=-1)
    with pytest.raises(AuthenticationError):
        ChatOpenAI(model=MODEL, max_retries=0, api_key=SecretStr(WRONG_KEY)).invoke(HELLO)
    with pytest.raises(InternalServerError, match="shutting down"):
        ChatOpenAI(model=MODEL, max_retries=0, base_url=f"{draining_url}/v1").invoke(HELLO)


def test_embeddings(retrieval_url: str) -> None:
    # By default it sends ids of OpenAI's tokenizer, which mean other texts here.
    embeddings = OpenAIEmbeddings(
        model=EMBEDDER, base_url=f"{retrieval_url}/v1", check_embedding_ctx_length=False
    )
    check_vectors(retrieval_url, embeddings.embed_documents(TEXTS))
    assert embeddings.embed_query(TEXTS[0]) == embeddings.embed_documents(TEXTS[:1])[0]
    assert len(asyncio.run(embeddings.aembed_documents(TEXTS))) == len(TEXTS)
