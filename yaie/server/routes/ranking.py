"""`POST /v1/rerank` and `POST /v1/score`, under the paths of other servers too."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.server.replies.ranking import PairScores, RankedDocuments
from yaie.server.requests.translator import Translator
from yaie.server.routes.endpoint import Endpoint
from yaie.server.schemas.ranking import RerankBody, RerankReply, ScoreBody, ScoreReply
from yaie.server.schemas.reply_struct import describe_reply

router = APIRouter(tags=["rerank"])
_DOCUMENTS = ["A tree of prefixes.", "A kind of root."]
RERANK = Endpoint(
    RerankBody,
    Translator.ranking,
    RankedDocuments,
    examples={
        "texts": {"query": "What is a radix tree?", "documents": _DOCUMENTS, "top_n": 1},
        "objects": {"query": "roots", "documents": [{"text": each} for each in _DOCUMENTS]},
    },
)
SCORE = Endpoint(
    ScoreBody,
    Translator.ranking,
    PairScores,
    examples={"one query": {"text_1": "What is a radix tree?", "text_2": _DOCUMENTS}},
)


@router.post(
    "/v1/rerank", openapi_extra=RERANK.openapi, responses={200: describe_reply(RerankReply)}
)
async def rerank(request: Request) -> Response:
    """Return documents by their relevance to a query, by a reranker."""
    return await RERANK.answer(request)


@router.post("/v1/score", openapi_extra=SCORE.openapi, responses={200: describe_reply(ScoreReply)})
async def score(request: Request) -> Response:
    """Return the scores of pairs of texts, by a reranker."""
    return await SCORE.answer(request)


for _path in ("/rerank", "/v2/rerank"):
    router.post(_path, include_in_schema=False)(rerank)
router.post("/score", include_in_schema=False)(score)
