"""Batches of a real server by OpenAI's client: a kill, a restart, and live requests in between."""

from __future__ import annotations

import io
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.batch.request_files import CHAT, question
from tests.server.real_server import Server

pytestmark = pytest.mark.integration
_END_S = 90.0


def client_of(server: Server) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=f"{server.url}/v1",
        api_key="none",
        max_retries=0,
        _strict_response_validation=True,
    )


def upload(client: openai.OpenAI, lines: list[dict[str, Any]]) -> str:
    content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    return client.files.create(file=("in.jsonl", io.BytesIO(content)), purpose="batch").id


def wait(client: openai.OpenAI, batch_id: str, is_so: Callable[[Any], bool]) -> Any:
    end = time.monotonic() + _END_S
    while time.monotonic() < end:
        batch = client.batches.retrieve(batch_id)
        if is_so(batch):
            return batch
        time.sleep(0.01)
    raise AssertionError(batch)


def test_a_batch_survives_a_killed_server_and_live_requests_go_first(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    settings = {"YAIE_BATCH_DIR": str(tmp_path / "batches"), "YAIE_BATCH_CONCURRENCY": "4"}
    # The batch fills every place of the engine.
    server = start(**settings, YAIE_MAX_RUNNING="4")
    server.wait_ready()
    client = client_of(server)
    lines = [
        question(f"q{at}", f"Count to {at}", max_tokens=80, ignore_eos=True) for at in range(16)
    ]
    lines.append(question("wrong", max_tokens=-1))
    file_id = upload(client, lines)
    made = client.batches.create(
        input_file_id=file_id, endpoint=CHAT, completion_window="24h", metadata={"job": "7"}
    )
    wait(client, made.id, lambda batch: batch.request_counts.completed >= 2)
    # A live request gets a place although the batch fills all of them.
    answer = client.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "Hi"}], max_tokens=2
    )
    assert answer.usage is not None
    before = client.batches.retrieve(made.id)
    assert before.status == "in_progress"
    assert before.request_counts is not None
    assert before.request_counts.completed < 16
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    again = start(**settings)
    again.wait_ready()
    client = client_of(again)
    done = wait(client, made.id, lambda batch: batch.status == "completed")
    assert done.metadata == {"job": "7"}
    counts = done.request_counts
    assert (counts.total, counts.completed, counts.failed) == (17, 16, 1)
    results = [json.loads(line) for line in client.files.content(done.output_file_id).iter_lines()]
    assert sorted(each["custom_id"] for each in results) == sorted(f"q{at}" for at in range(16))
    for each in results:
        assert each["response"]["body"]["usage"]["completion_tokens"] == 80
    (error,) = client.files.content(done.error_file_id).iter_lines()
    assert json.loads(error)["response"]["status_code"] == 400
    assert {each.id for each in client.batches.list()} == {made.id}
    assert {each.id for each in client.files.list()} == {
        file_id,
        done.output_file_id,
        done.error_file_id,
    }
    assert client.files.delete(file_id).deleted
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(file_id)
    cancelled = client.batches.cancel(made.id)
    assert cancelled.status == "completed"
