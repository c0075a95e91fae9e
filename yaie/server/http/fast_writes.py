"""`FastWriter`: writes chunks of a streamed body to the connection without waking a task.

An application writes through a chain of coroutines and wakes a task for each write. Events of a
stream reach their connection in one call instead, while its buffer has room. The protocol offers a
writer with each request. Foreign layers may want to see every chunk, so a request that passes such
a layer has no writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from starlette.types import Scope

from yaie.text.answer import TextPiece

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

EXTENSION, WRITER = "yaie.fast_writes", "writer"  # keys in the scope's extensions
# Modules of handlers and layers that leave the parts of a body as they are.
_KNOWN = ("yaie.server.", "starlette.middleware.cors")


class Taker(Protocol):
    """A reader that takes pieces as they arrive."""

    @property
    def is_free(self) -> bool:
        """True if it can take a piece now."""

    def take(self, pieces: Mapping[int, TextPiece]) -> None:
        """Take pieces by choice."""


class FastWriter:
    """Writer for the response of one request."""

    __slots__ = ("_cycle", "_flow", "_transport")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._flow = cycle.flow
        self._transport = cycle.transport

    @property
    def is_chunked(self) -> bool:
        """True if the response has begun and is written in chunks."""
        cycle = self._cycle
        return bool(cycle.chunked_encoding) and cycle.scope["method"] != "HEAD"

    @property
    def is_free(self) -> bool:
        """True while the client is there and keeps up."""
        return not (self._flow.write_paused or self._cycle.disconnected)

    def write(self, body: bytes) -> None:
        """Write the next part of a chunked body, at least a byte. Call it while `is_free`."""
        self._transport.write(b"%x\r\n%b\r\n" % (len(body), body))


def find_writer(scope: Scope) -> FastWriter | None:
    """Return the writer of a response that has begun, if all layers are known."""
    writer: FastWriter | None = scope.get("extensions", {}).get(EXTENSION, {}).get(WRITER)
    if writer is None:
        return None
    app = scope["app"]
    if not writer.is_chunked:
        return None
    involved = [scope["endpoint"], *(layer.cls for layer in app.user_middleware)]
    is_known = all(getattr(each, "__module__", "").startswith(_KNOWN) for each in involved)
    return writer if is_known else None
