"""`POST /v1/chat/completions` and `POST /v1/completions`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from server.bodies import Body, read_body
from server.formats.chat import ChatForm
from server.formats.completions import CompletionForm
from server.schemas.chat import ChatBody
from server.schemas.completions import CompletionBody
from server.service import Service
from server.streaming import ClientGone, EventStream, answer_whole, unless_gone
from server.translate import Call, Translator

router = APIRouter(tags=["completions"])
CLIENT_CLOSED = 499  # never arrives; for the metrics


def _documented(schema: type[BaseModel]) -> dict[str, Any]:
    """The body for the OpenAPI page; the routes read it themselves."""
    described = schema.model_json_schema()
    # OpenAPI has no place for definitions inside a route.
    described["properties"]["stream_options"] = described.pop("$defs")["StreamOptions"]
    content = {"application/json": {"schema": described}}
    return {"requestBody": {"required": True, "content": content}}


@router.post("/v1/chat/completions", openapi_extra=_documented(ChatBody))
async def create_chat_completion(request: Request) -> Response:
    """Answer a conversation."""
    return await _create(request, ChatBody, Translator.chat, ChatForm)


@router.post("/v1/completions", openapi_extra=_documented(CompletionBody))
async def create_completion(request: Request) -> Response:
    """Continue one or several prompts."""
    return await _create(request, CompletionBody, Translator.completion, CompletionForm)


async def _create(
    request: Request,
    schema: type[Body],
    translate: Callable[[Translator, Body], Call],
    make_form: type[ChatForm] | type[CompletionForm],
) -> Response:
    service: Service = request.app.state.service
    with service.arriving():
        try:
            body = await read_body(request, schema)
        except ClientDisconnect:
            return Response(status_code=CLIENT_CLOSED)
        deadline = asyncio.get_running_loop().time() + service.settings.request_timeout_s
        try:
            # It may stand in line behind others, and nobody may be there any more when it is done.
            work = service.translated(translate, body, deadline)
            call = await unless_gone(request.receive, work)
        except ClientGone:
            return Response(status_code=CLIENT_CLOSED)
    return await _answer(request, service, call, make_form, deadline)


async def _answer(
    request: Request,
    service: Service,
    call: Call,
    make_form: type[ChatForm] | type[CompletionForm],
    deadline: float,
) -> Response:
    headers = {"X-YAIE-Ignored-Params": ", ".join(call.ignored)} if call.ignored else {}
    generation = service.open(call, request.state.request_id, deadline)
    is_streaming = False
    try:
        form = make_form(generation, service.tokenizer)
        if not call.stream:
            return await answer_whole(
                request.receive, generation, form, headers, service.write_in_thread
            )
        first = await unless_gone(request.receive, generation.next())
        is_streaming = True
        return EventStream(generation, form, first, headers, service.write_in_thread)
    except ClientGone:
        return Response(status_code=CLIENT_CLOSED)
    finally:
        if not is_streaming:
            await generation.close()
