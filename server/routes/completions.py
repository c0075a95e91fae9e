"""`POST /v1/chat/completions` and `POST /v1/completions`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.endpoint import Endpoint
from server.responses.chat import ChatResponse
from server.responses.completions import CompletionResponse
from server.schemas.chat import ChatBody
from server.schemas.completions import CompletionBody
from server.translate import Translator

router = APIRouter(tags=["completions"])
CHAT = Endpoint(ChatBody, Translator.chat, ChatResponse)
COMPLETION = Endpoint(CompletionBody, Translator.completion, CompletionResponse)


@router.post("/v1/chat/completions", openapi_extra=CHAT.openapi)
async def create_chat_completion(request: Request) -> Response:
    """Answer a conversation."""
    return await CHAT.answer(request)


@router.post("/v1/completions", openapi_extra=COMPLETION.openapi)
async def create_completion(request: Request) -> Response:
    """Continue one or several prompts."""
    return await COMPLETION.answer(request)
