"""HTTP of `yaie serve`: upgrade offers and malformed requests."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable
from typing import Any

import httptools
import pytest
import uvicorn
from uvicorn.lifespan.on import LifespanOn
from uvicorn.middleware import proxy_headers
from uvicorn.protocols.http import flow_control, httptools_impl

from tests.server.wire import Wire

# As the JDK's HttpClient writes it.
OFFER = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
BODY = b'{"prompt": "x"}'
SENT = {"method": "POST", "target": "/v1/x?a=%20b", "accept": "text/x", "body": BODY.decode()}
HTTP_2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(BODY)


def post(extra: str = OFFER) -> bytes:
    head = f"POST /v1/x?a=%20b HTTP/1.1\r\nHost: here\r\nAccept: text/x\r\n{extra}"
    return head.encode()


def answers(wire: Wire) -> list[tuple[int, Any]]:
    return [(status, json.loads(body)) for status, body in wire.responses()]


def message_of(wire: Wire) -> tuple[int, str]:
    ((status, body),) = answers(wire)
    return status, body["error"]["message"]


def test_an_upgrade_offer_is_answered_in_http_1(wire: Wire) -> None:
    for _ in range(2):  # the connection stays open
        wire.feed(post() + LENGTH + BODY)
        assert answers(wire) == [(200, SENT)]


@pytest.mark.parametrize("is_chunked", [False, True])
def test_an_offer_is_read_however_it_is_cut(connect: Callable[[], Wire], is_chunked: bool) -> None:
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY) if is_chunked else BODY
    length = b"Transfer-Encoding: chunked\r\n\r\n" if is_chunked else LENGTH
    request = post() + length + body
    for cut in range(1, len(request)):
        wire = connect()
        wire.feed(request[:cut], request[cut:])
        assert answers(wire) == [(200, SENT)], cut


def test_requests_behind_an_offer_are_answered(wire: Wire) -> None:
    get = f"GET /models HTTP/1.1\r\nHost: here\r\n{OFFER}\r\n".encode()
    wire.feed(get + post("") + LENGTH + BODY + get)
    expected = {"method": "GET", "target": "/models?", "accept": None, "body": ""}
    assert answers(wire) == [(200, expected), (200, SENT), (200, expected)]


def test_many_offers_at_once_are_answered(wire: Wire) -> None:
    get = f"GET /m HTTP/1.1\r\nHost: h\r\n{OFFER}\r\n".encode()
    wire.feed(get * 500, get * 500)
    wire.wait(1)
    assert [status for status, _ in wire.responses()] == [200] * 1000


def test_an_offer_does_not_keep_a_connection_open(wire: Wire) -> None:
    offer = "Connection: close, Upgrade\r\nUpgrade: h2c\r\n"
    wire.feed(post(offer) + LENGTH + BODY + post("") + LENGTH + BODY)
    assert answers(wire) == [(200, SENT)]
    assert wire.is_closed


@pytest.mark.parametrize(
    "garbage", [b"GET\r\n\r\n", HTTP_2_PREFACE, b"PRI * HTTP/2.1\r\n\r\n", b"\x16\x03\x01\x02"]
)
def test_malformed_requests_are_refused(wire: Wire, garbage: bytes) -> None:
    wire.feed(garbage)
    assert message_of(wire) == (400, "this is not a valid HTTP/1.1 request")
    assert wire.is_closed


def test_a_connect_is_refused(connect: Callable[[], Wire]) -> None:
    wire, other = connect(), connect()
    wire.feed(b"CONNECT here:1 HTTP/1.1\r\nHost: here:1\r\nUpgrade: h2c\r\n\r\n")
    assert [status for status, _ in wire.responses()] == [400]
    other.feed(post() + LENGTH + BODY)
    assert answers(other) == [(200, SENT)]


# Private parts of these are overridden or used. After an upgrade of uvicorn: read its changes to
# them, adapt `connection_limits.py`, `protocol.py` and `web_server.py` in `yaie/server/http`, then
# the pin and this digest.
UVICORN_MINOR = "0.54"
UVICORN_DIGEST = "06a46dfea04ad050"


def test_uvicorn_is_the_one_the_protocol_was_written_for() -> None:
    parts = (
        httptools_impl.HttpToolsProtocol,
        httptools_impl.RequestResponseCycle,
        flow_control.FlowControl,
        proxy_headers.ProxyHeadersMiddleware,
        proxy_headers._TrustedHosts,
        uvicorn.Server.startup,
        LifespanOn.__init__,
    )
    source = "".join(inspect.getsource(part) for part in parts)
    assert uvicorn.__version__.rpartition(".")[0] == UVICORN_MINOR
    assert hashlib.sha256(source.encode()).hexdigest()[:16] == UVICORN_DIGEST
    assert hasattr(httptools.HttpRequestParser, "set_dangerous_leniencies")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_http_1_0_gets_no_chunks(connect: Callable[[], Wire], method: str) -> None:
    wire = connect()
    wire.feed(f"{method} /slowly HTTP/1.0\r\n\r\n".encode())
    wire.wait(120)
    head, _, body = wire.read().partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head and b"connection: close" in head
    assert body == (b"" if method == "HEAD" else b"".join(b"<%d>" % at for at in range(10)))
    assert wire.is_closed


def test_http_1_0_gets_lengths_that_are_known(wire: Wire) -> None:
    wire.feed(b"GET /much?n=5 HTTP/1.0\r\n\r\n")
    assert wire.responses() == [(200, b"xxxxx")]
    assert wire.is_closed
