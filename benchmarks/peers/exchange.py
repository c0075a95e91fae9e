"""One HTTP request on a connection of its own, with minimal client overhead.

A general HTTP client takes some milliseconds to send a request: thirty-two simultaneous ones would
spread out, and on a small machine the client's CPU time is the server's loss. Here requests are
bytes before the clock starts, and httptools parses the response. Called by `client`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httptools

from yaie.base.errors import YaieError


class PeerFailed(YaieError):
    """A peer cannot start, or answered wrongly."""

    code = "peer_failed"


def post_request(base_url: str, path: str, body: bytes) -> bytes:
    """Return a POST of JSON as bytes; the server closes the connection after its response."""
    lines = (
        f"POST {path} HTTP/1.1",
        f"Host: {urlsplit(base_url).netloc}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


async def exchange(base_url: str, request: bytes, read: Callable[[bytes], None]) -> None:
    """Send a request and pass every part of the response's body to `read` as it arrives.

    Raises `PeerFailed` if the connection fails, the status is an error, or the response breaks off;
    and the errors of `read`.
    """
    where = urlsplit(base_url)
    loop = asyncio.get_running_loop()
    try:
        transport, answer = await loop.create_connection(
            lambda: _Exchange(request, read), where.hostname or "127.0.0.1", where.port or 80
        )
    except OSError as error:
        raise PeerFailed(f"cannot connect to {base_url}: {error}") from None
    try:
        await answer.done
    finally:
        transport.abort()
    if answer.status != HTTPStatus.OK:
        text = answer.refusal.decode(errors="replace")
        raise PeerFailed(f"HTTP {answer.status}: {text[:300]}")


class _Exchange(asyncio.Protocol):
    """asyncio calls the methods of a protocol, httptools the `on_` methods."""

    def __init__(self, request: bytes, read: Callable[[bytes], None]) -> None:
        self._request = request
        self._read = read
        self._parser: Any = httptools.HttpResponseParser(self)
        self._says_its_length = False
        self.status = 0
        self.refusal = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self.done.done():
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:  # raised by `read`
            self._end(error.__context__ or error)
        except httptools.HttpParserError as error:
            self._end(PeerFailed(f"the answer is not HTTP: {error}"))

    def connection_lost(self, error: Exception | None) -> None:
        is_whole = self.status and not self._says_its_length and error is None
        self._end(None if is_whole else PeerFailed("the connection broke off inside an answer"))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._says_its_length |= name.lower() in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        if self.status == HTTPStatus.OK:
            self._read(body)
        else:
            self.refusal += body

    def on_message_complete(self) -> None:
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)
