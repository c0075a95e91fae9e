"""`POST /v1/responses`, and stored responses by id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from yaie.base.errors import InvalidRequest
from yaie.server.http.body import json_reply
from yaie.server.http.http_errors import NotFound
from yaie.server.http.openapi import EVENTS
from yaie.server.responses_api.output_items import Cuts, replay
from yaie.server.responses_api.response_object import ResponseObject, number_events
from yaie.server.responses_api.response_store import StoreAccess
from yaie.server.responses_api.responses_translation import count_response_tokens, respond
from yaie.server.routes.endpoint import Endpoint, TokenEndpoint
from yaie.server.schemas.reply_struct import describe_reply
from yaie.server.schemas.response_replies import (
    DeletedResponse,
    InputItems,
    ResponseDocument,
)
from yaie.server.schemas.responses import ResponsesBody
from yaie.server.schemas.tokens import ResponseInputTokens

router = APIRouter(tags=["responses"])
MAX_PAGE = 100


def _place(request: Request) -> StoreAccess:
    """Return the store, and the tenant of a request: its key. Without keys all are one tenant."""
    return StoreAccess(request.app.state.stored_responses, getattr(request.state, "tenant", ""))


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


def _query(**types: str) -> dict[str, Any]:
    """Return the query parameters for the OpenAPI page; the handlers read them themselves."""
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": {"type": kind}}
            for name, kind in types.items()
        ]
    }


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
    openapi_extra=_query(stream="boolean", starting_after="integer"),
    responses=RESPONSES.answers,
)
async def get_response(request: Request, response_id: str) -> Response:
    """Return a stored response, or one in progress; with `stream` as the events of its stream.

    A stream begins after the event with the number `starting_after`.
    """
    place = _place(request)
    after = _read_start(request.query_params)
    document = place.store.document(place.tenant, response_id)
    running = place.store.running(place.tenant, response_id) if document is None else None
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
    """Remove a stored response; later turns of its conversation keep its items."""
    place = _place(request)
    if not place.store.delete(place.tenant, response_id):
        raise _no_such_response(response_id)
    return json_reply(DeletedResponse(id=response_id))


@router.post(
    "/v1/responses/{response_id}/cancel", responses={200: describe_reply(ResponseDocument)}
)
async def cancel_response(request: Request, response_id: str) -> Response:
    """Cancel a response in progress; return a finished one as it is."""
    place = _place(request)
    running = place.store.running(place.tenant, response_id)
    document = (
        place.store.document(place.tenant, response_id) if running is None else running.cancel()
    )
    if document is None:
        raise _no_such_response(response_id)
    return _json(document)


@router.head("/v1/responses/{response_id}/input_items", include_in_schema=False)
@router.get(
    "/v1/responses/{response_id}/input_items",
    openapi_extra=_query(order="string", after="string", limit="integer"),
    responses={200: describe_reply(InputItems)},
)
async def list_input_items(request: Request, response_id: str) -> Response:
    """List the items that the model saw: earlier turns, then this turn's input."""
    place = _place(request)
    link = place.store.link(place.tenant, response_id)
    if link is None:
        raise _no_such_response(response_id)
    return json_reply(_page(link.input_items(), request.query_params))


def _page(items: list[Any], query: Mapping[str, str]) -> InputItems:
    """Return a page of a list by the parameters `order`, `after` and `limit`."""
    order, limit, after = query.get("order", "desc"), query.get("limit", "20"), query.get("after")
    if order not in ("asc", "desc"):
        raise InvalidRequest("order must be 'asc' or 'desc'", param="order")
    if not re.fullmatch(r"[0-9]{1,3}", limit, re.ASCII) or not 1 <= int(limit) <= MAX_PAGE:
        raise InvalidRequest(f"limit must be between 1 and {MAX_PAGE}", param="limit")
    if order == "desc":
        items = items[::-1]
    if after is not None:
        at = next((at for at, item in enumerate(items) if item["id"] == after), None)
        if at is None:
            raise InvalidRequest(
                f"after is {after[:80]!r}, which is not in the list", param="after"
            )
        items = items[at + 1 :]
    shown = items[: int(limit)]
    return InputItems(
        data=shown,
        first_id=shown[0]["id"] if shown else None,
        last_id=shown[-1]["id"] if shown else None,
        has_more=len(shown) < len(items),
    )


def _json(document: bytes) -> Response:
    return Response(document, media_type="application/json")


def _no_such_response(response_id: str) -> NotFound:
    return NotFound(
        f"the response {response_id[:80]!r} is not stored or has expired; a response is stored "
        f"unless its request sets store to false",
        param="response_id",
    )
