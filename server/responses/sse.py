"""Server-sent events as bytes."""

from __future__ import annotations

DONE_MARK = "[DONE]"
DONE = f"data: {DONE_MARK}\n\n".encode()


def event(data: bytes) -> bytes:
    """Return `data` as one server-sent event."""
    return b"data: " + data + b"\n\n"


def named_event(name: str, data: bytes) -> bytes:
    """Return `data` as one server-sent event with a name."""
    return b"event: " + name.encode() + b"\n" + event(data)
