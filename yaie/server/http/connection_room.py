"""Room for connections: descriptors that stay free for probes, files and a new engine.

At the limit a new connection replaces the one that has been idle longest. If all are busy, a few
more are taken, which answer probes and refuse other requests.
"""

from __future__ import annotations

import logging
import resource
import sys
from typing import Protocol

from starlette.types import Receive, Scope, Send

from yaie.base.errors import EngineUnavailable
from yaie.server.http.http_errors import error_response, route_path
from yaie.server.http.middleware import PROBES

logger = logging.getLogger(__name__)

RESERVED = 96  # descriptors: the server's files, a new engine, and connections for probes
FOR_PROBES = 32


class OpenConnection(Protocol):
    """A connection of a client."""

    @property
    def is_idle(self) -> bool:
        """True without a request in progress."""

    def end(self) -> None:
        """Close it at once."""


class ConnectionRoom:
    """Open connections, in the order of their last use.

    `limit`: None follows the limit of open files.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._open: dict[OpenConnection, None] = {}
        self._has_warned = False

    @property
    def limit(self) -> int:
        """Connections for requests of all kinds."""
        if self._limit is None:
            files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            is_unlimited = files == resource.RLIM_INFINITY
            self._limit = sys.maxsize if is_unlimited else max(files - RESERVED, files // 4)
        return self._limit

    def enter(self, new: OpenConnection) -> bool:
        """Add a connection; return False if it may only answer probes. It may be ended at once."""
        idle = None
        if len(self._open) >= self.limit:
            self._warn()
            idle = next((each for each in self._open if each.is_idle), None)
        if idle is not None:
            del self._open[idle]
            idle.end()
        has_room = len(self._open) < self.limit
        if has_room or len(self._open) < self.limit + FOR_PROBES:
            self._open[new] = None
        else:
            new.end()
        return has_room

    def note_use(self, connection: OpenConnection) -> None:
        """Note the end of a request."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def leave(self, connection: OpenConnection) -> None:
        """Remove a connection."""
        self._open.pop(connection, None)

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%d connections are open, as many as the limit of open files allows: idle ones are "
                "closed, and beyond them requests are refused; raise the limit (ulimit -n)",
                len(self._open),
            )


room = ConnectionRoom()  # of this process


async def refuse_beyond_room(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request on a connection for probes."""
    error = EngineUnavailable(
        "the server has as many connections as its limit of open files allows; retry in a moment"
    )
    response = error_response(error, scope)
    response.headers["connection"] = "close"
    await response(scope, receive, send)


def is_probe(scope: Scope) -> bool:
    """Return True for a request of a probe or a scrape."""
    return route_path(scope) in PROBES
