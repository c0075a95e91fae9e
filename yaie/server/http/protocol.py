"""HTTP/1.1 protocol of `yaie serve`: uvicorn's, with upgrade offers ignored and HTTP/2 refused.

The JDK's client sends `Upgrade: h2c` with every plain request. A server may ignore the offer and
answer in HTTP/1.1 (RFC 9110, 7.8), but uvicorn's parser stops behind such a header and loses the
body.
"""

from __future__ import annotations

import contextlib

import httptools

from yaie.server.http.connection_limits import BoundedProtocol
from yaie.server.http.http2 import PREFACE, Http2Refusal


class HttpProtocol(BoundedProtocol):
    """Connection that reads a request with an upgrade offer as one without."""

    _start = b""  # first bytes of the connection, as long as they may be HTTP/2's preface
    _is_http1 = False
    _http2: Http2Refusal | None = None

    def feed(self, data: bytes) -> None:
        """Parse received bytes; a head with an offer is parsed a second time without it."""
        self._unset_keepalive_if_required()
        if not self._is_http1:
            data = self._tell_version(data)
        rest = memoryview(data)
        try:
            while rest:
                rest = self._parse(rest)
        except httptools.HttpParserError as error:
            self.logger.warning("unreadable request: %s", error)
            self.send_400_response(str(error))

    def _tell_version(self, data: bytes) -> bytes:
        """Return the bytes to parse as HTTP/1.1, none while the version is unknown or HTTP/2."""
        if self._http2 is None:
            self._start += data
            if not self._start.startswith(PREFACE):
                if PREFACE.startswith(self._start):
                    return b""
                self._is_http1 = True
                return self._start
            self._http2 = Http2Refusal()
            data = self._start[len(PREFACE) :]
        if refusal := self._http2.feed(data):
            self._ignores_input = True
            self.transport.write(refusal)
            self.transport.close()
        return b""

    def _parse(self, data: memoryview) -> memoryview:
        """Return the bytes behind a head with an offer; empty without an offer."""
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
