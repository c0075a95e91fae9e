"""Limits of one connection: head size, idle time, disconnects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.test_protocol import BODY, LENGTH, SENT, answers, message_of, post
from tests.server.wire import Wire
from yaie.server.http.connection_limits import (
    IDLE_TIMEOUT_S,
    LEAST_BODY_BYTES_PER_S,
    MAX_PIPELINED,
)

GET = b"GET /m HTTP/1.1\r\nHost: here\r\n\r\n"
CHUNKED = b"POST /v1/x HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
HALF = b"POST /early HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nabc"
LATE = b"GET /late?s=100 HTTP/1.1\r\nHost: here\r\n\r\n"
SLOWLY = b"GET /slowly HTTP/1.1\r\nHost: here\r\n\r\n"


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
def test_an_endless_head_is_refused(wire: Wire, first: bytes, again: bytes) -> None:
    wire.feed(first)
    num_bytes = 0
    while not wire.is_closed:
        wire.feed(again)
        num_bytes += len(again)
        assert num_bytes < 150_000
    *_, (status, _) = wire.responses()
    assert status == 431


@pytest.mark.parametrize("num_bytes", [66_000, 100_000, 200_000])
@pytest.mark.parametrize("segment", [1460, 65_536, 1 << 20])
@pytest.mark.parametrize("head", ["GET /m HTTP/1.1\r\nX: %s\r\n\r\n", "GET /%s HTTP/1.1\r\n\r\n"])
def test_a_head_that_is_too_large_is_refused(
    wire: Wire, head: str, segment: int, num_bytes: int
) -> None:
    sent = (head % ("a" * num_bytes)).encode()
    wire.feed(*(sent[at : at + segment] for at in range(0, len(sent), segment)))
    assert message_of(wire) == (431, "the request head has more than 65536 bytes; send less")


def test_a_head_may_be_large_and_a_body_larger(wire: Wire) -> None:
    many = "".join(f"X-{n}: {'a' * 500}\r\n" for n in range(100))
    body = b"b" * (1 << 20)
    wire.feed(post(many) + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert answers(wire) == [(200, {**SENT, "body": body.decode()})]


@pytest.mark.parametrize("comes_later", [False, True])
@pytest.mark.parametrize("behind", [b"", GET, GET[:6], GET * 5])
def test_a_disconnect_reaches_a_request_in_progress(
    wire: Wire, app: Any, behind: bytes, comes_later: bool
) -> None:
    head = b"POST /until-gone HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\nx"
    wire.feed(*((head, behind) if comes_later else (head + behind,)))
    assert app.state.num_gone == 0
    assert not wire.transport.is_paused  # a paused socket would hide the disconnect
    wire.disconnect()
    assert app.state.num_gone == 1


def test_reading_pauses_behind_many_requests(wire: Wire) -> None:
    wire.feed(LATE + GET * (MAX_PIPELINED + 1))
    assert wire.transport.is_paused
    wire.wait(200)
    assert [status for status, _ in wire.responses()] == [200] * (MAX_PIPELINED + 2)


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        ([b""], []),
        ([b"P"], ["408"]),
        ([GET[:20]], ["408"]),
        ([HALF.replace(b"/early", b"/v1/x")], ["408"]),
        ([GET + GET[:3]], ["200", "408"]),  # uvicorn's keep-alive timeout must not end it
        ([GET, b"\r\n"], ["200"]),  # the blank line stops uvicorn's own timer
        ([HALF], ["401"]),
        ([HALF, b"def"], ["401"]),
        ([HALF, b"defghi"], ["401"]),  # a complete body
        ([LATE + HALF], ["200", "401"]),  # complete requests are answered first
        ([LATE + HALF.replace(b"/early", b"/v1/x")], ["200", "408"]),
        ([LATE + GET + GET[:9]], ["200", "200", "408"]),
        ([LATE, b"garbage\r\n\r\n"], ["200"]),
        ([SLOWLY, b"garbage\r\n\r\n"], ["200"]),
        ([SLOWLY + GET, HALF[:-3] + GET * 2, b"garbage\r\n\r\n"], ["200", "200", "401"]),
        ([GET, b"garbage\r\n\r\n"], ["200", "400"]),
        ([LATE + GET, b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 30_000], ["200", "200"]),
    ],
)
def test_a_connection_without_a_complete_request_ends(
    wire: Wire, sent: list[bytes], statuses: list[str]
) -> None:
    wire.feed(*sent, pause_s=1)
    wire.wait(10 * IDLE_TIMEOUT_S)
    assert wire.is_closed
    received = wire.read().decode()
    assert re.findall(r"HTTP/1\.1 (\d+) ", received) == statuses
    if sent[0].startswith(SLOWLY):
        assert all(f"<{number}>" in received for number in range(10))


def test_a_client_has_a_minute_for_the_head_and_another_for_a_short_body(wire: Wire) -> None:
    """Also after Expect: 100-continue."""
    request = post("") + b"Expect: 100-continue\r\n" + LENGTH + BODY
    at = request.index(b"\r\n\r\n") + 4
    wire.feed(request[:80], pause_s=IDLE_TIMEOUT_S / 2 - 1)
    wire.feed(request[80 : at - 1], pause_s=IDLE_TIMEOUT_S / 2 - 1)
    wire.feed(request[at - 1 : at + 1], pause_s=IDLE_TIMEOUT_S - 1)
    wire.feed(request[at + 1 :])
    assert wire.read().endswith(json.dumps(SENT, separators=(",", ":")).encode())


LARGE = b"POST %s HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\n"
NO_LENGTH = b"POST /m HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "part"),
    [(LARGE % b"/m", b"x"), (LARGE % b"/m", b"x" * 10_000), (NO_LENGTH, b"1\r\nx\r\n")],
)
def test_a_body_that_drips_is_refused(wire: Wire, head: bytes, part: bytes) -> None:
    wire.feed(head)
    while not wire.is_closed:
        wire.feed(part, pause_s=5)
        assert wire.loop.time() < 4 * IDLE_TIMEOUT_S
    assert wire.loop.time() >= IDLE_TIMEOUT_S
    if len(part) < 1000:
        assert wire.loop.time() < IDLE_TIMEOUT_S + 10
    status, message = message_of(wire)
    assert (status, message[:44]) == (408, "the body arrived at less than 4096 bytes a s")


def test_a_body_at_the_least_rate_is_taken(wire: Wire) -> None:
    body = b"b" * 1_000_000
    part = 2 * LEAST_BODY_BYTES_PER_S
    wire.feed(LARGE % b"/m")
    wire.feed(*(body[at : at + part] for at in range(0, len(body), part)), pause_s=2)
    assert wire.loop.time() > 3 * IDLE_TIMEOUT_S
    ((status, sent),) = answers(wire)
    assert status == 200 and sent["body"] == body.decode()


def test_the_time_in_which_the_server_reads_nothing_is_not_the_clients(wire: Wire) -> None:
    wire.feed(LARGE % b"/late?s=1000")
    wire.feed(b"b" * 500_000)
    assert wire.transport.is_paused
    wire.wait(1001)
    assert answers(wire) == [(200, "late")]
    wire.feed(b"b" * 500_000 + GET)
    assert [status for status, _ in wire.responses()] == [200]


@pytest.mark.parametrize(
    ("version", "headers", "said"),
    [
        ("1.1", "", "no Host headers; send one"),
        ("1.1", "Host: a\r\nhost: b\r\n", "2 Host headers; send one"),
        ("1.1", "Host: a\r\nHost: a\r\n", "2 Host headers; send one"),
        ("1.0", "Host: a\r\nHost: a\r\n", "2 Host headers; send one"),
        ("1.1", "Host: a b\r\n", "not a host name"),
        ("1.1", "Host: a/../b\r\n", "not a host name"),
        ("1.1", "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding"),
        ("1.1", "Host: a\r\nTransfer-Encoding: chunked, chunked\r\n", "HTTP/1.1 request"),
        ("1.0", "Host: a\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding"),
    ],
)
def test_an_ambiguous_head_is_refused(wire: Wire, version: str, headers: str, said: str) -> None:
    wire.feed(f"POST /m HTTP/{version}\r\n{headers}\r\n".encode() + b"1\r\nx\r\n0\r\n\r\n")
    status, message = message_of(wire)
    assert status == 400 and said in message
    assert wire.is_closed


@pytest.mark.parametrize("host", ["", "here:80", "[::1]:80", "xn--bcher-kva.example", "a_b.c"])
def test_hosts_as_clients_send_them(wire: Wire, host: str) -> None:
    wire.feed(f"GET /m HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert [status for status, _ in wire.responses()] == [200]


def test_a_stalled_head_is_named_in_the_error(wire: Wire) -> None:
    wire.feed(GET[:20])
    wire.wait(2 * IDLE_TIMEOUT_S)
    assert message_of(wire) == (408, "the rest of the request did not arrive within 60 s")


@pytest.mark.parametrize("last", [b"", b"garbage\r\n\r\n"])
def test_a_client_that_reads_nothing_is_disconnected(wire: Wire, last: bytes) -> None:
    wire.transport.keeps_output = True
    wire.feed(b"GET /much?n=100000 HTTP/1.1\r\nHost: here\r\n\r\n")
    wire.protocol.pause_writing()  # called by the transport when its buffer is full
    wire.feed(last)
    wire.wait(IDLE_TIMEOUT_S)
    assert not wire.transport.is_aborted
    wire.wait(2 * IDLE_TIMEOUT_S)
    assert wire.transport.is_aborted


def test_a_client_that_reads_again_stays_connected(wire: Wire) -> None:
    wire.feed(LATE)
    wire.protocol.pause_writing()
    wire.wait(IDLE_TIMEOUT_S)
    wire.protocol.resume_writing()
    wire.wait(100)
    assert not wire.transport.is_aborted
    assert answers(wire) == [(200, "late")]


def test_trailers_are_no_headers(wire: Wire) -> None:
    wire.feed(CHUNKED + b"Accept: text/trailer\r\n\r\n")
    ((_, body),) = answers(wire)
    assert body["accept"] is None


def test_an_early_response_ends_an_expected_body(wire: Wire) -> None:
    """After an early response the client may or may not send its body."""
    wire.feed(HALF.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")[:-3])
    received = wire.read()
    assert received.startswith(b"HTTP/1.1 401 ") and b"connection: close" in received
    assert wire.is_closed


def test_responses_may_take_longer_than_the_idle_timeout(wire: Wire) -> None:
    wire.feed(LATE + LATE[:9])
    wire.wait(101)
    assert answers(wire) == [(200, "late")]
    wire.feed(LATE[9:])
    wire.wait(101)
    assert answers(wire) == [(200, "late")]


def test_half_a_request_does_not_share_its_connection(connect: Callable[[], Wire]) -> None:
    first, second = connect(), connect()
    first.feed(GET[:10])
    second.feed(GET)
    assert [status for status, _ in second.responses()] == [200]
