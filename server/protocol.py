"""HTTP as `yaie serve` speaks it: uvicorn's own protocol, which takes no offer of another one.

What a connection may cost is bounded in `server.connections`.

The JDK's client offers `Upgrade: h2c` with every plain request. A server may answer in HTTP/1.1 all
the same (RFC 9110, 7.8), but uvicorn's parser ends behind such a header, and the body is lost.
"""

from __future__ import annotations

import contextlib

import httptools

from server.connections import BoundedProtocol


class HttpProtocol(BoundedProtocol):
    """Reads a request that offers another protocol as one that does not."""

    def feed(self, data: bytes) -> None:
        """Parse what came. A head with an offer is parsed once more, without it."""
        self._unset_keepalive_if_required()
        rest = memoryview(data)
        try:
            while rest:
                rest = self._parse(rest)
        except httptools.HttpParserError as error:
            self.logger.warning("a request that cannot be read: %s", error)
            self.send_400_response(str(error))

    def _parse(self, data: memoryview) -> memoryview:
        """What is left behind a head with an offer; nothing where there is none."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as end:
            if self._has_offer():
                head = self._head_without_offer()
                self.parser = httptools.HttpRequestParser(self)
                with contextlib.suppress(AttributeError):  # as uvicorn sets it, if it is there
                    self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                self.parser.feed_data(head)
                return data[end.args[0] :]
        return data[:0]

    def on_headers_complete(self) -> None:
        """Begin to answer, unless the head is about to be parsed again."""
        if not self._has_offer():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body is whole; a head that is about to be parsed again has none yet."""
        if not self._has_offer():
            super().on_message_complete()

    def _has_offer(self) -> bool:
        # Behind the head of a CONNECT the parser ends too, whatever it offers.
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _head_without_offer(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [self.parser.get_method() + b" " + self.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])
