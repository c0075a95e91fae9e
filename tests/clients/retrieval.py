"""Texts that the tests of all clients embed and rank, and the server's plain answers to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import requests

from tests.clients.questions import KEY

EMBEDDER, RERANKER = "embedder", "reranker"
QUERY = "What is the tree?"
TEXTS = ["The tree is a plan.", "A slot", "the fox", "The tree is the cache, so the tree"]
TOP_N = 3


def ask(url: str, path: str, body: dict[str, Any]) -> Any:
    """Return the answer to a request without any client library."""
    headers = {"Authorization": f"Bearer {KEY}"}
    answer = requests.post(f"{url}{path}", json=body, headers=headers, timeout=200)
    answer.raise_for_status()
    return answer.json()


def check_vectors(url: str, vectors: Sequence[Sequence[float]], **fields: Any) -> None:
    """Check the vectors of the texts that a library returned."""
    body = {"model": EMBEDDER, "input": TEXTS, **fields}
    plain = [each["embedding"] for each in ask(url, "/v1/embeddings", body)["data"]]
    assert len(vectors) == len(TEXTS)
    for vector, same in zip(vectors, plain, strict=True):
        assert list(vector) == pytest.approx(same, abs=1e-6)


def check_ranking(url: str, found: Sequence[tuple[int, float]]) -> None:
    """Check places and scores of the best texts that a library returned."""
    body = {"model": RERANKER, "query": QUERY, "documents": TEXTS, "top_n": TOP_N}
    plain = [
        (each["index"], each["relevance_score"]) for each in ask(url, "/v1/rerank", body)["results"]
    ]
    assert len(plain) == TOP_N
    assert [place for place, _ in found] == [place for place, _ in plain]
    assert [score for _, score in found] == pytest.approx([score for _, score in plain], abs=1e-6)
