"""HTTP/1.1 protocol of `yaie serve`: uvicorn's protocol, which ignores upgrade offers.

Responses to HTTP/1.0 requests are not chunked: a client of HTTP/1.0 reads a body without a length
up to the connection's end (RFC 9112, 6.1). uvicorn closes the connection, but writes chunks.

The JDK's client sends `Upgrade: h2c` with every plain request. A server may ignore the offer and
answer in HTTP/1.1 (RFC 9110, 7.8), but uvicorn's parser stops after such a header and loses the
body.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import httptools
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from yaie.server.http.connection_limits import BoundedProtocol


class HttpProtocol(BoundedProtocol):
    """Connection that reads a request with an upgrade offer as one without."""

    def feed(self, data: bytes) -> None:
        """Parse received bytes; a head with an offer is parsed a second time without it."""
        self._unset_keepalive_if_required()
        rest = memoryview(data)
        try:
            while rest:
                rest = self._parse(rest)
        except httptools.HttpParserError as error:
            self.logger.warning("unreadable request: %s", error)
            self.send_400_response(str(error))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        is_old = cycle.scope["http_version"] == "1.0"
        super()._start_asgi_task(cycle, UnframedApp(app, cycle) if is_old else app)

    def _parse(self, data: memoryview) -> memoryview:
        """Return the bytes after a head with an offer; empty without an offer."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as end:
            if self._has_offer():
                head = self._head_without_offer()
                self.parser = httptools.HttpRequestParser(self)
                with contextlib.suppress(AttributeError):  # set by uvicorn too where it exists
                    self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                self.parser.feed_data(head)
                return data[end.args[0] :]
        return data[:0]

    def on_headers_complete(self) -> None:
        """Start the request, unless its head is about to be parsed again."""
        if not self._has_offer():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the request, unless its head is about to be parsed again."""
        if not self._has_offer():
            super().on_message_complete()

    def _has_offer(self) -> bool:
        # The parser stops behind a CONNECT head too, with or without an offer.
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _head_without_offer(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [self.parser.get_method() + b" " + self.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])


class UnframedApp:
    """Application that has uvicorn's `cycle` write a body without a length as it is."""

    def __init__(self, app: ASGIApp, cycle: RequestResponseCycle) -> None:
        self._app = app
        self._cycle = cycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_unframed = False

        async def send_unframed(message: Message) -> None:
            nonlocal is_unframed
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message.get("headers", ())}
                is_unframed = b"content-length" not in names
            if is_unframed:
                # Else uvicorn adds the header and the chunks, or compares the length.
                is_last = message["type"] == "http.response.body" and not message.get("more_body")
                self._cycle.chunked_encoding = False
                self._cycle.expected_content_length = (
                    len(message.get("body", b"")) if is_last else sys.maxsize
                )
            await send(message)

        await self._app(scope, receive, send_unframed)
