"""`POST /v1/chat/completions` and `POST /v1/completions`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.server.replies.chat import ChatReply
from yaie.server.replies.completions import CompletionReply
from yaie.server.requests.translator import Translator
from yaie.server.routes.endpoint import Endpoint
from yaie.server.schemas.chat import ChatBody
from yaie.server.schemas.completions import CompletionBody

router = APIRouter(tags=["completions"])
CHAT = Endpoint(
    ChatBody,
    Translator.chat,
    ChatReply,
    examples={
        "question": {"messages": [{"role": "user", "content": "What is a radix tree?"}]},
        "stream": {
            "messages": [
                {"role": "system", "content": "Answer briefly."},
                {"role": "user", "content": "What is a slot?"},
            ],
            "max_tokens": 64,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
    },
)
COMPLETION = Endpoint(
    CompletionBody,
    Translator.completion,
    CompletionReply,
    examples={
        "prompt": {"prompt": "The tree is", "max_tokens": 8},
        "several": {"prompt": ["The tree is", "The batch is"], "n": 2, "max_tokens": 8},
    },
)


@router.post("/v1/chat/completions", openapi_extra=CHAT.openapi, responses=CHAT.answers)
async def create_chat_completion(request: Request) -> Response:
    """Answer a conversation."""
    return await CHAT.answer(request)


@router.post("/v1/completions", openapi_extra=COMPLETION.openapi, responses=COMPLETION.answers)
async def create_completion(request: Request) -> Response:
    """Continue one or several prompts."""
    return await COMPLETION.answer(request)
