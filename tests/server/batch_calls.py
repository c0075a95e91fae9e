"""Calls of `/v1/files` and `/v1/batches`, for tests."""

from __future__ import annotations

import json
import time
from typing import Any

from starlette.testclient import TestClient

from tests.batch.request_files import CHAT

_END_S = 20.0
Ended = ("completed", "failed", "cancelled", "expired")


def upload(http: TestClient, *lines: dict[str, Any], **headers: str) -> str:
    content = "".join(f"{json.dumps(line)}\n" for line in lines)
    reply = http.post(
        "/v1/files",
        files={"file": ("in.jsonl", content)},
        data={"purpose": "batch"},
        headers=headers,
    )
    assert reply.status_code == 200, reply.text
    return str(reply.json()["id"])


def create(http: TestClient, file_id: str, **fields: Any) -> dict[str, Any]:
    body = {"input_file_id": file_id, "endpoint": CHAT, "completion_window": "24h"} | fields
    reply = http.post("/v1/batches", json=body)
    assert reply.status_code == 200, reply.text
    batch: dict[str, Any] = reply.json()
    return batch


def wait(http: TestClient, batch_id: str, *statuses: str) -> dict[str, Any]:
    """Return a batch once it has one of these statuses, by default once it has ended."""
    end = time.monotonic() + _END_S
    while time.monotonic() < end:
        batch: dict[str, Any] = http.get(f"/v1/batches/{batch_id}").json()
        if batch["status"] in (statuses or Ended):
            return batch
    raise AssertionError(batch)


def lines_of(http: TestClient, file_id: str) -> list[dict[str, Any]]:
    reply = http.get(f"/v1/files/{file_id}/content")
    assert reply.status_code == 200
    return [json.loads(line) for line in reply.text.split("\n")[:-1]]
