"""`POST /v1/count_tokens`, `POST /tokenize` and `POST /detokenize`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.server.requests.token_counts import count_tokens, detokenize, tokenize
from yaie.server.routes.endpoint import TokenEndpoint
from yaie.server.schemas.reply_struct import describe_reply
from yaie.server.schemas.tokens import (
    CachedTokenCount,
    CountedBody,
    DetokenizeBody,
    DetokenizedText,
    TokenizeBody,
    TokenList,
)

router = APIRouter(tags=["tokens"])
_TEXT = {"prompt": "What is a radix tree?"}
_CHAT = {"messages": [{"role": "user", "content": "What is a radix tree?"}]}
COUNT = TokenEndpoint(
    CountedBody,
    count_tokens,
    {
        "text": _TEXT,
        "messages": _CHAT,
        "conversation": {"conversation": _CHAT["messages"], "return_cached_tokens": True},
    },
)
TOKENIZE = TokenEndpoint(
    TokenizeBody,
    tokenize,
    {"text": _TEXT | {"return_token_strs": True}, "conversation": _CHAT},
)
DETOKENIZE = TokenEndpoint(
    DetokenizeBody, detokenize, {"two": {"tokens": [5, 6]}, "none": {"tokens": []}}
)


@router.post(
    "/v1/count_tokens",
    openapi_extra=COUNT.openapi,
    responses={200: describe_reply(CachedTokenCount)},
)
async def count_prompt_tokens(request: Request) -> Response:
    """Count the tokens of a chat or text completion's prompt."""
    return await COUNT.answer(request)


@router.post(
    "/tokenize", openapi_extra=TOKENIZE.openapi, responses={200: describe_reply(TokenList)}
)
async def tokenize_prompt(request: Request) -> Response:
    """Return the tokens of a text or conversation."""
    return await TOKENIZE.answer(request)


@router.post(
    "/detokenize",
    openapi_extra=DETOKENIZE.openapi,
    responses={200: describe_reply(DetokenizedText)},
)
async def detokenize_tokens(request: Request) -> Response:
    """Return the text of tokens."""
    return await DETOKENIZE.answer(request)
