"""Server-sent events as bytes."""

from __future__ import annotations

DONE = b"data: [DONE]\n\n"


def event(data: bytes) -> bytes:
    """Return `data` as one server-sent event."""
    return b"data: " + data + b"\n\n"
