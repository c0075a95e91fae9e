"""Connections beyond the limit of open files: probes are answered, and the engine comes back."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.real_server import Server
from tests.server.wire import Wire
from yaie.server.http import connection_room
from yaie.server.http.connection_room import ConnectionRoom

GET = b"GET %s HTTP/1.1\r\nHost: here\r\n\r\n"
LATE = GET % b"/late?s=100"


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> ConnectionRoom:
    room = ConnectionRoom(limit=3)
    monkeypatch.setattr(connection_room, "room", room)
    return room


def test_a_new_connection_replaces_the_one_idle_longest(connect: Callable[[], Wire]) -> None:
    silent, busy, used = connect(), connect(), connect()
    half = silent  # its request never ends
    half.feed(b"GET /m HTTP/1.1\r\n")
    busy.feed(LATE)
    used.feed(GET % b"/m")
    closed = []
    for _ in range(3):
        connect().wait()
        closed.append([each.is_closed for each in (silent, used, busy)])
    assert closed == [[True, False, False], [True, True, False], [True, True, False]]


def test_beside_busy_connections_probes_are_answered(connect: Callable[[], Wire]) -> None:
    busy = [connect() for _ in range(3)]
    for each in busy:
        each.feed(LATE)
    probe = connect()
    probe.feed(GET % b"/health")
    assert probe.responses()[0][0] == 200
    other = connect()
    other.feed(GET % b"/m")
    ((status, body),) = other.responses()
    assert status == 503 and b"limit of open files" in body
    assert other.is_closed
    assert not any(each.is_closed for each in busy)
    busy[0].wait(200)
    assert busy[0].responses()[0][0] == 200


def test_the_limit_leaves_descriptors_for_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, limit in ((65536, 65440), (256, 160), (64, 16), (-1, sys.maxsize)):
        monkeypatch.setattr("resource.getrlimit", lambda kind, files=files: (files, files))
        assert ConnectionRoom().limit == limit


class Limited(Server):
    """A server that may open 256 files."""

    def command(self) -> list[str]:
        return ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", *super().command()]


@pytest.mark.integration
@pytest.mark.parametrize("loop", ["auto", pytest.param("asyncio", marks=pytest.mark.slow)])
def test_silent_clients_beyond_the_limit_harm_neither_probes_nor_the_engine(
    model: Path, tmp_path: Path, loop: str
) -> None:
    server = Limited(model, tmp_path / "log", UVICORN_LOOP=loop)
    clients: list[socket.socket] = []
    try:
        server.wait_ready()
        clients += [socket.create_connection(("127.0.0.1", server.port)) for _ in range(400)]
        server.wait_until(lambda: server.get("/liveness").status_code == 200, "a probe")
        os.kill(server.engine_pid(), signal.SIGKILL)
        server.wait_until(lambda: server.stats()["restarts"] >= 1, "a restart")
        server.wait_ready()
        assert server.post("/v1/completions", {"prompt": "x"}).status_code == 200
        assert len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())) < 256
    finally:
        for each in clients:
            each.close()
        server.process.kill()
        server.process.wait()
