"""Real servers: start, overload, crash of the engine, idling and shutdown."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import requests

from tests.server.real_server import WAIT_S, Server

pytestmark = pytest.mark.integration


def test_an_engine_that_dies_is_replaced(server: Server) -> None:
    server.wait_idle()
    restarts = server.stats()["restarts"]
    body = {"prompt": "the", "max_tokens": 2000, "stream": True, "ignore_eos": True}
    with server.post("/v1/completions", body, stream=True) as response:
        lines = response.iter_lines()
        assert next(lines).startswith(b"data: {")
        os.kill(server.engine_pid(), signal.SIGKILL)
        last = [line for line in lines if line][-1]
    assert json.loads(last[6:])["error"]["code"] == "engine_died"
    assert server.get("/health").status_code == 503
    refused = server.post("/v1/completions", {"prompt": "x"})
    assert refused.status_code == 503
    assert refused.headers["Retry-After"]
    server.wait_ready()
    assert server.stats()["restarts"] == restarts + 1
    assert server.post("/v1/completions", {"prompt": "x"}).status_code == 200


def test_a_bound_port_a_full_queue_and_a_drain(start: Callable[..., Server]) -> None:
    server = start(YAIE_MAX_RUNNING="1", YAIE_MAX_WAITING="2", YAIE_LOG_FORMAT="json")
    first = server.wait_until(lambda: server.get("/health"), "an answer")
    assert (first.status_code, first.json()["state"]) == (503, "starting")
    assert server.get("/liveness").status_code == 200
    assert server.post("/v1/completions", {"prompt": "x"}).status_code == 503
    server.wait_ready()
    fresh = server.stats()
    assert fresh["info"]["warm_up_s"] > 0
    assert (fresh["stats"]["num_steps"], fresh["stats"]["num_nodes"]) == (0, 0)

    async def crowd() -> list[httpx.Response]:
        async with httpx.AsyncClient(timeout=WAIT_S) as http:
            body = {"prompt": "the", "max_tokens": 100, "ignore_eos": True}
            asking = [http.post(server.url + "/v1/completions", json=body) for _ in range(12)]
            return list(await asyncio.gather(*asking))

    answers = asyncio.run(crowd())
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert {answer.status_code for answer in answers} == {200, 429}
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)
    assert refused[0].json()["error"]["type"] == "rate_limit_error"
    body = {"prompt": "the", "max_tokens": 600, "stream": True, "ignore_eos": True}
    text: list[bytes] = []

    def read() -> None:
        with server.post("/v1/completions", body, stream=True) as response:
            text.extend(line for line in response.iter_lines() if line)

    reader = threading.Thread(target=read)
    reader.start()
    server.wait_until(lambda: server.stats()["stats"]["num_running"], "running")
    page = requests.get(f"{server.url}/ui/events", stream=True, timeout=WAIT_S)
    server.process.send_signal(signal.SIGTERM)
    server.wait_until(lambda: server.get("/health").status_code == 503, "draining")
    late = server.post("/v1/completions", {"prompt": "x"})
    assert (late.status_code, late.json()["error"]["code"]) == (503, "engine_draining")
    assert late.headers["Connection"] == "close"
    reader.join(WAIT_S)
    assert text[-1] == b"data: [DONE]"
    assert json.loads(text[-2][6:])["choices"][0]["finish_reason"] == "length"
    server.process.wait(WAIT_S)
    assert page.content.startswith(b"event: hello"), "an open page does not hold up the end"
    assert "graceful" not in server.log.read_text()
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert {line["outcome"] for line in lines if "outcome" in line} == {"length", "overloaded"}
    assert {line["status"] for line in lines if line["logger"] == "uvicorn.access"} >= {200, 429}


def test_a_second_signal_ends_requests_in_flight(start: Callable[..., Server]) -> None:
    server = start(YAIE_DRAIN_S="300", YAIE_WARMUP="off")
    server.wait_ready()
    assert server.stats()["info"]["warm_up_s"] == 0
    body = {"prompt": "the", "max_tokens": 2000, "stream": True, "ignore_eos": True}
    with server.post("/v1/completions", body, stream=True) as response:
        assert response.status_code == 200, response.text
        lines = (line for line in response.iter_lines() if line)
        next(lines)
        server.process.send_signal(signal.SIGTERM)
        server.wait_until(lambda: server.get("/health").status_code == 503, "draining")
        server.process.send_signal(signal.SIGTERM)
        *_, last = lines
    assert json.loads(last[6:])["error"]["code"] == "engine_draining"
    server.process.wait(WAIT_S)


def test_a_model_that_cannot_be_served_stops_the_start(
    start: Callable[..., Server], model: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in model.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    unsupported = tmp_path / "unsupported"
    unsupported.mkdir()
    config = {"architectures": ["MambaForCausalLM"], "model_type": "mamba"}
    (unsupported / "config.json").write_text(json.dumps(config))
    for folder, loop, why in (
        (tmp_path / "missing", "asyncio", "no model"),
        (tmp_path / "missing", "auto", "no model"),
        (broken, "auto", "truncated"),
        (unsupported, "auto", "MambaForCausalLM"),
    ):
        server = start(folder, UVICORN_LOOP=loop)
        assert server.process.wait(WAIT_S) == 3  # as `yaie serve`, and not as after SIGTERM
        errors = [line for line in server.log.read_text().splitlines() if "ERROR" in line]
        assert len(errors) == 1
        assert why in errors[0]
        assert "Traceback" not in server.log.read_text()


def test_too_little_memory_ends_the_server_with_its_code(
    start: Callable[..., Server],
) -> None:
    server = start(YAIE_NUM_SLOTS=str(2**30))  # found by the engine process
    assert server.process.wait(WAIT_S) == 4
    log = server.log.read_text()
    assert log.count("ERROR") == 1
    assert "Traceback" not in log


def test_a_server_that_is_stopped_ends_by_the_signal(start: Callable[..., Server]) -> None:
    server = start()
    server.wait_until(lambda: server.get("/health"), "an answer")
    assert server.stop() == -signal.SIGTERM
    assert "Application shutdown complete" in server.log.read_text()


def test_a_wrong_setting_ends_the_start(start: Callable[..., Server]) -> None:
    server = start(YAIE_NUM_SLOTS="many")
    assert server.process.wait(WAIT_S) == 2
    (line,) = server.log.read_text().splitlines()
    assert line.startswith("error[bad-config]: YAIE_NUM_SLOTS is 'many'")


def test_misspelt_settings_are_warned_about(start: Callable[..., Server]) -> None:
    server = start(YAIE_POLCY="fcfs")
    server.wait_until(lambda: server.get("/health") is not None, "an answer")
    assert "did you mean YAIE_POLICY?" in server.log.read_text()
    server.process.send_signal(signal.SIGTERM)  # also while the model loads
    server.process.wait(WAIT_S)


def test_an_idle_server_hardly_wakes(server: Server) -> None:
    """uvicorn wakes ten times a second; a busy machine cannot add voluntary switches."""
    server.wait_idle()

    def num_wakeups(pid: int) -> int:
        statuses = Path(f"/proc/{pid}/task").glob("*/status")
        found = (re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", s.read_text()) for s in statuses)
        return sum(int(match[1]) for match in found if match is not None)

    pids = (server.process.pid, server.engine_pid())
    before = [num_wakeups(pid) for pid in pids]
    time.sleep(2)
    of_server, of_engine = (num_wakeups(pid) - n for pid, n in zip(pids, before, strict=True))
    assert of_server <= 60
    assert of_engine <= 4


@pytest.mark.parametrize("how", ["flag", pytest.param("variable", marks=pytest.mark.slow)])
def test_several_workers_are_refused_in_one_line(
    start: Callable[..., Server], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would load the model, and share neither cache nor queue."""
    variables = {}
    if how == "flag":
        command = Server.command
        monkeypatch.setattr(Server, "command", lambda self: [*command(self), "--workers", "2"])
    else:
        variables["WEB_CONCURRENCY"] = "2"
    server = start(**variables)
    server.process.wait(WAIT_S)
    log = server.log.read_text()
    (line,) = [each for each in log.splitlines() if "error[bad-config]" in each]
    assert "2 workers (--workers, WEB_CONCURRENCY) would load the model once each" in line
    assert "Traceback" not in log
    assert "yaie.models.load" not in log
