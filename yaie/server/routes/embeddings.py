"""`POST /v1/embeddings`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.server.replies.embeddings import EmbeddingReply
from yaie.server.requests.translator import Translator
from yaie.server.routes.endpoint import Endpoint
from yaie.server.schemas.embeddings import EmbeddingBody, EmbeddingList
from yaie.server.schemas.reply_struct import describe_reply

router = APIRouter(tags=["embeddings"])
EMBEDDINGS = Endpoint(
    EmbeddingBody,
    Translator.embedding,
    EmbeddingReply,
    examples={
        "text": {"input": "What is a radix tree?"},
        "several": {
            "input": ["The tree is", "The batch is"],
            "encoding_format": "base64",
            "dimensions": 32,
        },
    },
)


@router.post(
    "/v1/embeddings",
    openapi_extra=EMBEDDINGS.openapi,
    responses={200: describe_reply(EmbeddingList)},
)
async def create_embeddings(request: Request) -> Response:
    """Return the vectors of texts, by an embedding model."""
    return await EMBEDDINGS.answer(request)
