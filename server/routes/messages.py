"""`POST /v1/messages`: Anthropic's API."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.endpoint import Endpoint
from server.responses.messages import MessagesResponse
from server.schemas.messages import MessagesBody
from server.translate_messages import messages_call

router = APIRouter(tags=["messages"])
MESSAGES = Endpoint(MessagesBody, messages_call, MessagesResponse)


@router.post("/v1/messages", openapi_extra=MESSAGES.openapi, responses=MESSAGES.answers)
async def create_message(request: Request) -> Response:
    """Answer a conversation in Anthropic's form."""
    return await MESSAGES.answer(request)
