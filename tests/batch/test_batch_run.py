"""Runs over the requests of a batch: order, limits, retries, results and interruptions."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.batch.request_files import given, question, results
from yaie.base.errors import EngineUnavailable, InvalidRequest
from yaie.base.sliced_json import LARGE_BYTES
from yaie.batch.batch_lines import BatchInput
from yaie.batch.batch_run import BatchRun, LineReply
from yaie.batch.result_journal import ResultJournal


class Scripted:
    """A server that answers with the prompt; `faults` come first, one for each request."""

    def __init__(self, faults: list[LineReply | Exception] | None = None) -> None:
        self.faults = faults or []
        self.asked: list[str] = []
        self.num_open = self.most_open = 0

    async def send(self, url: str, body: bytes) -> LineReply:
        fields = json.loads(body)
        text = fields["messages"][0]["content"]
        self.asked.append(text)
        self.num_open += 1
        self.most_open = max(self.most_open, self.num_open)
        await asyncio.sleep(0)
        self.num_open -= 1
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, Exception):
                raise fault
            return fault
        usage = {
            "prompt_tokens": 10,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 4},
        }
        answer = {"text": text, "model": fields.get("model"), "usage": usage}
        return LineReply(200, "id", json.dumps(answer, indent=2).encode())


def refusal(status: int, after_s: float | None = 0.0, body: bytes = b"") -> LineReply:
    return LineReply(status, "id", body or b'{"error": {"message": "no", "code": "c"}}', after_s)


def run(folder: Path, server: Scripted, texts: str = "ab", **options: Any) -> BatchRun:
    batch = given(folder / "in", [question(text, text) for text in texts])
    at_once, model = options.pop("at_once", 1), options.pop("model", None)
    with ResultJournal(folder / "out", batch.lines) as journal:
        made = BatchRun(batch, journal, **options)
        asyncio.run(made.run(server.send, at_once, model))
    return made


def test_requests_run_in_prompt_order_some_at_a_time(tmp_path: Path) -> None:
    server = Scripted()
    made = run(tmp_path, server, "ecbda", at_once=2, model="m")
    assert "".join(server.asked) == "abcde"
    assert server.most_open == 2
    found = results(tmp_path / "out")
    assert {name: each["response"]["body"]["text"] for name, each in found.items()} == {
        name: name for name in "abcde"
    }
    assert found["a"]["response"]["status_code"] == 200
    assert found["a"]["response"]["body"]["model"] == "m"
    assert found["a"]["error"] is None
    totals = made.totals
    assert (totals.num_done, totals.prompt_tokens, totals.cached_tokens) == (5, 50, 20)
    assert totals.output_tokens == 15


@pytest.mark.parametrize("fault", [refusal(429), refusal(502), refusal(503)])
def test_refusals_and_lost_servers_are_tried_again(tmp_path: Path, fault: LineReply) -> None:
    lost = EngineUnavailable("gone", retry_after_s=0.0)
    server = Scripted([fault, lost, fault])
    made = run(tmp_path, server)
    assert server.asked == ["a", "a", "a", "a", "b"]
    assert made.totals.num_failed == 0


@pytest.mark.parametrize("status", [400, 404, 422, 500, 504])
def test_other_refusals_are_results_with_an_error(tmp_path: Path, status: int) -> None:
    made = run(tmp_path, Scripted([refusal(status)]))
    found = results(tmp_path / "out")
    assert found["a"]["response"]["status_code"] == status
    assert found["a"]["error"] == {"code": "c", "message": "no"}
    assert found["b"]["error"] is None
    assert made.totals.num_failed == made.journal.num_failed == 1


@pytest.mark.parametrize("status", [200, 500])
def test_a_reply_that_is_not_json_is_a_result_with_an_error(tmp_path: Path, status: int) -> None:
    run(tmp_path, Scripted([refusal(status, body=b"<html>")]))
    found = results(tmp_path / "out")["a"]
    assert found["response"]["body"] is None
    assert str(status) in found["error"]["message"]


def test_a_server_that_stays_away_ends_the_run_and_the_next_run_continues(tmp_path: Path) -> None:
    good = LineReply(200, "id", b"{}")
    with pytest.raises(EngineUnavailable, match="gone"):
        run(tmp_path, Scripted([good, EngineUnavailable("gone")]), "abc", patience_s=0.0)
    assert list(results(tmp_path / "out")) == ["a"]
    server = Scripted()
    assert run(tmp_path, server, "abc").totals.num_done == 2
    assert server.asked == ["b", "c"]
    assert list(results(tmp_path / "out")) == ["a", "b", "c"]


def test_an_error_of_one_worker_ends_the_other_workers(tmp_path: Path) -> None:
    cancelled: list[str] = []

    async def send(url: str, body: bytes) -> LineReply:
        text = json.loads(body)["messages"][0]["content"]
        if text == "b":
            raise InvalidRequest("the input changed")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(text)
            raise
        raise AssertionError

    server = Scripted()
    server.send = send  # type: ignore[method-assign]
    with pytest.raises(InvalidRequest, match="the input changed"):
        run(tmp_path, server, "abc", at_once=3)
    assert sorted(cancelled) == ["a", "c"]


def test_tokens_of_every_api_are_counted(tmp_path: Path) -> None:
    usage = {"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 5}}
    body = json.dumps({"usage": usage}).encode()
    odd = [LineReply(200, "id", each) for each in (b'{"usage": 3}', b"[]", b'{"usage": null}')]
    made = run(tmp_path, Scripted([LineReply(200, "id", body), *odd]), "abcd")
    totals = made.totals
    assert (totals.prompt_tokens, totals.cached_tokens, totals.output_tokens) == (7, 5, 2)


def test_a_long_line_is_read_off_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers = {}
    read_body = BatchInput.read_body

    def noted(self: BatchInput, file: Any, line: Any, model: Any = None) -> bytes:
        readers[line.custom_id] = threading.current_thread() is threading.main_thread()
        return read_body(self, file, line, model)

    monkeypatch.setattr(BatchInput, "read_body", noted)
    texts = {"short": "a", "long": "b" * LARGE_BYTES, "longer": "c" * 3 * LARGE_BYTES}
    batch = given(tmp_path / "in", [question(name, text) for name, text in texts.items()])
    server = Scripted()
    with ResultJournal(tmp_path / "out", batch.lines) as journal:
        asyncio.run(BatchRun(batch, journal).run(server.send, 3))
    assert sorted(server.asked) == sorted(texts.values())
    assert readers == {"short": True, "long": False, "longer": False}
