"""`DELETE /v1/requests/{id}`: the end of a running request by its id."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.server.http.body import json_reply
from yaie.server.http.http_errors import NotFound
from yaie.server.models.service import Service
from yaie.server.schemas.reply_struct import ReplyStruct, describe_reply

router = APIRouter(tags=["completions"])


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
