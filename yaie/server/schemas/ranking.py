"""Bodies and replies of `POST /v1/rerank` and `POST /v1/score`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict

from yaie.server.schemas import unused
from yaie.server.schemas.base import Extension, Unused
from yaie.server.schemas.embeddings import EmbeddingUsage
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.server.schemas.scheduled_body import ScheduledBody
from yaie.server.schemas.shared_fields import WholeNumber

_TEXT = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    ]
}
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


class RankingBody(ScheduledBody):
    """Fields of both bodies."""

    unused: ClassVar[Mapping[str, Unused]] = {each.name: each for each in unused.RANKING}

    instruction: Annotated[
        str | None,
        Extension(
            "What makes a document relevant, for models that read it: Qwen3-Reranker, "
            "bge-reranker-v2-gemma.",
            "the model's",
            example="Retrieve passages that answer the query",
        ),
    ] = None
    truncate: Annotated[
        bool | None,
        Extension("Cut the end of documents beyond the context.", "false", example=True),
    ] = None
    user: Annotated[
        str | None,
        Extension("On a server without API keys: the tenant, for fair shares.", example="someone"),
    ] = None


class RerankBody(RankingBody):
    """A query and documents, as Jina's and Cohere's clients send them."""

    unused: ClassVar[Mapping[str, Unused]] = {
        **RankingBody.unused,
        **{each.name: each for each in unused.RERANK},
    }

    # `make_rerank_call` checks that they are there and names their forms.
    model_config = ConfigDict(json_schema_extra={"required": ["query", "documents"]})

    query: Annotated[
        Any,
        Extension(
            "A string, or an object with a `text`.",
            "required",
            example="What is a radix tree?",
            schema=_TEXT,
        ),
    ] = None
    documents: Annotated[
        Any,
        Extension(
            "A list of up to 2,048 strings or objects with a `text`.",
            "required",
            example=["A tree of prefixes.", "A kind of root."],
            schema={"type": "array", "items": _TEXT},
        ),
    ] = None
    top_n: Annotated[
        WholeNumber | None,
        Extension("Return this many of the best results.", "all", example=1),
    ] = None
    return_documents: Annotated[
        bool | None,
        Extension("Repeat the document in each result.", "true", example=False),
    ] = None


class ScoreBody(RankingBody):
    """Pairs of texts, as vLLM's clients send them."""

    unused: ClassVar[Mapping[str, Unused]] = {
        **RankingBody.unused,
        **{each.name: each for each in unused.SCORE},
    }

    model_config = ConfigDict(json_schema_extra={"required": ["text_1", "text_2"]})

    text_1: Annotated[
        Any,
        Extension(
            "A query, or a list of queries, one for each text of `text_2`.",
            "required",
            example="What is a radix tree?",
            schema=_TEXTS,
        ),
    ] = None
    text_2: Annotated[
        Any,
        Extension(
            "A document, or a list of up to 2,048 documents.",
            "required",
            example=["A tree of prefixes.", "A kind of root."],
            schema=_TEXTS,
        ),
    ] = None


class RankedText(ReplyStruct, kw_only=True):
    """A document as it was sent."""

    text: str


class RerankResult(ReplyStruct, kw_only=True):
    """Relevance of one document."""

    index: int
    """Its place in the request."""
    relevance_score: float
    document: RankedText | None = None


class RerankReply(ReplyStruct, kw_only=True):
    """The best documents, best first."""

    id: str
    model: str
    results: list[RerankResult]
    usage: EmbeddingUsage


class TextScore(ReplyStruct, kw_only=True):
    """Score of one pair."""

    object: Literal["score"] = "score"
    index: int
    score: float


class ScoreReply(ReplyStruct, kw_only=True):
    """Scores of the pairs, in their order."""

    id: str
    object: Literal["list"] = "list"
    created: int
    model: str
    data: list[TextScore]
    usage: EmbeddingUsage
