"""Real servers with an engine that hangs: probes, and the end by a signal."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable

import pytest

from tests.server.real_server import WAIT_S, Server

pytestmark = pytest.mark.integration
LONG = {"prompt": "the", "max_tokens": 2000, "stream": True, "ignore_eos": True}


def test_a_hung_engine_turns_liveness_red_until_it_is_replaced(
    start: Callable[..., Server],
) -> None:
    server = start(YAIE_STALL_S="3")
    server.wait_ready()
    for is_busy in (False, True):
        stream = server.post("/v1/completions", LONG, stream=True) if is_busy else None
        pid = server.engine_pid()
        os.kill(pid, signal.SIGSTOP)
        red = server.wait_until(lambda: is_red(server), "liveness 503")
        assert red["status"] == "stalled"
        assert "gave no sign of life for 3 s" in red["reason"]
        if stream is not None:
            last = [line for line in stream.iter_lines() if line][-1]
            assert json.loads(last[6:])["error"]["code"] == "engine_died"
        server.wait_ready()
        assert server.engine_pid() != pid
        assert server.get("/liveness").status_code == 200


def is_red(server: Server) -> dict[str, str] | None:
    answer = server.get("/liveness")
    return answer.json() if answer.status_code == 503 else None  # type: ignore[no-any-return]


def test_liveness_stays_green_while_the_server_is_full(start: Callable[..., Server]) -> None:
    server = start(YAIE_STALL_S="5", YAIE_MAX_RUNNING="4")
    codes = []

    def load() -> None:
        for _ in range(10):
            server.post("/v1/completions", {"prompt": "the " * 400, "max_tokens": 20, "n": 4})

    server.wait_until(lambda: server.get("/liveness"), "an answer")  # also while it loads
    while server.get("/health").status_code != 200:
        codes.append(server.get("/liveness").status_code)
    loads = [threading.Thread(target=load) for _ in range(8)]
    for each in loads:
        each.start()
    while any(each.is_alive() for each in loads):
        codes.append(server.get("/liveness").status_code)
    assert set(codes) == {200}
    assert server.stats()["restarts"] == 0


def test_a_hung_engine_does_not_hold_up_the_end(start: Callable[..., Server]) -> None:
    server = start(YAIE_DRAIN_S="1", YAIE_STALL_S="300")
    server.wait_ready()
    with server.post("/v1/completions", LONG, stream=True) as response:
        pid = server.engine_pid()
        os.kill(pid, signal.SIGSTOP)
        server.process.send_signal(signal.SIGTERM)
        last = [line for line in response.iter_lines() if line][-1]
        assert json.loads(last[6:])["error"]["code"] == "engine_draining"
    assert server.process.wait(WAIT_S) == -signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
