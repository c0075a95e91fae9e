"""`/v1/files` and `/v1/batches` over a scripted engine: objects, refusals, owners, restarts."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import json
import tempfile
import threading
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient

from tests.batch.request_files import CHAT, question
from tests.server.batch_calls import create, lines_of, upload, wait
from tests.server.conftest import MakeApp, applications
from tests.server.scripted_client import ScriptedClient
from yaie.base.advised_error import AdvisedError
from yaie.base.errors import InvalidRequest
from yaie.base.tenants import BATCHES
from yaie.base.types import GenerationRequest, TokenDelta
from yaie.batch.result_journal import DISK_FULL, BatchResult, ResultJournal
from yaie.server.batches import batch_jobs, file_store, record_folder
from yaie.server.batches.app_batches import PRIORITY
from yaie.server.batches.line_sender import LineSender
from yaie.text.tokenizer import Tokenizer


@pytest.fixture
def http(make_app: MakeApp, tmp_path: Path) -> TestClient:
    return make_app(batch_dir=str(tmp_path / "batches"))[0]


def test_a_batch_has_a_file_of_answers_and_a_file_of_errors(
    make_app: MakeApp, tmp_path: Path
) -> None:
    http, engine = make_app(batch_dir=str(tmp_path))
    wrong = question("wrong", max_tokens=-1)
    file_id = upload(http, question("b", "B"), wrong, question("a", "A", model="tiny"))
    made = create(http, file_id, metadata={"job": "7"})
    assert made["status"] == "validating"
    assert made["expires_at"] == made["created_at"] + 24 * 3600
    batch = wait(http, made["id"])
    assert batch["status"] == "completed"
    assert batch["request_counts"] == {"total": 3, "completed": 2, "failed": 1}
    assert batch["metadata"] == {"job": "7"}
    for name in ("in_progress_at", "finalizing_at", "completed_at"):
        assert batch[name] >= made["created_at"]
    answers = lines_of(http, batch["output_file_id"])
    assert {each["custom_id"] for each in answers} == {"a", "b"}
    for each in answers:
        assert each["response"]["status_code"] == 200
        assert each["response"]["body"]["choices"][0]["message"]["content"]
        assert each["error"] is None
    (failed,) = lines_of(http, batch["error_file_id"])
    assert failed["custom_id"] == "wrong"
    assert failed["response"]["status_code"] == 400
    assert "max_tokens" in failed["error"]["message"]
    # Requests run after live requests, whatever the policy.
    assert {(each.tenant, each.priority) for each in engine.requests} == {(BATCHES, PRIORITY)}
    metrics = http.get("/metrics").text
    assert 'yaie_batch_requests_total{outcome="completed"} 2.0' in metrics
    assert 'yaie_batch_requests_total{outcome="failed"} 1.0' in metrics
    assert "yaie_batch_requests_left 0.0" in metrics
    assert not list((tmp_path / "batches").glob("*.results"))


def test_files_are_listed_read_and_deleted(http: TestClient) -> None:
    first, second = upload(http, question("a")), upload(http, question("b"))
    listed = http.get("/v1/files").json()
    assert [each["id"] for each in listed["data"]] == [second, first]
    page = http.get("/v1/files", params={"limit": 1, "order": "asc"}).json()
    assert (page["first_id"], page["last_id"], page["has_more"]) == (first, first, True)
    rest = http.get("/v1/files", params={"after": first, "order": "asc"}).json()
    assert [each["id"] for each in rest["data"]] == [second]
    assert http.get("/v1/files", params={"purpose": "batch_output"}).json()["data"] == []
    file = http.get(f"/v1/files/{first}").json()
    assert (file["filename"], file["purpose"], file["object"]) == ("in.jsonl", "batch", "file")
    assert lines_of(http, first) == [question("a")]
    assert http.delete(f"/v1/files/{first}").json()["deleted"] is True
    for method, path in (("get", ""), ("get", "/content"), ("delete", "")):
        assert http.request(method, f"/v1/files/{first}{path}").status_code == 404


@pytest.mark.parametrize(
    ("form", "fact"),
    [
        ({"data": {"purpose": "batch"}, "files": {"x": b"a"}}, "the form has no file"),
        ({"data": {"purpose": "batch", "file": "text"}, "files": {"x": b""}}, "has no file"),
        ({"data": {"purpose": "vision"}, "files": {"file": b"a"}}, "purpose must be 'batch'"),
        ({"files": {"file": b"a"}}, "purpose must be 'batch'"),
        ({"json": {"purpose": "batch"}}, "send a form (multipart/form-data)"),
        ({"content": "x", "headers": {"Content-Type": "multipart/form-data"}}, "boundary"),
    ],
)
def test_malformed_uploads_are_refused(
    shared_batches: TestClient, form: dict[str, Any], fact: str
) -> None:
    reply = shared_batches.post("/v1/files", **form)
    assert 400 <= reply.status_code < 500
    assert fact in reply.json()["error"]["message"]


@pytest.fixture(scope="module")
def shared_batches(
    tiny_model_dir: Path, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    """Serve tests that leave nothing behind."""
    folder = tmp_path_factory.mktemp("batches")
    with applications(tiny_model_dir, tokenizer) as make:
        yield make(batch_dir=str(folder))[0]


@pytest.mark.parametrize(
    ("fields", "status", "fact"),
    [
        ({"completion_window": "soon"}, 400, "completion_window is 'soon'; give hours"),
        ({"endpoint": "/v1/embeddings"}, 400, "endpoint must be /v1/chat/completions or"),
        ({"input_file_id": "../../etc/passwd"}, 404, "no file has the id"),
        ({"input_file_id": 7}, 400, "input_file_id must be a string"),
        ({"metadata": {"a": "b" * 513}}, 400, "must have at most 512 characters"),
        ({"metadata": {"a" * 65: "b"}}, 400, "must have at most 64 characters"),
        ({"metadata": {str(at): 0 for at in range(2000)}}, 400, "metadata has 2000 entries"),
        (
            {"metadata": {str(at): "" for at in range(17)}},
            400,
            "metadata has 17 entries; at most 16",
        ),
    ],
)
def test_wrong_batches_are_refused(
    shared_batches: TestClient, fields: dict[str, Any], status: int, fact: str
) -> None:
    file_id = upload(shared_batches, question("a"))
    body = {"input_file_id": file_id, "endpoint": CHAT, "completion_window": "24h"} | fields
    reply = shared_batches.post("/v1/batches", json=body)
    assert reply.status_code == status
    assert fact in reply.json()["error"]["message"]
    assert shared_batches.get("/v1/batches").json()["data"] == []


@pytest.mark.parametrize(
    ("lines", "code", "fact"),
    [
        ([{"custom_id": "a"}], "invalid_line", "url must be /v1/chat/completions, got"),
        ([question("a", url="/v1/completions")], "invalid_line", "url must be"),
        ([question("a"), question("a")], "invalid_line", "is also on line 1"),
        ([question("a", model="gpt-4o")], "model_not_found", "'gpt-4o' is not served; use tiny"),
        ([], "invalid_line", "the file has no requests"),
    ],
)
def test_wrong_lines_fail_a_batch_before_it_runs(
    http: TestClient, lines: list[dict[str, Any]], code: str, fact: str
) -> None:
    batch = wait(http, create(http, upload(http, *lines))["id"])
    assert batch["status"] == "failed"
    assert batch["failed_at"]
    error = batch["errors"]["data"][-1]
    assert error["code"] == code
    assert fact in error["message"]
    assert error["line"] == max(1, len(lines))
    assert batch["output_file_id"] is batch["error_file_id"] is None


def test_files_and_batches_belong_to_the_key(make_app: MakeApp, tmp_path: Path) -> None:
    http, _ = make_app(batch_dir=str(tmp_path), api_key="ada,bob")
    ada, bob = ({"Authorization": f"Bearer {name}"} for name in ("ada", "bob"))
    file_id = upload(http, question("a"), **ada)
    body = {"input_file_id": file_id, "endpoint": CHAT}
    assert http.post("/v1/batches", json=body, headers=bob).status_code == 404
    batch = http.post("/v1/batches", json=body, headers=ada).json()["id"]
    for path in (f"/v1/files/{file_id}", f"/v1/files/{file_id}/content", f"/v1/batches/{batch}"):
        assert http.get(path, headers=bob).status_code == 404, path
        assert http.get(path, headers=ada).status_code == 200, path
        assert http.get(path).status_code == 401
    assert http.delete(f"/v1/files/{file_id}", headers=bob).status_code == 404
    assert http.post(f"/v1/batches/{batch}/cancel", headers=bob).status_code == 404
    for path in ("/v1/files", "/v1/batches"):
        assert http.get(path, headers=bob).json()["data"] == []
        assert http.get(path, headers=ada).json()["data"]


def test_without_a_folder_the_fix_is_told(shared_http: TestClient) -> None:
    for method, path in (("get", "/v1/files"), ("post", "/v1/batches"), ("get", "/v1/batches/x")):
        reply = shared_http.request(method, path)
        assert reply.status_code == 404
        error = reply.json()["error"]
        assert error["code"] == "batches_disabled"
        assert "--batch-dir" in error["message"]


def test_uploads_in_progress_count_before_they_are_read(tmp_path: Path) -> None:
    store = file_store.FileStore(tmp_path / "files", max_bytes=300)
    with store.uploading(200, "me") as first:
        with (
            pytest.raises(InvalidRequest, match="with uploads in progress, have 200"),
            store.uploading(200, "me"),
        ):
            raise AssertionError
        with store.uploading(200, "another"), store.uploading(100, "me") as second:
            store.add(second, io.BytesIO(b"x" * 100), 100, "b")
            with pytest.raises(InvalidRequest, match="have 100"):
                store.add(first, io.BytesIO(b"x" * 201), 201, "a")
            store.add(first, io.BytesIO(b"x" * 200), 200, "a")
    assert sum(each.bytes for each in store.listed("me")) == 300
    with store.uploading(300, "another"):
        pass


def test_a_form_of_unknown_length_reserves_what_has_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_store, "_COPIED_BYTES", 10)
    store = file_store.FileStore(tmp_path / "files", max_bytes=300)
    with store.uploading(0, "me") as first, store.uploading(0, "me") as second:
        store.grow(first, 150)
        store.grow(second, 120)
        with pytest.raises(InvalidRequest, match="with uploads in progress, have 150"):
            store.grow(second, 160)


def test_a_chunked_upload_is_refused_while_it_arrives(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is not read once the client has no room for the file."""
    monkeypatch.setattr(file_store, "_COPIED_BYTES", 1 << 16)
    http, _ = make_app(batch_dir=str(tmp_path / "batches"), batch_bytes=1 << 20)
    sent = 0

    def parts() -> Iterator[bytes]:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        while sent < 64:
            sent += 1
            yield b"x" * (1 << 16)

    form = {"Content-Type": "multipart/form-data; boundary=x"}
    reply = http.post("/v1/files", content=parts(), headers=form)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "storage_limit")


