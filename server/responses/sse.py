"""Server-sent events as bytes."""

from __future__ import annotations

DONE = b"data: [DONE]\n\n"


def event(data: bytes) -> bytes:
    """Return `data` as one server-sent event."""
    return b"data: " + data + b"\n\n"


def named_event(name: str, data: bytes) -> bytes:
    """Return `data` as one server-sent event with a name."""
    return b"event: " + name.encode() + b"\n" + event(data)
