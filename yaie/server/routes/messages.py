"""`POST /v1/messages` and `POST /v1/messages/count_tokens`: Anthropic's API."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.server.anthropic.message_reply import MessageReply
from yaie.server.anthropic.messages_translation import count_messages_tokens, messages_call
from yaie.server.routes.endpoint import Endpoint, TokenEndpoint
from yaie.server.schemas.messages import CountedMessagesBody, MessagesBody
from yaie.server.schemas.reply_struct import describe_reply
from yaie.server.schemas.tokens import InputTokenCount

router = APIRouter(tags=["messages"])
_QUESTION = {"messages": [{"role": "user", "content": "What is a radix tree?"}]}
_TOOL = {
    "name": "find",
    "description": "Find a page",
    "input_schema": {"type": "object", "properties": {"topic": {"type": "string"}}},
}
MESSAGES = Endpoint(
    MessagesBody,
    messages_call,
    MessageReply,
    examples={
        "question": _QUESTION | {"max_tokens": 64},
        "stream": _QUESTION | {"max_tokens": 64, "system": "Answer briefly.", "stream": True},
        "tools": _QUESTION | {"max_tokens": 64, "tools": [_TOOL]},
    },
)
COUNT = TokenEndpoint(
    CountedMessagesBody,
    count_messages_tokens,
    {"question": _QUESTION, "tools": _QUESTION | {"tools": [_TOOL]}},
)


@router.post("/v1/messages", openapi_extra=MESSAGES.openapi, responses=MESSAGES.answers)
async def create_message(request: Request) -> Response:
    """Answer a conversation in Anthropic's form."""
    return await MESSAGES.answer(request)


@router.post(
    "/v1/messages/count_tokens",
    tags=["tokens"],
    openapi_extra=COUNT.openapi,
    responses={200: describe_reply(InputTokenCount)},
)
async def count_message_tokens(request: Request) -> Response:
    """Count the input tokens of a request for a message."""
    return await COUNT.answer(request)
