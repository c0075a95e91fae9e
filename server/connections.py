"""What one connection may cost: how long a request's head may be, and how long nothing may happen.

The base of `server.protocol`. uvicorn's fast parser takes heads without end, lets a connection wait
for ever for a request that began, and tells only the newest of several requests on a connection
that their client is gone. A body's size is limited in `server.middleware`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from server.errors import HeadTooLarge, RequestIncomplete, error_body
from yaie.errors import InvalidRequest, YaieError

# Of a head, or of what else comes without a byte of a body.
MAX_HEAD_BYTES = 64 * 1024
# For a request to begin, for the rest of its head, for the next bytes of its body, and for a client
# to take the end of its answers. Twice as long for 64 KiB of one, as `server.streaming` gives up
# first.
SILENCE_S = 60.0
# Requests that wait behind the one that is being answered. Behind more of them nothing is read, so
# that it is not seen either that the client has left.
MOST_QUEUED = 16
# Without it the system takes megabytes of an answer and is then silent until a third of them went.
_UNSENT_BYTES = 64 * 1024
_TOO_LARGE = f"the head of the request has more than {MAX_HEAD_BYTES} bytes; send less"
_REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class BoundedProtocol(HttpToolsProtocol):
    """Ends connections that cost more than a request is worth.

    uvicorn's parser calls the methods `on_...` for what it reads, of one request after the other,
    while the first of them is being answered.
    """

    _answering: RequestResponseCycle | None = None  # or answered last
    _num_bytes_of_head = 0  # of the target and of the headers that are whole
    _num_bytes_behind = 0  # received since then, of which the parser has not told anything
    _is_in_head = _is_in_body = False  # of a request that is being read
    _is_deaf = False  # nothing more is read, as something was refused
    _last_progress_at = 0.0  # when there last was no need to wait for the client
    _silence: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; it must soon say what it wants."""
        super().connection_made(transport)
        self._last_progress_at = self.loop.time()
        self._silence = self.loop.call_later(SILENCE_S, self._look_for_silence)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            with contextlib.suppress(OSError, AttributeError):  # not TCP
                connection = transport.get_extra_info("socket")
                option = (socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)
                connection.setsockopt(*option, _UNSENT_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell every request on the connection, not only the one that came last."""
        for timer in (self._silence, self._unread):
            if timer is not None:
                timer.cancel()
        queued = (cycle for cycle, _ in self.pipeline)
        for cycle in itertools.chain(filter(None, [self._answering]), queued):
            if not cycle.response_complete:
                cycle.disconnected = True
            cycle.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless too much has come for nothing."""
        if self._is_deaf:
            return
        self._num_bytes_behind += len(data)
        self.feed(data)
        if self._has_large_head and not self._is_deaf:
            self._refuse(HeadTooLarge(_TOO_LARGE))

    def feed(self, data: bytes) -> None:
        """Parse what came."""
        super().data_received(data)

    def on_message_begin(self) -> None:
        """The first byte of a request was read."""
        self._is_in_head = True
        self._progress()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of a target was read."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header was read, or a trailer: nobody has asked for one, and it must not pass for a
        header."""
        self._count(len(name) + len(value) + 4)
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head of a request is whole: it is answered, or waits for its turn."""
        if self._has_large_head:
            raise ValueError(_TOO_LARGE)  # ends the parsing, and `send_400_response` is called
        super().on_headers_complete()
        self._is_in_head, self._is_in_body = False, True
        self._progress()
        if self.expect_100_continue:
            # An answer that needs no body leaves it open whether one comes.
            self.cycle.keep_alive = False
        if len(self.pipeline) <= MOST_QUEUED:
            self.flow.resume_reading()  # or it is not seen that the client leaves

    def on_body(self, body: bytes) -> None:
        """A part of a body was read."""
        self._progress()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A whole request was read."""
        self._is_in_body = False
        self._progress()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer was written; the client may have waited for it before it asks again."""
        self._last_progress_at = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP, or not as the parser knows it."""
        if self._has_large_head:
            self._refuse(HeadTooLarge(_TOO_LARGE))
        else:
            self._refuse(InvalidRequest("this is no HTTP/1.1 request, or one with a mistake"))

    def pause_writing(self) -> None:
        """The client must take some of what was written; answers come in small pieces."""
        super().pause_writing()
        self._unread = self.loop.call_later(2 * SILENCE_S, self.transport.abort)

    def resume_writing(self) -> None:
        """It has."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: object) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)  # type: ignore[arg-type]

    def _count(self, num_bytes: int) -> None:
        self._num_bytes_of_head += num_bytes
        self._num_bytes_behind = 0

    @property
    def _has_large_head(self) -> bool:
        return self._num_bytes_of_head + self._num_bytes_behind > MAX_HEAD_BYTES

    def _progress(self) -> None:
        """A request gets on; what has been read of it was worth its bytes."""
        self._num_bytes_of_head = self._num_bytes_behind = 0
        self._last_progress_at = self.loop.time()

    def _look_for_silence(self) -> None:
        """Called until the connection is lost."""
        if self.transport.is_closing():  # but there is something left that the client must take
            self._silence = self.loop.call_later(SILENCE_S, self.transport.abort)
            return
        now = self.loop.time()
        # It is the client that is waited for, unless an answer, or reading on, is our own part.
        if self.flow.read_paused or (self._unanswered and not self._is_reading_what_it_answers):
            self._last_progress_at = now
        left_s = self._last_progress_at + SILENCE_S - now
        if left_s <= 0:
            left_s = SILENCE_S
            if self._is_in_head or self._is_in_body:
                what = f"nothing more of the request came for {SILENCE_S:g} seconds"
                self._refuse(RequestIncomplete(what))
            else:
                self.transport.close()
        self._silence = self.loop.call_later(left_s, self._look_for_silence)

    @property
    def _unanswered(self) -> RequestResponseCycle | None:
        """What is being answered now."""
        answering = self._answering
        return None if answering is None or answering.response_complete else answering

    @property
    def _is_reading_what_it_answers(self) -> bool:
        return self._is_in_body and self.cycle is self._answering

    def _refuse(self, error: YaieError) -> None:
        """Read nothing more; say why, where that can be said, and close.

        Whole requests before what is refused are answered first, and then there is no saying why:
        the client would take it for the answer to one of them.
        """
        self._is_deaf = True
        first = self._unanswered
        if first is not None and not self._is_reading_what_it_answers:
            if self._is_in_body:
                self.pipeline.popleft()  # the one that came last
            last = self.pipeline[0][0] if self.pipeline else first
            last.keep_alive = False
            return
        has_begun = self._is_in_body and self.cycle.response_started
        if not has_begun:
            body = msgspec.json.encode(error_body(error))
            head = (
                f"HTTP/1.1 {error.status} {_REASONS[error.status]}\r\n"
                "content-type: application/json\r\nconnection: close\r\n"
                f"content-length: {len(body)}\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()
