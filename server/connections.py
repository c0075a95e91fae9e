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
from yaie.errors import YaieError

# Of a head, or of what else comes without a byte of a body. What came together is not cut up, so
# that a head may be longer by what a socket is read in one go.
MAX_HEAD_BYTES = 64 * 1024
# For a request to begin, for the rest of its head, for the next bytes of its body, and for a client
# to take the end of its answers. Twice as long for 64 KiB of one, as `server.streaming` gives up
# first.
SILENCE_S = 60.0
# Without it the system takes megabytes of an answer and is then silent until a third of them went.
_UNSENT_BYTES = 64 * 1024
_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


class BoundedProtocol(HttpToolsProtocol):
    """Ends connections that cost more than a request is worth."""

    _answering: RequestResponseCycle | None = None
    _num_bytes_of_head = 0
    _is_in_head = _is_in_body = False  # of a request that is being read
    _heard_at = 0.0  # when the client, or the server, last did what was to be waited for
    _silence: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; it must soon say what it wants."""
        super().connection_made(transport)
        self._heard_at = self.loop.time()
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
        self._num_bytes_of_head += len(data)
        self.feed(data)
        if self._num_bytes_of_head > MAX_HEAD_BYTES and not self.transport.is_closing():
            what = f"the head of the request has more than {MAX_HEAD_BYTES} bytes; send less"
            self._refuse(HeadTooLarge(what))

    def feed(self, data: bytes) -> None:
        """Parse what came."""
        super().data_received(data)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._is_in_head = True
        self._hear()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._is_in_head, self._is_in_body = False, True
        self._hear()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._hear()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._is_in_body = False
        self._hear()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer was written; it must be taken before the connection can end."""
        self._heard_at = self.loop.time()  # the client may have waited for it
        super().on_response_complete()
        if self.transport.is_closing():
            self.loop.call_later(SILENCE_S, self.transport.abort)

    def timeout_keep_alive_handler(self) -> None:
        """No further request came."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(SILENCE_S, self.transport.abort)

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

    def _hear(self) -> None:
        """A request gets on; what has been read of it was worth its bytes."""
        self._num_bytes_of_head = 0
        self._heard_at = self.loop.time()

    def _look_for_silence(self) -> None:
        if self.transport.is_closing():
            return
        now = self.loop.time()
        # It is the client that is waited for, unless an answer, or reading on, is our own part.
        if self.flow.read_paused or (self._is_answering and not self._is_in_body):
            self._heard_at = now
        if (left_s := self._heard_at + SILENCE_S - now) > 0:
            self._silence = self.loop.call_later(left_s, self._look_for_silence)
        elif self._is_in_head or self._is_in_body:
            what = f"nothing more of the request came for {SILENCE_S:g} seconds"
            self._refuse(RequestIncomplete(what))
        else:
            self.transport.close()
            self.loop.call_later(SILENCE_S, self.transport.abort)

    @property
    def _is_answering(self) -> bool:
        return self._answering is not None and not self._answering.response_complete

    @property
    def _may_write(self) -> bool:
        """Whether a refusal would be the answer to what is being read, and not amid another."""
        answering = self._answering
        if answering is None:
            return True
        if answering.response_complete:  # also before this request's body was there?
            return not self._is_in_body
        return not answering.response_started

    def _refuse(self, error: YaieError) -> None:
        """Say why, where that can be said, and close."""
        if self._may_write:
            body = msgspec.json.encode(error_body(error))
            head = (
                f"HTTP/1.1 {error.status} {_REASONS[error.status]}\r\n"
                "content-type: application/json\r\nconnection: close\r\n"
                f"content-length: {len(body)}\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()
        self.loop.call_later(SILENCE_S, self.transport.abort)
