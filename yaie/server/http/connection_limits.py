"""Limits of one connection: a request's head, the rate of its body, and idle time.

Base of `yaie.server.http.protocol`. uvicorn's fast parser accepts heads of any length and without a
host, waits forever for the rest of a request, and reports a disconnect only to the newest of
several pipelined requests. The size of a body is limited in `yaie.server.http.middleware`.

Overrides private methods of uvicorn's protocol: `pyproject.toml` pins its minor version, and a test
compares its code with a digest.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import socket

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from yaie.base.errors import InvalidRequest, YaieError
from yaie.server.http import connection_room
from yaie.server.http.fast_writes import EXTENSION, WRITER, FastWriter
from yaie.server.http.http_errors import HeadTooLarge, RequestIncomplete, error_reply

# Of a head, or of any other bytes outside a body.
MAX_HEAD_BYTES = 64 * 1024
# Until a request begins, until the rest of its head, between parts of its body, and until a client
# takes the end of its responses. Twice as long for 64 KiB of a response:
# `yaie.server.replies.delivery` times out first.
IDLE_TIMEOUT_S = 60.0
# Least rate of a body after that time. It limits the time of a body too, since its size is limited.
LEAST_BODY_BYTES_PER_S = 4096
# Pipelined requests after the one in progress. Beyond it reading is paused, and a disconnect goes
# unnoticed.
MAX_PIPELINED = 16
# By default the system buffers megabytes of a response and reports the socket writable again only
# after a third of them is gone.
_UNSENT_BYTES = 64 * 1024
_HEAD_TOO_LARGE = f"the request head has more than {MAX_HEAD_BYTES} bytes; send less"
_HOST = re.compile(rb"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*")
_INCOMPLETE = f"the rest of the request did not arrive within {IDLE_TIMEOUT_S:g} s"
_TOO_SLOW = (
    f"the body arrived at less than {LEAST_BODY_BYTES_PER_S} bytes a second; send it faster, or in "
    "smaller requests"
)
_REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 connection with limits on head size, body rate and idle time.

    uvicorn's parser calls the `on_...` methods for pipelined requests while the first of them is
    in progress.
    """

    _latest_started: RequestResponseCycle | None = None  # in progress, or completed last
    _num_head_bytes = 0  # bytes in the target and the complete headers
    _num_unparsed_bytes = 0  # received after the last callback of the parser
    _is_in_head = _is_in_body = False  # position in the request being read
    _ignores_input = False  # after a refusal
    _active_at = 0.0  # loop time of the last progress, by either side
    _body_due = 0.0  # loop time until which the received part of a body suffices
    _paused_at: float | None = None  # loop time at which the server stopped reading the body
    _fault = ""  # of a complete head
    _is_for_probes = False  # beyond the room for connections
    _idle_timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._is_for_probes = not connection_room.room.enter(self)
        self._active_at = self.loop.time()
        self._idle_timer = self.loop.call_later(IDLE_TIMEOUT_S, self._check_idle)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            with contextlib.suppress(OSError, AttributeError):  # not TCP
                connection = transport.get_extra_info("socket")
                option = (socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)
                connection.setsockopt(*option, _UNSENT_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the disconnect to every request of the connection; uvicorn tells the newest."""
        for timer in (self._idle_timer, self._unread_timer):
            if timer is not None:
                timer.cancel()
        connection_room.room.leave(self)
        queued = (cycle for cycle, _ in self.pipeline)
        for cycle in itertools.chain(filter(None, [self._latest_started]), queued):
            if not cycle.response_complete:
                cycle.disconnected = True
            cycle.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, and refuse a head that grows too large."""
        if self._ignores_input:
            return
        self._num_unparsed_bytes += len(data)
        self.feed(data)
        if self._has_large_head and not self._ignores_input:
            self._refuse(HeadTooLarge(_HEAD_TOO_LARGE))

    def feed(self, data: bytes) -> None:
        """Parse received bytes."""
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Note the first byte of a request."""
        self._is_in_head = True
        self._note_progress()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count a part of a request target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count and add a header; count and drop a trailer, which must not pass for a header."""
        self._count(len(name) + len(value) + 4)
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start a request whose head is complete, or queue it."""
        if self._has_large_head:
            # Ends the parsing; `send_400_response` is called next.
            raise ValueError(_HEAD_TOO_LARGE)
        if fault := find_fault(self.headers, self.parser.get_http_version()):
            self._fault = fault
            raise ValueError(fault)
        super().on_headers_complete()
        self._is_in_head, self._is_in_body = False, True
        self._note_progress()
        self._body_due, self._paused_at = self._active_at + IDLE_TIMEOUT_S, None
        if self.expect_100_continue:
            # After an early response the client may or may not send its body.
            self.cycle.keep_alive = False
        if len(self.pipeline) <= MAX_PIPELINED:
            self.flow.resume_reading()  # notices a disconnect

    def on_body(self, body: bytes) -> None:
        """Note a part of a body, which earns time for the next one."""
        self._note_progress()
        if self._paused_at is not None:
            self._body_due += self._active_at - self._paused_at
        self._body_due += len(body) / LEAST_BODY_BYTES_PER_S
        super().on_body(body)
        self._paused_at = self._active_at if self.flow.read_paused else None

    def on_message_complete(self) -> None:
        """Note the end of a request."""
        self._is_in_body = False
        self._note_progress()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Restart the timeouts: the client may have waited for this response."""
        self._active_at = self.loop.time()
        connection_room.room.note_use(self)
        self._body_due = max(self._body_due, self._active_at + IDLE_TIMEOUT_S)
        super().on_response_complete()
        if self._is_in_head:  # uvicorn's keep-alive timeout is for a connection without a request
            self._unset_keepalive_if_required()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that the parser rejected."""
        if self._has_large_head:
            self._refuse(HeadTooLarge(_HEAD_TOO_LARGE))
        else:
            self._refuse(InvalidRequest(self._fault or "this is not a valid HTTP/1.1 request"))

    def pause_writing(self) -> None:
        """Give the client a time limit for reading the buffered part of a response."""
        super().pause_writing()
        self._unread_timer = self.loop.call_later(2 * IDLE_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Lift the time limit."""
        super().resume_writing()
        if self._unread_timer is not None:
            self._unread_timer.cancel()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: object) -> None:
        self._latest_started = cycle
        # Values are dictionaries by ASGI's types; the application and this protocol share this one.
        cycle.scope.setdefault("extensions", {})[EXTENSION] = {WRITER: FastWriter(cycle)}
        if self._is_for_probes and not connection_room.is_probe(cycle.scope):  # type: ignore[arg-type]
            app = connection_room.refuse_beyond_room
        super()._start_asgi_task(cycle, app)  # type: ignore[arg-type]

    @property
    def is_idle(self) -> bool:
        """True without a request in progress."""
        return self._in_progress is None

    def end(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _count(self, num_bytes: int) -> None:
        self._num_head_bytes += num_bytes
        self._num_unparsed_bytes = 0

    @property
    def _has_large_head(self) -> bool:
        return self._num_head_bytes + self._num_unparsed_bytes > MAX_HEAD_BYTES

    def _note_progress(self) -> None:
        """Restart the idle timeout and the count of a head's bytes."""
        self._num_head_bytes = self._num_unparsed_bytes = 0
        self._active_at = self.loop.time()

    def _check_idle(self) -> None:
        """End an idle connection or a slow body; runs until the connection is lost."""
        if self.transport.is_closing():  # the client has yet to read the end of a response
            self._idle_timer = self.loop.call_later(IDLE_TIMEOUT_S, self.transport.abort)
            return
        now = self.loop.time()
        # A response in progress, or a pause in reading, is the server's time and not the client's.
        waits = self.flow.read_paused or (
            self._in_progress is not None and not self._is_reading_body_in_progress
        )
        if waits:
            self._active_at = now
        left_s = self._active_at + IDLE_TIMEOUT_S - now
        is_slow = self._is_in_body and not waits and self._body_due <= now
        if left_s <= 0 or is_slow:
            left_s = IDLE_TIMEOUT_S
            if self._is_in_head or self._is_in_body:
                self._refuse(RequestIncomplete(_TOO_SLOW if is_slow else _INCOMPLETE))
            else:
                self.transport.close()
        elif self._is_in_body and not waits:
            left_s = min(left_s, self._body_due - now)
        self._idle_timer = self.loop.call_later(left_s, self._check_idle)

    @property
    def _in_progress(self) -> RequestResponseCycle | None:
        """Request whose response is not complete."""
        latest = self._latest_started
        return None if latest is None or latest.response_complete else latest

    @property
    def _is_reading_body_in_progress(self) -> bool:
        return self._is_in_body and self.cycle is self._latest_started

    def _refuse(self, error: YaieError) -> None:
        """Ignore further input, answer with the error and close.

        Complete requests before the refused bytes are answered first. The error is then omitted:
        the client would take it for the response to one of them.
        """
        self._ignores_input = True
        first = self._in_progress
        if first is not None and not self._is_reading_body_in_progress:
            if self._is_in_body:
                self.pipeline.popleft()  # the incomplete request
            last = self.pipeline[0][0] if self.pipeline else first
            last.keep_alive = False
            return
        has_begun = self._is_in_body and self.cycle.response_started
        if not has_begun:
            body = msgspec.json.encode(error_reply(error))
            head = (
                f"HTTP/1.1 {error.status} {_REASONS[error.status]}\r\n"
                "content-type: application/json\r\nconnection: close\r\n"
                f"content-length: {len(body)}\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


def find_fault(headers: list[tuple[bytes, bytes]], http_version: str) -> str:
    """Return why a head must be refused (RFC 9112, 3.2 and 6.1); empty for a good one.

    Names of headers are in lower case.
    """
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (not hosts and http_version != "1.0"):
        return f"the request has {len(hosts) or 'no'} Host headers; send one"
    if hosts and not _HOST.fullmatch(hosts[0]):
        return "the Host header is not a host name with an optional port"
    codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if codings and (codings != [b"chunked"] or http_version == "1.0"):
        return "the only Transfer-Encoding of a request is chunked, in HTTP/1.1; send it that way"
    return ""
