"""Server-sent events as bytes."""

from __future__ import annotations

import msgspec

DONE_MARK = "[DONE]"
DONE = f"data: {DONE_MARK}\n\n".encode()


class TextEvents:
    """The events of a stream that differ in one text: all other bytes are written once."""

    PLACEHOLDER = "\x00"

    def __init__(self, with_placeholder: bytes) -> None:
        """`with_placeholder`: such an event, with `PLACEHOLDER` as its text, the last string."""
        placeholder = msgspec.json.encode(self.PLACEHOLDER)
        self._before, found, self._after = with_placeholder.rpartition(placeholder)
        assert found

    def event(self, text: str) -> bytes:
        """Return the event with `text`."""
        return self._before + msgspec.json.encode(text) + self._after


def event(data: bytes) -> bytes:
    """Return `data` as one server-sent event."""
    return b"data: " + data + b"\n\n"


def named_event(name: str, data: bytes) -> bytes:
    """Return `data` as one server-sent event with a name."""
    return b"event: " + name.encode() + b"\n" + event(data)
