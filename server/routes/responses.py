"""`POST /v1/responses`, and stored responses by id."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from server.endpoint import Endpoint
from server.errors import NotFound
from server.responses.response_object import ResponseObject
from server.schemas.responses import Place, ResponsesBody
from server.service import Service
from server.turns.translate import respond

router = APIRouter(tags=["responses"])


def _place(request: Request) -> Place:
    """Return the store, and the tenant of a request: its key. Without keys all are one tenant."""
    service: Service = request.app.state.service
    return Place(service.stored_responses, getattr(request.state, "tenant", ""))


RESPONSES = Endpoint(
    ResponsesBody,
    respond,
    ResponseObject,
    lambda request, body: body.at(_place(request)),
)


@router.post("/v1/responses", openapi_extra=RESPONSES.openapi, responses=RESPONSES.answers)
async def create_response(request: Request) -> Response:
    """Answer a conversation with output items."""
    return await RESPONSES.answer(request)


@router.head("/v1/responses/{response_id}", include_in_schema=False)
@router.get("/v1/responses/{response_id}")
async def get_response(request: Request, response_id: str) -> Response:
    """Return a stored response."""
    place = _place(request)
    document = place.store.document(place.tenant, response_id)
    if document is None:
        raise _no_such_response(response_id)
    return Response(document, media_type="application/json")


@router.delete("/v1/responses/{response_id}")
async def delete_response(request: Request, response_id: str) -> Response:
    """Remove a stored response; later turns of its conversation keep its items."""
    place = _place(request)
    if not place.store.delete(place.tenant, response_id):
        raise _no_such_response(response_id)
    deleted = {"id": response_id, "object": "response", "deleted": True}
    return Response(msgspec.json.encode(deleted), media_type="application/json")


def _no_such_response(response_id: str) -> NotFound:
    return NotFound(
        f"the response {response_id[:80]!r} is not stored here (any more); a response is stored "
        "unless its request has store false",
        param="response_id",
    )
