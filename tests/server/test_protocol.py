"""What `yaie serve` puts between uvicorn and a connection, over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from http.client import HTTPResponse
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from server import connections
from server.protocol import HttpProtocol

# As the JDK's HttpClient writes it.
OFFER = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
BODY = b'{"prompt": "x"}'


async def echo(request: Request) -> JSONResponse:
    return JSONResponse(
        {
            "method": request.method,
            "target": f"{request.url.path}?{request.url.query}",
            "accept": request.headers.get("accept"),
            "body": (await request.body()).decode(),
        }
    )


async def answer_late(request: Request) -> JSONResponse:
    await asyncio.sleep(float(request.query_params["s"]))
    return JSONResponse("late")


GONE = threading.Event()


async def wait_until_gone(request: Request) -> JSONResponse:
    await request.body()
    while (await request.receive())["type"] != "http.disconnect":
        pass
    GONE.set()
    return JSONResponse("nobody reads this")


async def answer_early(request: Request) -> JSONResponse:
    return JSONResponse("who are you?", 401)  # whatever the body says


NUM_PIECES = 128
PIECES_SENT: list[int] = []


async def answer_in_pieces(request: Request) -> StreamingResponse:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(NUM_PIECES):
            yield b"x" * 65536
            PIECES_SENT.append(number)

    return StreamingResponse(pieces())


async def stream_slowly(request: Request) -> StreamingResponse:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(10):
            yield b"<%d>" % number
            await asyncio.sleep(0.1)

    return StreamingResponse(pieces())


async def answer_much(request: Request) -> JSONResponse:
    return JSONResponse("x" * int(request.query_params["n"]))


@pytest.fixture(scope="module")
def server() -> Iterator[uvicorn.Server]:
    """An echo behind the protocol, in a thread."""
    app = Starlette(
        routes=[
            Route("/late", answer_late, methods=["GET", "POST"]),
            Route("/early", answer_early, methods=["POST"]),
            Route("/pieces", answer_in_pieces),
            Route("/slowly", stream_slowly),
            Route("/much", answer_much),
            Route("/until-gone", wait_until_gone, methods=["POST"]),
            Route("/{rest:path}", echo, methods=["GET", "POST"]),
        ]
    )
    config = uvicorn.Config(app, http=HttpProtocol, ws="none", log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        run = server.serve(sockets=[listener])
        thread = threading.Thread(target=lambda: asyncio.run(run), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield server
        server.should_exit = True
        thread.join(30)


@pytest.fixture(scope="module")
def port(server: uvicorn.Server) -> int:
    found: int = server.servers[0].sockets[0].getsockname()[1]
    return found


@pytest.fixture
def connection(port: int) -> Iterator[socket.socket]:
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as found:
        yield found


def answer(connection: socket.socket) -> tuple[int, Any]:
    """The status and the JSON of the next answer."""
    response = HTTPResponse(connection)
    response.begin()
    return response.status, json.loads(response.read())


def post(extra: str = OFFER) -> bytes:
    head = f"POST /v1/x?a=%20b HTTP/1.1\r\nHost: here\r\nAccept: text/x\r\n{extra}"
    return head.encode()


SENT = {"method": "POST", "target": "/v1/x?a=%20b", "accept": "text/x", "body": BODY.decode()}


def test_a_request_that_offers_http_2_is_answered_in_http_1(connection: socket.socket) -> None:
    for _ in range(2):  # the connection stays open
        connection.sendall(post() + f"Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY)
        assert answer(connection) == (200, SENT)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_wherever_it_is_cut(connection: socket.socket, is_chunked: bool) -> None:
    length = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(BODY)}"
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY) if is_chunked else BODY
    request = post() + f"{length}\r\n\r\n".encode() + body
    head = request.index(b"\r\n\r\n") + 4
    for cut in (5, 40, head - 2, head, head + 3):
        connection.sendall(request[:cut])
        time.sleep(0.05)  # so that the two parts are received by themselves
        connection.sendall(request[cut:])
        assert answer(connection) == (200, SENT)


def test_a_get_with_an_offer_and_those_behind_it(connection: socket.socket) -> None:
    get = f"GET /models HTTP/1.1\r\nHost: here\r\n{OFFER}\r\n".encode()
    plain = post("") + f"Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY
    connection.sendall(get + plain + get)
    expected = {"method": "GET", "target": "/models?", "accept": None, "body": ""}
    responses = connection.makefile("rb").read1  # all three may come together
    received = b""
    while received.count(b"HTTP/1.1 200") < 3 or not received.endswith(b"}"):
        received += responses(65536)
    bodies = [json.loads(part.split(b"\r\n\r\n")[1]) for part in received.split(b"HTTP/1.1 ")[1:]]
    assert bodies == [expected, SENT, expected]


def test_many_offers_at_once(connection: socket.socket) -> None:
    get = f"GET /m HTTP/1.1\r\nHost: h\r\n{OFFER}\r\n".encode()
    threading.Thread(target=connection.sendall, args=(get * 3000,), daemon=True).start()
    received = bytearray()
    while received.count(b"HTTP/1.1 200 ") < 3000:
        part = connection.recv(1 << 20)
        assert part, received[-500:]
        received += part


def test_an_offer_on_a_connection_that_is_to_be_closed(connection: socket.socket) -> None:
    offer = "Connection: close, Upgrade\r\nUpgrade: h2c\r\n"
    length = f"Content-Length: {len(BODY)}\r\n\r\n".encode()
    connection.sendall(post(offer) + length + BODY + post("") + length + BODY)
    assert answer(connection) == (200, SENT)
    assert connection.recv(100) == b""


def test_what_is_no_request_is_refused(connection: socket.socket) -> None:
    connection.sendall(b"GET\r\n\r\n")
    assert b" 400 " in connection.recv(100)


def test_a_connect_is_refused_and_ends_nothing(port: int, connection: socket.socket) -> None:
    connection.sendall(b"CONNECT here:1 HTTP/1.1\r\nHost: here:1\r\nUpgrade: h2c\r\n\r\n")
    assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as other:
        other.sendall(post() + f"Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY)
        assert answer(other) == (200, SENT)


CHUNKED = b"POST /v1/x HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"


def send_without_end(connection: socket.socket, first: bytes, again: bytes) -> bytes:
    """What is answered to `first` and then `again` and again, 8 MiB at most; sent until then."""
    with contextlib.suppress(ConnectionError):
        connection.sendall(first)
        for _ in range((8 << 20) // len(again)):
            connection.settimeout(0.001)
            with contextlib.suppress(TimeoutError):
                return connection.recv(4096)
            connection.settimeout(30)
            connection.sendall(again)
    return b""


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"GET /m HTTP/1.1\r\n", b"X: a\r\n" * 3000),
        (b"GET /m HTTP/1.1\r\nX: ", b"a" * 30_000),
        (b"GET /", b"a" * 30_000),
        (CHUNKED, b"X: a\r\n" * 3000),
        (CHUNKED + b"X: ", b"a" * 30_000),
    ],
)
def test_a_head_without_end_is_refused(
    connection: socket.socket, first: bytes, again: bytes
) -> None:
    assert b" 431 " in send_without_end(connection, first, again)


@pytest.mark.parametrize("num_bytes", [66_000, 100_000, 200_000])
@pytest.mark.parametrize("head", ["GET /m HTTP/1.1\r\nX: %s\r\n\r\n", "GET /%s HTTP/1.1\r\n\r\n"])
def test_a_head_that_is_too_large_is_refused_however_it_comes(
    connection: socket.socket, head: str, num_bytes: int
) -> None:
    connection.sendall((head % ("a" * num_bytes)).encode())
    assert answer(connection)[0] == 431


def test_a_head_may_be_large_and_a_body_larger(connection: socket.socket) -> None:
    many = "".join(f"X-{n}: {'a' * 500}\r\n" for n in range(100))
    body = b"b" * (1 << 20)
    connection.sendall(post(many) + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert answer(connection) == (200, {**SENT, "body": body.decode()})


GET = b"GET /m HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.mark.parametrize("comes_later", [False, True])
@pytest.mark.parametrize("behind", [b"", GET, GET[:6], GET * 5])
def test_a_request_is_told_that_its_client_is_gone(
    connection: socket.socket, behind: bytes, comes_later: bool
) -> None:
    GONE.clear()
    head = b"POST /until-gone HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\nx"
    if comes_later:
        connection.sendall(head)
        time.sleep(0.2)
        connection.sendall(behind)
    else:
        connection.sendall(head + behind)
    assert not GONE.wait(0.2)
    connection.close()
    assert GONE.wait(10)


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SILENCE_S", 0.7)


HALF = b"POST /early HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nabc"
LATE = b"GET /late?s=1.5 HTTP/1.1\r\nHost: here\r\n\r\n"
SLOWLY = b"GET /slowly HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        ([b""], []),
        ([GET[:20]], ["408"]),
        ([HALF.replace(b"/early", b"/v1/x")], ["408"]),
        ([GET + GET[:3]], ["200", "408"]),
        ([GET, b"\r\n"], ["200"]),  # the blank line stops uvicorn's own timer
        ([HALF], ["401"]),
        ([HALF, b"def"], ["401"]),
        ([HALF, b"defghi"], ["401"]),  # as the end of a body does that came too late
        ([LATE + HALF], ["200", "401"]),  # what is whole is answered first
        ([LATE + HALF.replace(b"/early", b"/v1/x")], ["200", "408"]),
        ([LATE + GET + GET[:9]], ["200", "200", "408"]),
        ([LATE, b"garbage\r\n\r\n"], ["200"]),
        ([SLOWLY, b"garbage\r\n\r\n"], ["200"]),
        ([SLOWLY + GET, HALF[:-3] + GET * 2, b"garbage\r\n\r\n"], ["200", "200", "401"]),
        ([GET, b"garbage\r\n\r\n"], ["200", "400"]),
        ([LATE + GET, b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 30_000], ["200", "200"]),
    ],
)
def test_a_connection_without_a_whole_request_ends(
    port: int, sent: list[bytes], statuses: list[str]
) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as client:
        for part in sent:
            client.sendall(part)
            time.sleep(0.1)
        received = client.makefile("rb").read().decode()
    assert re.findall(r"HTTP/1\.1 (\d+) ", received) == statuses
    if sent[0].startswith(SLOWLY):
        assert all(f"<{number}>" in received for number in range(10))


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("last", ["garbage\r\n\r\n", "half-close", ""])
def test_a_connection_whose_answer_nobody_takes_ends(
    server: uvicorn.Server, port: int, last: str
) -> None:
    """Also where what is left of the answer is little."""
    with contextlib.ExitStack() as stack:
        for num_bytes in range(60_000, 3_000_000, 300_000):
            client = stack.enter_context(contextlib.closing(socket.socket()))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", port))
            client.sendall(b"GET /much?n=%d HTTP/1.1\r\nHost: here\r\n\r\n" % num_bytes)
            time.sleep(0.1)
            if last == "half-close":
                client.shutdown(socket.SHUT_WR)
            else:
                client.sendall(last.encode())
        end = time.monotonic() + 10
        while server.server_state.connections and time.monotonic() < end:
            time.sleep(0.1)
        assert not server.server_state.connections


def test_trailers_are_no_headers(connection: socket.socket) -> None:
    connection.sendall(CHUNKED + b"Accept: text/trailer\r\n\r\n")
    assert answer(connection)[1]["accept"] is None


def test_a_client_that_waits_to_send_its_body_may_ask_anew(connection: socket.socket) -> None:
    """An answer that needs no body leaves it open whether one comes."""
    expecting = HALF.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")[:-3]
    connection.sendall(expecting)
    received = connection.makefile("rb").read()
    assert received.startswith(b"HTTP/1.1 401 ") and b"connection: close" in received


@pytest.mark.usefixtures("_hasty")
def test_answers_may_take_their_time(port: int) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=30)) as client:
        client.sendall(LATE + LATE[:9])
        assert answer(client) == (200, "late")
        client.sendall(LATE[9:])
        assert answer(client) == (200, "late")


def test_a_large_answer_is_not_hidden_in_the_systems_buffers(port: int) -> None:
    """What the client has not taken must be seen to be left, or slow reading looks like none."""
    with contextlib.closing(socket.socket()) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET /pieces HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        end = time.monotonic() + 30
        while not PIECES_SENT and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)  # for as many more as there is room for
        assert 0 < len(PIECES_SENT) < 32
        client.settimeout(60)
        assert len(client.makefile("rb").read()) > NUM_PIECES * 65536
