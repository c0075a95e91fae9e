"""Limits of one connection: size of a request's head and idle time.

Base of `yaie.server.http.protocol`. uvicorn's fast parser accepts heads of any length, waits
forever for the rest of a request, and reports a disconnect only to the newest of several pipelined
requests. The size of a body is limited in `yaie.server.http.middleware`.

Overrides private methods of uvicorn's protocol: `pyproject.toml` pins its minor version, and a test
compares its code with a digest.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from yaie.base.errors import InvalidRequest, YaieError
from yaie.server.http.fast_writes import EXTENSION, WRITER, FastWriter
from yaie.server.http.http_errors import HeadTooLarge, RequestIncomplete, error_reply

# Of a head, or of any other bytes outside a body.
MAX_HEAD_BYTES = 64 * 1024
# Until a request begins, until the rest of its head, between parts of its body, and until a client
# takes the end of its responses. Twice as long for 64 KiB of a response:
# `yaie.server.replies.delivery` times out first.
IDLE_TIMEOUT_S = 60.0
# Pipelined requests behind the one in progress. Beyond it reading is paused, and a disconnect goes
# unnoticed.
MAX_PIPELINED = 16
# By default the system buffers megabytes of a response and reports the socket writable again only
# after a third of them is gone.
_UNSENT_BYTES = 64 * 1024
_HEAD_TOO_LARGE = f"the request head has more than {MAX_HEAD_BYTES} bytes; send less"
_REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 connection with limits on head size and idle time.

    uvicorn's parser calls the `on_...` methods for pipelined requests while the first of them is
    in progress.
    """

    _latest_started: RequestResponseCycle | None = None  # in progress, or completed last
    _num_head_bytes = 0  # bytes in the target and the complete headers
    _num_unparsed_bytes = 0  # received after the last callback of the parser
    _is_in_head = _is_in_body = False  # position in the request being read
    _ignores_input = False  # after a refusal
    _active_at = 0.0  # loop time of the last progress, by either side
    _idle_timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
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
        super().on_headers_complete()
        self._is_in_head, self._is_in_body = False, True
        self._note_progress()
        if self.expect_100_continue:
            # After an early response the client may or may not send its body.
            self.cycle.keep_alive = False
        if len(self.pipeline) <= MAX_PIPELINED:
            self.flow.resume_reading()  # notices a disconnect

    def on_body(self, body: bytes) -> None:
        """Note a part of a body."""
        self._note_progress()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the end of a request."""
        self._is_in_body = False
        self._note_progress()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Restart the idle timeout: the client may have waited for this response."""
        self._active_at = self.loop.time()
        super().on_response_complete()
        if self._is_in_head:  # uvicorn's keep-alive timeout is for a connection without a request
            self._unset_keepalive_if_required()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that the parser rejected."""
        if self._has_large_head:
            self._refuse(HeadTooLarge(_HEAD_TOO_LARGE))
        else:
            self._refuse(InvalidRequest("this is not a valid HTTP/1.1 request"))

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
        super()._start_asgi_task(cycle, app)  # type: ignore[arg-type]

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
        """End an idle connection; runs until the connection is lost."""
        if self.transport.is_closing():  # the client has yet to read the end of a response
            self._idle_timer = self.loop.call_later(IDLE_TIMEOUT_S, self.transport.abort)
            return
        now = self.loop.time()
        # A response in progress, or a pause in reading, is the server's time and not the client's.
        if self.flow.read_paused or (self._in_progress and not self._is_reading_body_in_progress):
            self._active_at = now
        left_s = self._active_at + IDLE_TIMEOUT_S - now
        if left_s <= 0:
            left_s = IDLE_TIMEOUT_S
            if self._is_in_head or self._is_in_body:
                self._refuse(
                    RequestIncomplete(
                        f"the rest of the request did not arrive within {IDLE_TIMEOUT_S:g} s"
                    )
                )
            else:
                self.transport.close()
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

        Complete requests before the refused bytes are answered first. The error is then left out:
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
