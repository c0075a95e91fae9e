"""`/v1/batches`: files of requests that run while the server has room."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.server.http.body import json_reply, read_body
from yaie.server.routes.files import jobs_of
from yaie.server.routes.list_pages import list_parameters, take_page
from yaie.server.schemas.batches import BatchList, BatchObject, CreateBatchBody
from yaie.server.schemas.reply_struct import describe_reply

router = APIRouter(tags=["batches"])
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": CreateBatchBody.model_json_schema(),
                "examples": {
                    "chats": {
                        "value": {
                            "input_file_id": "file-abc123",
                            "endpoint": "/v1/chat/completions",
                            "completion_window": "24h",
                        }
                    }
                },
            }
        },
    }
}
_BATCH: dict[int | str, Any] = {200: describe_reply(BatchObject)}


@router.post("/v1/batches", openapi_extra=_BODY, responses=_BATCH)
async def create_batch(request: Request) -> Response:
    """Begin a batch over an uploaded file. Its requests run after live requests."""
    jobs, owner = jobs_of(request)
    body = await read_body(request, CreateBatchBody)
    return json_reply(jobs.create(body, owner))


@router.head("/v1/batches", include_in_schema=False)
@router.get(
    "/v1/batches",
    openapi_extra=list_parameters(after="string", limit="integer"),
    responses={200: describe_reply(BatchList)},
)
async def list_batches(request: Request) -> Response:
    """List the batches of the key's owner, newest first."""
    jobs, owner = jobs_of(request)
    page = take_page(jobs.listed(owner), request.query_params, lambda batch: batch.id)
    return json_reply(
        BatchList(
            data=page.items, first_id=page.first_id, last_id=page.last_id, has_more=page.has_more
        )
    )


@router.head("/v1/batches/{batch_id}", include_in_schema=False)
@router.get("/v1/batches/{batch_id}", responses=_BATCH)
async def get_batch(request: Request, batch_id: str) -> Response:
    """Return a batch: its status, its counts, and the ids of its files once it has ended."""
    jobs, owner = jobs_of(request)
    return json_reply(jobs.find(batch_id, owner))


@router.post("/v1/batches/{batch_id}/cancel", responses=_BATCH)
async def cancel_batch(request: Request, batch_id: str) -> Response:
    """Cancel a batch. Its results so far become its files; an ended batch stays as it is."""
    jobs, owner = jobs_of(request)
    return json_reply(jobs.cancel(batch_id, owner))
