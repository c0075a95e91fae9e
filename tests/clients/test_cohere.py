"""Rerankings through `cohere`."""

from __future__ import annotations

import asyncio

import cohere
import pytest
from cohere.core.api_error import ApiError

from tests.clients.questions import KEY, MODEL, UNKNOWN, WRONG_KEY
from tests.clients.retrieval import EMBEDDER, QUERY, RERANKER, TEXTS, TOP_N, check_ranking


def make(url: str, key: str = KEY) -> cohere.ClientV2:
    return cohere.ClientV2(base_url=url, api_key=key)


def test_rerank(retrieval_url: str) -> None:
    asked = {"model": RERANKER, "query": QUERY, "documents": TEXTS, "top_n": TOP_N}
    answer = make(retrieval_url).rerank(**asked)
    assert answer.id
    check_ranking(retrieval_url, [(e.index, e.relevance_score) for e in answer.results])
    # The version before, whose path begins with /v1.
    old = cohere.Client(base_url=retrieval_url, api_key=KEY).rerank(**asked, return_documents=True)
    check_ranking(retrieval_url, [(e.index, e.relevance_score) for e in old.results])
    assert [e.document and e.document.text for e in old.results] == [
        TEXTS[e.index] for e in old.results
    ]


def test_async_16(retrieval_url: str) -> None:
    async def all_of_them() -> list[cohere.V2RerankResponse]:
        client = cohere.AsyncClientV2(base_url=retrieval_url, api_key=KEY)
        return await asyncio.gather(
            *(
                client.rerank(model=RERANKER, query=f"{QUERY} {n}", documents=TEXTS)
                for n in range(16)
            )
        )

    assert all(len(answer.results) == len(TEXTS) for answer in asyncio.run(all_of_them()))


def test_errors(retrieval_url: str, draining_url: str) -> None:
    client = make(retrieval_url)
    cases = [
        (client, {"model": UNKNOWN}, 404, "not served"),
        (client, {"model": EMBEDDER}, 400, "reranker"),
        (client, {"top_n": 0}, 400, "top_n"),
        (make(retrieval_url, WRONG_KEY), {}, 401, "API key is wrong"),
        (make(draining_url), {"model": MODEL}, 503, "shutting down"),
    ]
    for asked, fields, status, words in cases:
        given = {"model": RERANKER, "query": QUERY, "documents": TEXTS, **fields}
        with pytest.raises(ApiError, match=words) as refused:
            asked.rerank(**given, request_options={"max_retries": 0})
        assert refused.value.status_code == status
