"""Connections of `yaie serve` over real sockets and the kernel's buffers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette

from tests.server.test_protocol import BODY, LENGTH, OFFER, SENT, post
from tests.server.wire_app import NUM_PIECES, make_app
from yaie.server.http import connection_limits
from yaie.server.http.protocol import HttpProtocol

pytestmark = pytest.mark.integration
WAIT_S = 30


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def served() -> Starlette:
    return make_app()


@pytest.fixture(scope="module")
def server(served: Starlette) -> Iterator[uvicorn.Server]:
    """A server in a thread."""
    config = uvicorn.Config(served, http=HttpProtocol, ws="none", log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        run = server.serve(sockets=[listener])
        thread = threading.Thread(target=lambda: asyncio.run(run), daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        yield server
        server.should_exit = True
        thread.join(WAIT_S)


@pytest.fixture(scope="module")
def port(server: uvicorn.Server) -> int:
    found: int = server.servers[0].sockets[0].getsockname()[1]
    return found


@pytest.fixture
def connection(port: int) -> Iterator[socket.socket]:
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), WAIT_S)) as found:
        yield found


def answer(connection: socket.socket) -> tuple[int, Any]:
    """Status and JSON of the next response."""
    response = HTTPResponse(connection)
    response.begin()
    return response.status, json.loads(response.read())


def test_an_upgrade_offer_is_answered_in_http_1(connection: socket.socket) -> None:
    for _ in range(2):
        connection.sendall(post() + LENGTH + BODY)
        assert answer(connection) == (200, SENT)


def test_a_stream_for_http_1_0_ends_with_the_connection(connection: socket.socket) -> None:
    connection.sendall(b"GET /pieces HTTP/1.0\r\nHost: h\r\n\r\n")
    received = bytearray()
    while part := connection.recv(1 << 20):
        received += part
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert body == b"x" * 65536 * NUM_PIECES


def test_many_pipelined_offers_are_answered(connection: socket.socket) -> None:
    get = f"GET /m HTTP/1.1\r\nHost: h\r\n{OFFER}\r\n".encode()
    threading.Thread(target=connection.sendall, args=(get * 3000,), daemon=True).start()
    received = bytearray()
    while received.count(b"HTTP/1.1 200 ") < 3000:
        part = connection.recv(1 << 20)
        assert part, received[-500:]
        received += part


def test_an_endless_head_is_refused_while_it_is_sent(connection: socket.socket) -> None:
    again = b"X: a\r\n" * 3000
    received = b""
    with contextlib.suppress(ConnectionError):
        connection.sendall(b"GET /m HTTP/1.1\r\n")
        for _ in range((8 << 20) // len(again)):
            connection.settimeout(0.001)
            with contextlib.suppress(TimeoutError):
                received = connection.recv(4096)
                break
            connection.settimeout(WAIT_S)
            connection.sendall(again)
    assert b" 431 " in received


@pytest.mark.parametrize("last", ["garbage\r\n\r\n", "half-close", ""])
def test_clients_that_read_nothing_are_disconnected(
    server: uvicorn.Server, port: int, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may have buffered any part of the response."""
    monkeypatch.setattr(connection_limits, "IDLE_TIMEOUT_S", 0.7)
    started = server.server_state.total_requests
    with contextlib.ExitStack() as stack:
        clients = []
        for num_bytes in range(60_000, 3_000_000, 300_000):
            client = stack.enter_context(contextlib.closing(socket.socket()))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", port))
            client.sendall(b"GET /much?n=%d HTTP/1.1\r\nHost: here\r\n\r\n" % num_bytes)
            clients.append(client)
        wait_until(lambda: server.server_state.total_requests - started == len(clients))
        for client in clients:
            if last == "half-close":
                client.shutdown(socket.SHUT_WR)
            else:
                client.sendall(last.encode())
        wait_until(lambda: not server.server_state.connections)


def test_the_system_buffers_little_of_a_large_response(port: int, served: Starlette) -> None:
    """Otherwise the server could not tell slow reading from a stalled client."""
    with contextlib.closing(socket.socket()) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        served.state.num_pieces = 0
        client.sendall(b"GET /pieces HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        client.settimeout(WAIT_S)
        response = client.makefile("rb")
        response.read(1 << 20)  # 16 pieces; the server then fills the buffers again
        assert served.state.num_pieces < 16 + 32
        assert len(response.read()) > (NUM_PIECES - 16) * 65536
