"""Tasks of models: errors for a model that is asked for what it does not do."""

from __future__ import annotations

from yaie.base.embedding_info import EmbeddingInfo
from yaie.base.errors import InvalidRequest
from yaie.base.ranking_info import RankingInfo
from yaie.base.types import EngineInfo


def check_generates(info: EngineInfo) -> None:
    """Raise `InvalidRequest` for a model that generates no text."""
    if info.embedding is not None and not info.embedding.generates:
        raise _wrong_task(
            info,
            "computes embeddings and generates no text; send texts to /v1/embeddings or embed(), "
            "or use a chat model",
        )
    if info.ranking is not None and not info.ranking.generates:
        raise _wrong_task(
            info,
            "reranks documents and generates no text; send them to /v1/rerank or rerank(), or use "
            "a chat model",
        )


def embedding_of(info: EngineInfo) -> EmbeddingInfo:
    """Return how a model makes embeddings. Raises `InvalidRequest` for one that makes none."""
    if info.embedding is None:
        does = _does(info)
        raise _wrong_task(
            info,
            f"{does} and computes no embeddings; use an embedding model"
            + (", or start it with --pooling last or mean" if does == _GENERATES else ""),
        )
    return info.embedding


def ranking_of(info: EngineInfo) -> RankingInfo:
    """Return how a model scores documents. Raises `InvalidRequest` for one that is no reranker."""
    if info.ranking is None:
        raise _wrong_task(
            info,
            f"{_does(info)} and reranks no documents; use a reranker, such as Qwen3-Reranker",
        )
    return info.ranking


_GENERATES = "generates text"


def _does(info: EngineInfo) -> str:
    if info.embedding is not None and not info.embedding.generates:
        return "computes embeddings"
    return "reranks documents" if info.ranking and not info.ranking.generates else _GENERATES


def _wrong_task(info: EngineInfo, what: str) -> InvalidRequest:
    return InvalidRequest(
        f"the model {info.model!r} {what}", param="model", code="unsupported_endpoint"
    )
