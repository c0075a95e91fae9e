"""Bodies and replies of `/v1/files` and `/v1/batches`, with OpenAI's fields."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.server.schemas.shared_fields import Short

BatchStatus = Literal[
    "validating",
    "failed",
    "in_progress",
    "finalizing",
    "completed",
    "expired",
    "cancelling",
    "cancelled",
]
# A batch and its metadata stay in memory; the limits are OpenAI's.
_Key = Annotated[str, Field(max_length=64)]
_Value = Annotated[str, Field(max_length=512)]


class FileObject(ReplyStruct, kw_only=True):
    """Stored file."""

    id: str
    object: Literal["file"] = "file"
    bytes: int
    created_at: int
    """Unix time, seconds."""
    filename: str
    purpose: Literal["batch", "batch_output"]
    status: Literal["processed"] = "processed"


class FileList(ReplyStruct, kw_only=True):
    """Page of a client's files, newest first by default."""

    object: Literal["list"] = "list"
    data: list[FileObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class DeletedFile(ReplyStruct, kw_only=True):
    """Id of a deleted file."""

    id: str
    object: Literal["file"] = "file"
    deleted: bool = True


class CreateBatchBody(BaseModel):
    """A batch to run."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    input_file_id: str
    endpoint: str
    completion_window: str = "24h"
    metadata: Annotated[dict[_Key, _Value], Short, Field(max_length=16)] | None = None


class BatchProblem(ReplyStruct, kw_only=True):
    """Error of a batch, mostly in one line of its input."""

    code: str
    message: str
    line: int | None = None
    """Number from 1."""
    param: str | None = None


class BatchProblems(ReplyStruct, kw_only=True):
    """Errors of a batch that has failed."""

    object: Literal["list"] = "list"
    data: list[BatchProblem]


class BatchCounts(ReplyStruct, kw_only=True):
    """Numbers of requests in a batch."""

    total: int = 0
    completed: int = 0
    failed: int = 0


class BatchObject(ReplyStruct, kw_only=True):
    """Batch; its times are unix times in seconds."""

    id: str
    object: Literal["batch"] = "batch"
    endpoint: str
    errors: BatchProblems | None = None
    input_file_id: str
    completion_window: str
    status: BatchStatus = "validating"
    output_file_id: str | None = None
    """File of the results with an answer; null without one."""
    error_file_id: str | None = None
    """File of the results with an error; null without one."""
    created_at: int
    in_progress_at: int | None = None
    expires_at: int
    finalizing_at: int | None = None
    completed_at: int | None = None
    failed_at: int | None = None
    expired_at: int | None = None
    cancelling_at: int | None = None
    cancelled_at: int | None = None
    request_counts: BatchCounts = msgspec.field(default_factory=BatchCounts)
    metadata: dict[str, str] | None = None


class BatchList(ReplyStruct, kw_only=True):
    """Page of a client's batches, newest first."""

    object: Literal["list"] = "list"
    data: list[BatchObject]
    first_id: str | None
    last_id: str | None
    has_more: bool
