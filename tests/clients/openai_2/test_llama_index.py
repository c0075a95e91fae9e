"""Chats through llama-index's `OpenAILike`."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike
from llama_index.postprocessor.jinaai_rerank import JinaRerank

from tests.clients.questions import (
    BOTH,
    HELLO,
    KEY,
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
from tests.clients.retrieval import (
    EMBEDDER,
    QUERY,
    RERANKER,
    TEXTS,
    TOP_N,
    check_ranking,
    check_vectors,
)


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"{city}: {RESULT}"


TOOL = FunctionTool.from_defaults(get_weather)


def make(base_url: str, **fields: Any) -> OpenAILike:
    given: Any = {
        "model": MODEL,
        "context_window": 4096,
        "max_retries": 0,
        "temperature": 0,
        "api_key": KEY,
        **fields,
    }
    return OpenAILike(
        api_base=base_url,
        is_chat_model=True,
        is_function_calling_model=True,
        **given,
    )


@pytest.fixture
def llm(base_url: str) -> OpenAILike:
    return make(base_url)


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def calls(llm: OpenAILike, text: str, **fields: Any) -> list[Any]:
    answer = llm.chat_with_tools([TOOL], user_msg=text, **fields)
    return list(llm.get_tool_calls_from_response(answer, error_on_no_tool_call=False))


def test_chat(llm: OpenAILike) -> None:
    assert llm.chat([user(HELLO)]).message.content


def test_stream(llm: OpenAILike) -> None:
    assert "".join(chunk.delta or "" for chunk in llm.stream_chat([user(HELLO)]))


def test_multi_turn(llm: OpenAILike) -> None:
    first = llm.chat([user(HELLO)]).message
    assert llm.chat([user(HELLO), first, user("And again?")]).message.content


def test_tools_auto(llm: OpenAILike) -> None:
    first = llm.chat_with_tools([TOOL], user_msg=WEATHER)
    (call,) = llm.get_tool_calls_from_response(first)
    check_call(call.tool_name, call.tool_kwargs)
    result = ChatMessage(
        role="tool", content=RESULT, additional_kwargs={"tool_call_id": call.tool_id}
    )
    last = llm.chat_with_tools([TOOL], chat_history=[user(WEATHER), first.message, result])
    assert "21" in (last.message.content or "")


def test_tools_required(llm: OpenAILike) -> None:
    assert calls(llm, HELLO, tool_required=True)


def test_tools_named(llm: OpenAILike) -> None:
    (call,) = calls(llm, HELLO, tool_choice="get_weather")
    check_call(call.tool_name, call.tool_kwargs, city=None)


def test_tools_parallel(llm: OpenAILike) -> None:
    forced: Any = {"tool_required": True, "extra_body": TWO_CALLS}
    first = llm.chat_with_tools([TOOL], user_msg=BOTH, allow_parallel_tool_calls=True, **forced)
    results = [
        ChatMessage(role="tool", content=result, additional_kwargs={"tool_call_id": call.tool_id})
        for call, result in zip(llm.get_tool_calls_from_response(first), RESULTS, strict=True)
    ]
    last = llm.chat_with_tools([TOOL], chat_history=[user(BOTH), first.message, *results])
    check_both(last.message.content)
    assert len(calls(llm, BOTH, allow_parallel_tool_calls=False, **forced)) == 1


def test_schema(llm: OpenAILike) -> None:
    answer = llm.as_structured_llm(Person).complete(PERSON_QUESTION)
    assert isinstance(answer.raw, Person)


def test_async_16(llm: OpenAILike) -> None:
    async def all_of_them() -> list[Any]:
        asked = [llm.achat([user(f"{HELLO} {n}")], max_tokens=16) for n in range(16)]
        return list(await asyncio.gather(*asked))

    assert all(answer.message.content for answer in asyncio.run(all_of_them()))


def test_errors(base_url: str, draining_url: str, llm: OpenAILike) -> None:
    with pytest.raises(openai.NotFoundError):
        make(base_url, model=UNKNOWN).chat([user(HELLO)])
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        llm.chat([user(TOO_LONG)])
    with pytest.raises(openai.BadRequestError, match="top_p"):
        make(base_url, additional_kwargs={"top_p": 7}).chat([user(HELLO)])
    with pytest.raises(openai.AuthenticationError):
        make(base_url, api_key=WRONG_KEY).chat([user(HELLO)])
    with pytest.raises(openai.InternalServerError, match="engine_draining"):
        make(f"{draining_url}/v1").chat([user(HELLO)])


def test_embeddings(retrieval_url: str) -> None:
    embeddings = OpenAILikeEmbedding(
        model_name=EMBEDDER, api_base=f"{retrieval_url}/v1", api_key=KEY
    )
    check_vectors(retrieval_url, embeddings.get_text_embedding_batch(TEXTS))
    assert len(embeddings.get_query_embedding(QUERY)) == len(embeddings.get_text_embedding(QUERY))


def test_rerank(retrieval_url: str) -> None:
    ranker = JinaRerank(top_n=TOP_N, model=RERANKER, base_url=f"{retrieval_url}/v1", api_key=KEY)
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in TEXTS]
    best = ranker.postprocess_nodes(nodes, query_str=QUERY)
    found = [(TEXTS.index(each.node.get_content()), float(each.score or 0)) for each in best]
    check_ranking(retrieval_url, found)
