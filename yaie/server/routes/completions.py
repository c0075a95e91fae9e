"""`/v1/chat/completions` and `/v1/completions`, their `/render` paths, and the end of a request.

A rendered request is the request that the engine would receive, for routers that know the prefixes
of several engines.
"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.server.http.body import json_reply
from yaie.server.http.http_errors import NotFound
from yaie.server.models.service import Service
from yaie.server.replies.chat import ChatReply
from yaie.server.replies.completions import CompletionReply
from yaie.server.requests.translator import Translator
from yaie.server.routes.endpoint import Endpoint
from yaie.server.schemas.chat import ChatBody
from yaie.server.schemas.completions import CompletionBody
from yaie.server.schemas.generation_replies import RenderedRequest
from yaie.server.schemas.reply_struct import ReplyStruct, describe_reply

router = APIRouter(tags=["completions"])
render_router = APIRouter(tags=["render"])
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


@render_router.post(
    "/v1/chat/completions/render",
    openapi_extra=CHAT.openapi,
    responses={200: describe_reply(RenderedRequest)},
)
async def render_chat_completion(request: Request) -> Response:
    """Return the token ids of a conversation, and its sampling parameters."""
    return await CHAT.render(request, only=True)


@render_router.post(
    "/v1/completions/render",
    openapi_extra=COMPLETION.openapi,
    responses={200: describe_reply(RenderedRequest, is_list=True)},
)
async def render_completion(request: Request) -> Response:
    """Return the token ids of each prompt, and its sampling parameters."""
    return await COMPLETION.render(request)


class AbortedRequest(ReplyStruct, kw_only=True):
    """Id of an aborted request."""

    id: str
    object: Literal["request.aborted"] = "request.aborted"
    aborted: bool = True


@router.delete("/v1/requests/{request_id}", responses={200: describe_reply(AbortedRequest)})
async def abort_request(request: Request, request_id: str) -> Response:
    """End a running request within one step; its answer has the finish reason `abort`.

    The id is the response id or the X-Request-ID.
    """
    service: Service = request.app.state.service
    if not service.active.abort(request_id, getattr(request.state, "tenant", None)):
        raise NotFound(
            f"no request with the id {request_id[:100]!r} is running; send the id of its response "
            "or its X-Request-ID"
        )
    return json_reply(AbortedRequest(id=request_id))
