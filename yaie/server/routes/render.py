"""`POST /v1/chat/completions/render` and `POST /v1/completions/render`.

Requests as the engine would get them, for routers that know the prefixes of several engines.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.server.routes.completions import CHAT, COMPLETION
from yaie.server.schemas.generation_replies import RenderedRequest
from yaie.server.schemas.reply_struct import describe_reply

router = APIRouter(tags=["render"])


@router.post(
    "/v1/chat/completions/render",
    openapi_extra=CHAT.openapi,
    responses={200: describe_reply(RenderedRequest)},
)
async def render_chat_completion(request: Request) -> Response:
    """Return the token ids of a conversation, and its sampling parameters."""
    return await CHAT.render(request, only=True)


@router.post(
    "/v1/completions/render",
    openapi_extra=COMPLETION.openapi,
    responses={200: describe_reply(RenderedRequest, is_list=True)},
)
async def render_completion(request: Request) -> Response:
    """Return the token ids of each prompt, and its sampling parameters."""
    return await COMPLETION.render(request)
