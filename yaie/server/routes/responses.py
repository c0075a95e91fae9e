"""`POST /v1/responses`, and stored responses by id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from yaie.base.errors import InvalidRequest
from yaie.server.http.body import EVENTS, json_reply
from yaie.server.http.http_errors import NotFound
from yaie.server.responses_api.output_items import Cuts, replay
from yaie.server.responses_api.response_object import ResponseObject, number_events
from yaie.server.responses_api.response_store import Link, RunningResponse, StoreAccess
from yaie.server.responses_api.responses_translation import (
    ResponseInProgress,
    count_response_tokens,
    respond,
)
from yaie.server.routes.endpoint import Endpoint, TokenEndpoint
from yaie.server.routes.list_pages import list_parameters, take_page
from yaie.server.schemas.reply_struct import describe_reply
from yaie.server.schemas.response_replies import (
    DeletedResponse,
    InputItems,
    ResponseDocument,
)
from yaie.server.schemas.responses import ResponsesBody
from yaie.server.schemas.tokens import ResponseInputTokens

router = APIRouter(tags=["responses"])


def _place(request: Request) -> StoreAccess:
    """Return the store, and the tenant of a request: its key. Without keys all are one tenant."""
    state = request.state
    return StoreAccess(
        request.app.state.stored_responses,
        tenant=getattr(state, "tenant", ""),
        share=state.body_share,
        max_item_bytes=request.app.state.service.settings.max_body_bytes,
        is_in_batch=getattr(state, "is_in_batch", False),
    )


RESPONSES = Endpoint(
    ResponsesBody,
    respond,
    ResponseObject,
    lambda request, body: body.at(_place(request)),
    examples={
        "question": {"input": "What is a radix tree?"},
        "stream": {
            "instructions": "Answer briefly.",
            "input": [{"role": "user", "content": "What is a slot?"}],
            "max_output_tokens": 64,
            "stream": True,
        },
    },
)


COUNT = TokenEndpoint(
    ResponsesBody,
    count_response_tokens,
    {"question": {"input": "What is a radix tree?"}},
    lambda request, body: body.at(_place(request)),
)


@router.post("/v1/responses", openapi_extra=RESPONSES.openapi, responses=RESPONSES.answers)
async def create_response(request: Request) -> Response:
    """Answer a conversation with output items."""
    return await RESPONSES.answer(request)


@router.post(
    "/v1/responses/input_tokens",
    tags=["tokens"],
    openapi_extra=COUNT.openapi,
    responses={200: describe_reply(ResponseInputTokens)},
)
async def count_input_tokens(request: Request) -> Response:
    """Count the input tokens of a request for a response."""
    return await COUNT.answer(request)


@router.post("/v1/responses/compact", include_in_schema=False)
async def refuse_compaction(request: Request) -> Response:
    """Refuse with 400: no model here reads a compacted conversation. Raises `InvalidRequest`."""
    raise InvalidRequest(
        "compaction is not supported, since it is an encrypted summary for OpenAI's models. Set "
        "truncation to 'auto' to drop the oldest turns, or send a shorter input",
        code="unsupported_endpoint",
    )


@router.head("/v1/responses/{response_id}", include_in_schema=False)
@router.get(
    "/v1/responses/{response_id}",
    openapi_extra=list_parameters(stream="boolean", starting_after="integer"),
    responses=RESPONSES.answers,
)
async def get_response(request: Request, response_id: str) -> Response:
    """Return a stored response, or one in progress; with `stream` as the events of its stream.

    A stream begins after the event with the number `starting_after`.
    """
    place = _place(request)
    after = _read_start(request.query_params)
    running = place.store.running(place.tenant, response_id)  # first: it may end now
    document = place.store.document(place.tenant, response_id)
    if document is not None:
        if after is None:
            return _json(document)
        cuts = msgspec.json.decode(place.store.cuts(place.tenant, response_id), type=Cuts)
        events = number_events(replay(msgspec.json.decode(document), cuts))
        return StreamingResponse(islice(events, after + 1, None), media_type=EVENTS)
    if running is None:
        raise _no_such_response(response_id)
    if after is None:
        return _json(running.so_far())
    return StreamingResponse(running.follow(after), media_type=EVENTS)


def _read_start(query: Mapping[str, str]) -> int | None:
    """Return the number of the event before the stream, -1 for a whole one; None without one."""
    if query.get("stream", "false").lower() in ("", "0", "false"):
        return None
    after = query.get("starting_after", "")
    if not re.fullmatch(r"[0-9]{0,9}", after, re.ASCII):
        raise InvalidRequest(
            f"starting_after must be the number of an event, got {after[:40]!r}",
            param="starting_after",
        )
    return int(after) if after else -1


@router.delete("/v1/responses/{response_id}", responses={200: describe_reply(DeletedResponse)})
async def delete_response(request: Request, response_id: str) -> Response:
    """Remove a stored response; later turns of its conversation keep its items.

    Raises `ResponseInProgress` for one that has not ended.
    """
    place = _place(request)
    if place.store.running(place.tenant, response_id) is not None:
        raise ResponseInProgress(
            f"the response {response_id[:80]!r} is in progress; cancel it first, with POST "
            f"{request.url.path}/cancel",
            param="response_id",
        )
    if not place.store.delete(place.tenant, response_id):
        raise _no_such_response(response_id)
    return json_reply(DeletedResponse(id=response_id))


@router.post(
    "/v1/responses/{response_id}/cancel", responses={200: describe_reply(ResponseDocument)}
)
async def cancel_response(request: Request, response_id: str) -> Response:
    """Cancel a response in progress; return a finished background response as it is.

    Raises `InvalidRequest` for another finished response.
    """
    place = _place(request)
    running = place.store.running(place.tenant, response_id)
    if running is not None:
        return _json(running.cancel())
    document = place.store.document(place.tenant, response_id)
    if document is None:
        raise _no_such_response(response_id)
    found = msgspec.json.decode(document)
    if not found["background"] and found["status"] != "cancelled":
        raise InvalidRequest(
            f"the response {response_id[:80]!r} has ended, so it cannot be cancelled; GET it "
            "instead, or set background to true to cancel a response at any time",
            param="response_id",
        )
    return _json(document)


@router.head("/v1/responses/{response_id}/input_items", include_in_schema=False)
@router.get(
    "/v1/responses/{response_id}/input_items",
    openapi_extra=list_parameters(order="string", after="string", limit="integer"),
    responses={200: describe_reply(InputItems)},
)
async def list_input_items(request: Request, response_id: str) -> Response:
    """List the items that the model saw: earlier turns, then this turn's input."""
    place = _place(request)
    running = place.store.running(place.tenant, response_id)  # first: it may end now
    found = place.store.link(place.tenant, response_id) or running
    if found is None:
        raise _no_such_response(response_id)
    return await run_in_threadpool(_list_items, found, request.query_params)


def _list_items(found: Link | RunningResponse, query: Mapping[str, str]) -> Response:
    """Return a page of the items; a long conversation has megabytes."""
    items: list[Any] = found.input_items()
    page = take_page(items, query, lambda item: str(item["id"]))
    return json_reply(
        InputItems(
            data=page.items, first_id=page.first_id, last_id=page.last_id, has_more=page.has_more
        )
    )


def _json(document: bytes) -> Response:
    return Response(document, media_type="application/json")


def _no_such_response(response_id: str) -> NotFound:
    return NotFound(
        f"the response {response_id[:80]!r} is not stored or has expired; a response is stored "
        f"unless its request sets store to false",
        param="response_id",
    )
