"""`GET /v1/tools` and `POST /v1/tools/execute`: functions that the operator registered."""

from __future__ import annotations

import hmac

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.base.errors import AuthenticationFailed, InvalidRequest
from yaie.base.sliced_json import parse_body
from yaie.server.http.body import json_reply, parse_off_loop, read_body
from yaie.server.http.http_errors import NotFound
from yaie.server.models.service import Service
from yaie.server.schemas.operator_tools import ExecuteBody, ToolList, ToolReply
from yaie.server.schemas.reply_struct import describe_reply

router = APIRouter(tags=["tools"])
TOOL_KEY = "X-Tool-Key"
_EXAMPLE = {"name": "get_weather", "arguments": {"city": "Paris"}}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": ExecuteBody.model_json_schema(),
                "examples": {"weather": {"value": _EXAMPLE}},
            }
        },
    }
}


@router.head("/v1/tools", include_in_schema=False)
@router.get("/v1/tools", responses={200: describe_reply(ToolList)})
async def list_tools(request: Request) -> Response:
    """List the functions that the operator registered, and the models' forms of tool calls."""
    service = _service(request)
    parsers = {
        name: model.abilities.tool_format if model.abilities else None
        for name, model in service.models.items()
    }
    return json_reply(
        ToolList(
            data=request.app.state.operator_tools.describe(),
            parsers=parsers,
            execution=bool(service.settings.tool_key),
        )
    )


@router.post("/v1/tools/execute", openapi_extra=_BODY, responses={200: describe_reply(ToolReply)})
async def execute_tool(request: Request) -> Response:
    """Run a registered function with checked arguments. Needs the header `X-Tool-Key`.

    Raises `NotFound`, `AuthenticationFailed`, `InvalidRequest`, `Overloaded` or `RequestTimedOut`.
    """
    service = _service(request)
    key = service.settings.tool_key
    if not key:
        raise NotFound("server-side functions are disabled; start the server with YAIE_TOOL_KEY")
    if not hmac.compare_digest(request.headers.get(TOOL_KEY, "").encode(), key.encode()):
        raise AuthenticationFailed(
            f"the tool key is wrong or missing; send {TOOL_KEY}: <YAIE_TOOL_KEY>"
        )
    body = await read_body(request, ExecuteBody)
    arguments = body.arguments
    if isinstance(arguments, str):
        raw = arguments.encode() or b"{}"
        arguments = await parse_off_loop(lambda: parse_body(raw), len(raw))
        if not isinstance(arguments, dict):
            raise InvalidRequest("arguments must be a JSON object", param="arguments")
    result = await request.app.state.operator_tools.execute(body.name, arguments)
    return json_reply(ToolReply(name=body.name, content=result.content, is_error=result.is_error))


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    if not service.settings.tools:
        raise NotFound("tools are disabled (YAIE_TOOLS)")
    return service
