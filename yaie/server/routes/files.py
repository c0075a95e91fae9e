"""`/v1/files`: uploaded inputs and results of batches."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import UploadFile
from starlette.responses import FileResponse, Response
from starlette.types import Message, Receive

from yaie.base.errors import InvalidRequest
from yaie.server.batches.batch_jobs import BatchJobs
from yaie.server.batches.file_store import FORM_BYTES, MAX_FILES, Upload
from yaie.server.batches.record_folder import unwritable_disk
from yaie.server.http.body import NDJSON, json_reply
from yaie.server.http.http_errors import NotFound, WrongMediaType
from yaie.server.routes.list_pages import list_parameters, take_page
from yaie.server.schemas.batches import DeletedFile, FileList, FileObject
from yaie.server.schemas.reply_struct import describe_reply

router = APIRouter(tags=["batches"])
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "purpose"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "purpose": {"type": "string", "enum": ["batch"]},
                    },
                }
            }
        },
    }
}
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Content of the file",
        "content": {NDJSON: {"schema": {"type": "string"}}},
    }
}


def jobs_of(request: Request) -> tuple[BatchJobs, str]:
    """Return the batches of a server, and the owner: the tenant of the key, or empty.

    Raises `NotFound` if they are disabled.
    """
    jobs: BatchJobs | None = request.app.state.batch_jobs
    if jobs is None:
        raise NotFound(
            "files and batches are disabled; start the server with --batch-dir FOLDER "
            "(YAIE_BATCH_DIR), which stores them",
            code="batches_disabled",
        )
    return jobs, getattr(request.state, "tenant", "")


@router.post("/v1/files", openapi_extra=_FORM, responses={200: describe_reply(FileObject)})
async def upload_file(request: Request) -> Response:
    """Store an input file of a batch, sent as a form with `file` and `purpose`."""
    jobs, owner = jobs_of(request)
    kind = request.headers.get("content-type", "")
    if not kind.lower().startswith("multipart/form-data"):
        raise WrongMediaType(
            f"the content type is {kind[:80]!r}; send a form (multipart/form-data) with the fields "
            "file and purpose"
        )
    with jobs.files.uploading(_least_bytes(request), owner) as upload:
        counted = Request(request.scope, _counting(request.receive, jobs, upload))
        return json_reply(await _store(counted, jobs, upload))


def _least_bytes(request: Request) -> int:
    """Return the least size of the file in a form, by the form's length; 0 if it has none."""
    declared = request.headers.get("content-length", "")
    return max(0, int(declared) - FORM_BYTES) if declared.isdecimal() else 0


def _counting(receive: Receive, jobs: BatchJobs, upload: Upload) -> Receive:
    """Return `receive` with room reserved for what arrives, as of a form of unknown length."""
    num_bytes = 0

    async def receive_counted() -> Message:
        nonlocal num_bytes
        message = await receive()
        num_bytes += len(message.get("body", b""))
        jobs.files.grow(upload, num_bytes - FORM_BYTES)
        return message

    return receive_counted


async def _store(request: Request, jobs: BatchJobs, upload: Upload) -> FileObject:
    async with contextlib.AsyncExitStack() as opened:
        with unwritable_disk(Path(os.environ.get("TMPDIR", "/tmp"))):  # of a large file
            form = await opened.enter_async_context(request.form(max_files=1, max_fields=16))
        file, purpose = form.get("file"), form.get("purpose")
        if not isinstance(file, UploadFile):
            raise InvalidRequest("the form has no file; send one as the field 'file'", param="file")
        if purpose != "batch":
            raise InvalidRequest("purpose must be 'batch'", param="purpose")
        name, size = file.filename or "", file.size or 0
        return await asyncio.to_thread(jobs.files.add, upload, file.file, size, name)


@router.head("/v1/files", include_in_schema=False)
@router.get(
    "/v1/files",
    openapi_extra=list_parameters(
        purpose="string", order="string", after="string", limit="integer"
    ),
    responses={200: describe_reply(FileList)},
)
async def list_files(request: Request) -> Response:
    """List the files of the key's owner."""
    jobs, owner = jobs_of(request)
    query = request.query_params
    files = [
        each
        for each in jobs.files.listed(owner)
        if query.get("purpose", each.purpose) == each.purpose
    ]
    page = take_page(files, query, lambda file: file.id, most=10_000, default=MAX_FILES)
    return json_reply(
        FileList(
            data=page.items, first_id=page.first_id, last_id=page.last_id, has_more=page.has_more
        )
    )


@router.head("/v1/files/{file_id}", include_in_schema=False)
@router.get("/v1/files/{file_id}", responses={200: describe_reply(FileObject)})
async def get_file(request: Request, file_id: str) -> Response:
    """Return a file's name, size and purpose."""
    jobs, owner = jobs_of(request)
    return json_reply(jobs.files.find(file_id, owner))


@router.head("/v1/files/{file_id}/content", include_in_schema=False)
@router.get("/v1/files/{file_id}/content", responses=_CONTENT, response_class=FileResponse)
async def get_file_content(request: Request, file_id: str) -> Response:
    """Return a file's content."""
    jobs, owner = jobs_of(request)
    return FileResponse(jobs.files.path(file_id, owner), media_type=NDJSON)


@router.delete("/v1/files/{file_id}", responses={200: describe_reply(DeletedFile)})
async def delete_file(request: Request, file_id: str) -> Response:
    """Remove a file, unless an unfinished batch needs it."""
    jobs, owner = jobs_of(request)
    jobs.delete_file(file_id, owner)
    return json_reply(DeletedFile(id=file_id))