def test_uploads_at_the_same_time_stay_within_the_limit(tmp_path: Path) -> None:
    store = file_store.FileStore(tmp_path / "files", max_bytes=1000)

    def add(number: int) -> bool:
        try:
            with store.uploading(0, "me") as upload:
                store.add(upload, io.BytesIO(b"x" * 100), 100, f"{number}")
        except InvalidRequest:
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(add, range(64))) == 10
    assert len(store.listed("me")) == 10


def test_an_upload_may_end_while_another_is_counted(tmp_path: Path) -> None:
    store = file_store.FileStore(tmp_path / "files", max_bytes=300)
    uploads = contextlib.ExitStack()
    ending = threading.Thread(target=uploads.close)

    class Owner(str):
        """A name during whose comparison the uploads end, in another thread."""

        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            if is_counting and ending.ident is None:
                ending.start()
                ending.join(0.1)  # it waits for us
            return str.__eq__(self, other)

    is_counting = False
    for _ in range(2):
        uploads.enter_context(store.uploading(1, Owner("me")))
    is_counting = True
    with store.uploading(1, "me"):
        ending.join()


def test_a_client_has_a_limit_of_bytes_files_and_batches(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, _ = make_app(batch_dir=str(tmp_path), batch_bytes=300, max_body_bytes=1024)
    file_id = upload(http, question("a"))
    big = {"file": ("big", b"x" * 400)}
    reply = http.post("/v1/files", files=big, data={"purpose": "batch"})
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "storage_limit"
    monkeypatch.setattr(file_store, "MAX_FILES", 1)
    reply = http.post("/v1/files", files={"file": b"x"}, data={"purpose": "batch"})
    assert reply.json()["error"]["code"] == "storage_limit"
    monkeypatch.setattr(batch_jobs, "MAX_UNFINISHED", 0)
    reply = http.post("/v1/batches", json={"input_file_id": file_id, "endpoint": CHAT})
    assert reply.json()["error"]["code"] == "too_many_batches"


def test_an_upload_may_be_larger_than_other_bodies(make_app: MakeApp, tmp_path: Path) -> None:
    http, _ = make_app(batch_dir=str(tmp_path), max_body_bytes=1024)
    assert upload(http, question("a", "x" * 5000))
    assert http.post("/v1/batches", content=b"x" * 5000).status_code == 413


class Held:
    """An engine that answers nothing until `release`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.engine = ScriptedClient(tokenizer.encode("The tree"))
        self.engine.script = self.say
        self.is_free = False

    async def say(self, request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        while not self.is_free:
            await asyncio.sleep(0.002)
        async for delta in self.engine.say(request):
            yield delta


def test_a_cancelled_batch_keeps_its_results(
    make_app: MakeApp, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    held = Held(tokenizer)
    http, engine = make_app(held.engine, batch_dir=str(tmp_path), batch_concurrency=1)
    file_id = upload(http, question("bad", max_tokens=-1), question("ok", "z"), question("z", "zz"))
    running, waiting = (create(http, file_id)["id"] for _ in range(2))
    while not engine.requests:
        wait(http, running, "validating", "in_progress")
    assert http.delete(f"/v1/files/{file_id}").status_code == 400
    assert http.post(f"/v1/batches/{waiting}/cancel").json()["status"] == "cancelled"
    assert http.post(f"/v1/batches/{running}/cancel").json()["status"] == "cancelling"
    batch = wait(http, running)
    assert batch["status"] == "cancelled"
    assert batch["request_counts"] == {"total": 3, "completed": 0, "failed": 1}
    assert [each["custom_id"] for each in lines_of(http, batch["error_file_id"])] == ["bad"]
    assert batch["output_file_id"] is None
    assert len(engine.ended) == len(engine.requests)
    assert http.post(f"/v1/batches/{running}/cancel").json()["status"] == "cancelled"
    listed = http.get("/v1/batches", params={"limit": 1}).json()
    assert [each["id"] for each in listed["data"]] == [waiting]
    assert listed["has_more"]


def test_requests_beyond_the_window_expire(
    tiny_model_dir: Path, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    held = Held(tokenizer)
    with applications(tiny_model_dir, tokenizer) as make:
        http, engine = make(held.engine, batch_dir=str(tmp_path))
        file_id = upload(http, question("a", "z"), question("bad", max_tokens=-1))
        batch_id = create(http, file_id, completion_window="1h")["id"]
        while not engine.requests:
            wait(http, batch_id, "validating", "in_progress")
    record = tmp_path / "batches" / f"{batch_id}.json"
    stored = json.loads(record.read_text())
    assert stored["batch"]["expires_at"] - stored["batch"]["created_at"] == 3600
    stored["batch"]["expires_at"] -= 3600
    record.write_text(json.dumps(stored))
    with applications(tiny_model_dir, tokenizer) as make:
        http, engine = make(batch_dir=str(tmp_path))
        batch = wait(http, batch_id)
        assert batch["status"] == "expired"
        assert batch["expired_at"]
        errors = {each["custom_id"]: each for each in lines_of(http, batch["error_file_id"])}
        assert set(errors) == {"a", "bad"}
        assert errors["a"]["error"]["code"] == "batch_expired"
        assert errors["a"]["response"] is None
        assert not engine.requests


def test_a_batch_continues_after_a_restart_of_the_server(
    tiny_model_dir: Path, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    held = Held(tokenizer)
    settings = {"batch_dir": str(tmp_path), "batch_concurrency": 2}
    with applications(tiny_model_dir, tokenizer) as make:
        http, engine = make(held.engine, **settings)
        file_id = upload(
            http, question("bad", "A", max_tokens=-1), *(question(f"q{at}") for at in range(6))
        )
        first = create(http, file_id)["id"]
        second = create(http, file_id)["id"]
        while len(engine.requests) < 2:
            wait(http, first, "validating", "in_progress")
        with pytest.raises(AssertionError, match="another server uses it"):
            make(is_ready=False, **settings)
    journal = tmp_path / "batches" / f"{first}.results"
    (bad,) = journal.read_text().split("\n")[:-1]
    with journal.open("a") as file:  # as a power failure leaves it
        file.write(bad[:40])
    (tmp_path / "files" / "file-of-a-crash.jsonl").write_text("x")
    with applications(tiny_model_dir, tokenizer) as make:
        http, engine = make(**settings)
        for batch_id in (first, second):
            batch = wait(http, batch_id)
            assert batch["status"] == "completed"
            assert batch["request_counts"] == {"total": 7, "completed": 6, "failed": 1}
            answers = lines_of(http, batch["output_file_id"])
            assert sorted(each["custom_id"] for each in answers) == [f"q{at}" for at in range(6)]
            (error,) = lines_of(http, batch["error_file_id"])
            assert (json.dumps(error, separators=(",", ":")) == bad) == (batch_id == first)
        assert len(engine.requests) == 12
        assert len(http.get("/v1/files").json()["data"]) == 5
        names = {path.name for path in (tmp_path / "files").iterdir()}
        assert len(names) == 10


def test_a_batch_is_cancelled_while_the_disk_is_full(
    make_app: MakeApp, tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(tokenizer)
    http, engine = make_app(held.engine, batch_dir=str(tmp_path))
    batch_id = create(http, upload(http, question("a", "z")))["id"]
    while not engine.requests:
        wait(http, batch_id, "validating", "in_progress")
    write, faults = record_folder.write_all, [OSError(errno.ENOSPC, "full")]

    def fail_once(number: int, data: bytes) -> None:
        if faults:
            raise faults.pop()
        write(number, data)

    monkeypatch.setattr(record_folder, "write_all", fail_once)
    reply = http.post(f"/v1/batches/{batch_id}/cancel")
    assert reply.json()["error"]["code"] == "storage_failed"
    assert wait(http, batch_id)["status"] == "cancelled"


def test_a_cancelled_batch_stays_cancelled_after_a_restart(
    tiny_model_dir: Path, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    held = Held(tokenizer)
    with applications(tiny_model_dir, tokenizer) as make:
        http, engine = make(held.engine, batch_dir=str(tmp_path))
        batch_id = create(http, upload(http, question("a", "z")))["id"]
        while not engine.requests:
            wait(http, batch_id, "validating", "in_progress")
    record = tmp_path / "batches" / f"{batch_id}.json"
    stored = json.loads(record.read_text())
    stored["batch"] |= {"status": "finalizing", "cancelling_at": 1}  # it ended in this moment
    record.write_text(json.dumps(stored))
    with applications(tiny_model_dir, tokenizer) as make:
        batch = wait(make(batch_dir=str(tmp_path))[0], batch_id)
        assert batch["status"] == "cancelled"
        assert batch["output_file_id"] is None


def test_a_fault_of_the_server_is_the_result_of_one_request() -> None:
    async def fail(request: Request) -> Response:
        raise RuntimeError("a bug")

    reply = asyncio.run(LineSender(None, {CHAT: fail}).send(CHAT, b"{}"))
    assert reply.status == 500
    assert reply.request_id in json.loads(reply.body)["error"]["message"]


@pytest.mark.parametrize("step", ["split_results", "adopt"])
def test_a_full_disk_at_the_end_of_a_batch_loses_no_result(
    http: TestClient, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(batch_jobs, "DISK_WAIT_S", 0.01)
    owner: Any = batch_jobs if step == "split_results" else file_store.shutil
    name = step if step == "split_results" else "move"
    work, faults = getattr(owner, name), [OSError(errno.ENOSPC, "full")]

    def fail_once(*arguments: Any) -> Any:
        if faults:
            raise faults.pop()
        return work(*arguments)

    monkeypatch.setattr(owner, name, fail_once)
    batch = wait(http, create(http, upload(http, question("a"), question("b")))["id"])
    assert not faults
    assert batch["status"] == "completed"
    assert len(lines_of(http, batch["output_file_id"])) == 2


def test_a_full_temporary_folder_refuses_an_upload(
    http: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**options: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)  # that a large upload moves into
    form = {"file": ("x.jsonl", b"x" * 2 * 1024**2)}
    refused = http.post("/v1/files", files=form, data={"purpose": "batch"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (500, "storage_failed")
    monkeypatch.undo()
    assert http.post("/v1/files", files=form, data={"purpose": "batch"}).status_code == 200


def test_a_full_disk_only_delays_a_batch(http: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_jobs, "DISK_WAIT_S", 0.01)
    num_faults = 0
    append = ResultJournal.append

    def fail_twice(journal: ResultJournal, result: BatchResult) -> None:
        nonlocal num_faults
        num_faults += 1
        if num_faults <= 2:
            raise AdvisedError("the disk is full", code=DISK_FULL)
        append(journal, result)

    monkeypatch.setattr(ResultJournal, "append", fail_twice)
    batch = wait(http, create(http, upload(http, question("a"), question("b")))["id"])
    assert batch["status"] == "completed"
    assert batch["request_counts"]["completed"] == 2


def test_a_batch_of_responses_removes_no_live_response(make_app: MakeApp, tmp_path: Path) -> None:
    http, _ = make_app(batch_dir=str(tmp_path), response_store_bytes=60_000)
    url, body = "/v1/responses", {"input": "x" * 50, "model": "tiny"}
    live = http.post(url, json=body).json()["id"]
    lines = [
        {"custom_id": str(number), "method": "POST", "url": url, "body": body}
        for number in range(60)
    ]
    made = create(http, upload(http, *lines), endpoint=url)
    batch = wait(http, made["id"])
    assert batch["request_counts"]["completed"] == 60
    answers = [each["response"]["body"] for each in lines_of(http, batch["output_file_id"])]
    kept = [http.get(f"{url}/{each['id']}").status_code == 200 for each in answers]
    assert 0 < sum(kept) < 60
    assert http.get(f"{url}/{live}").status_code == 200
