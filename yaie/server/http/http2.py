"""Refusal of HTTP/2 connections, in HTTP/2, with a readable reason.

Clients with prior knowledge of HTTP/2 (`curl --http2-prior-knowledge`, gRPC) cannot read HTTP/1.1.
Frames follow RFC 9113, headers RFC 7541 without compression.
"""

from __future__ import annotations

import struct

import msgspec

from yaie.server.http.http_errors import HttpVersionNotSupported, error_body

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEAD_BYTES = 9
_DATA, _HEADERS, _SETTINGS, _GOAWAY = 0x0, 0x1, 0x4, 0x7
_END_STREAM, _END_HEADERS = 0x1, 0x4
_HTTP_1_1_REQUIRED = 0xD
_STATUS, _CONTENT_TYPE = 8, 31  # names in HPACK's static table


class Http2Refusal:
    """Reader of a client's frames up to its first request, and the response to that."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, data: bytes) -> bytes:
        """Take bytes behind the preface; return the whole refusal after the first request."""
        self._received += data
        while len(self._received) >= _FRAME_HEAD_BYTES:
            length = int.from_bytes(self._received[:3], "big")
            kind = self._received[3]
            stream = int.from_bytes(self._received[5:9], "big") & 0x7FFFFFFF
            if kind == _HEADERS:
                return _refusal(stream)
            if len(self._received) < _FRAME_HEAD_BYTES + length:
                break
            del self._received[: _FRAME_HEAD_BYTES + length]
        return b""


def _refusal(stream: int) -> bytes:
    error = HttpVersionNotSupported(
        "this server speaks HTTP/1.1, not HTTP/2; use it without prior knowledge of HTTP/2"
    )
    headers = _header(_STATUS, str(error.status)) + _header(_CONTENT_TYPE, "application/json")
    last_stream_and_code = struct.pack("!II", stream, _HTTP_1_1_REQUIRED)
    return b"".join(
        (
            _frame(_SETTINGS, 0, 0, b""),
            _frame(_HEADERS, _END_HEADERS, stream, headers),
            _frame(_DATA, _END_STREAM, stream, msgspec.json.encode(error_body(error))),
            _frame(_GOAWAY, 0, 0, last_stream_and_code),
        )
    )


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + struct.pack("!BBI", kind, flags, stream) + payload


def _header(name: int, value: str) -> bytes:
    """Return a literal header field with an indexed name.

    Index prefixes of 4 bits hold up to 14; a larger index continues in the next byte.
    """
    index = bytes([name]) if name < 15 else bytes([15, name - 15])
    return index + bytes([len(value)]) + value.encode()
