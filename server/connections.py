"""What one connection may cost: how long a request's head may be, and how long nothing may happen.

The base of `server.protocol`. uvicorn's fast parser takes heads without end, lets a connection wait
for ever for a request that began, and tells only the newest of several requests on a connection
that their client is gone. A body's size is limited in `server.middleware`.
"""

from __future__ import annotations

import asyncio
import itertools

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from server.errors import HeadTooLarge, RequestIncomplete, error_body
from yaie.errors import YaieError

# Of a head, or of what else comes without a byte of a body. What came together is not cut up, so
# that a head may be longer by what a socket is read in one go.
MAX_HEAD_BYTES = 64 * 1024
# For the head of a request, from its first byte or from when the connection was made; for the next
# bytes of a body; and for a client to take the end of its answers. Twice as long for 64 KiB of one,
# as `server.streaming` gives up first.
SILENCE_S = 60.0
_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


class BoundedProtocol(HttpToolsProtocol):
    """Ends connections that cost more than a request is worth."""

    _answering: RequestResponseCycle | None = None
    _num_bytes_of_head = 0
    _is_in_body = False
    _silence: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; it must soon say what it wants."""
        super().connection_made(transport)
        self._wait_for_more()

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
        if self.transport.is_closing():
            return
        if self._num_bytes_of_head > MAX_HEAD_BYTES:
            what = f"the head of the request has more than {MAX_HEAD_BYTES} bytes; send less"
            self._refuse(HeadTooLarge(what))
        elif self._is_in_body:
            self._wait_for_more()

    def feed(self, data: bytes) -> None:
        """Parse what came."""
        super().data_received(data)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._num_bytes_of_head = 0
        self._wait_for_more()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._num_bytes_of_head = 0
        self._is_in_body = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._num_bytes_of_head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole; what follows is waited for by uvicorn."""
        self._num_bytes_of_head = 0
        self._is_in_body = False
        if self._silence is not None:
            self._silence.cancel()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer was written; it must be taken before the connection can end."""
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

    def _wait_for_more(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self._silence = self.loop.call_later(SILENCE_S, self._has_been_silent)

    def _has_been_silent(self) -> None:
        if self.flow.read_paused or (self._is_answering and not self._is_in_body):
            self._wait_for_more()  # for us, or for an answer before this request's
        elif self.scope is None:  # no request ever began
            self.transport.close()
        else:
            self._refuse(
                RequestIncomplete(f"nothing more of the request came for {SILENCE_S:g} seconds")
            )

    @property
    def _is_answering(self) -> bool:
        return self._answering is not None and not self._answering.response_complete

    def _refuse(self, error: YaieError) -> None:
        """Say why and close, but not in the middle of an answer."""
        has_begun = self._answering is not None and self._answering.response_started
        if not (has_begun and self._is_answering):
            body = msgspec.json.encode(error_body(error))
            head = (
                f"HTTP/1.1 {error.status} {_REASONS[error.status]}\r\n"
                "content-type: application/json\r\nconnection: close\r\n"
                f"content-length: {len(body)}\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()
        self.loop.call_later(SILENCE_S, self.transport.abort)
