"""`ServerStatus`: the service's state in five words, with a log of its changes."""

from __future__ import annotations

import enum
import logging

from yaie.base.types import EngineState

logger = logging.getLogger(__name__)


class ServerStatus(enum.StrEnum):
    """State of the service, from facts about its engines and its queue."""

    STARTING = "starting"
    READY = "ready"
    BUSY = "busy"  # the waiting queue is full
    ERROR = "error"
    SHUTTING_DOWN = "shutting_down"


_OF_STATES = {
    EngineState.STARTING: ServerStatus.STARTING,
    EngineState.READY: ServerStatus.READY,
    EngineState.UNLOADED: ServerStatus.READY,  # it is loaded at its first request
    EngineState.DRAINING: ServerStatus.SHUTTING_DOWN,
}


def status_of(state: EngineState, *, is_full: bool) -> ServerStatus:
    """Return the status of a service in a state; `is_full`: more requests would be refused."""
    if is_full and _OF_STATES.get(state) is ServerStatus.READY:
        return ServerStatus.BUSY
    return _OF_STATES.get(state, ServerStatus.ERROR)


class StatusLog:
    """Log lines on changes of the status, as they are seen."""

    def __init__(self) -> None:
        self._last: ServerStatus | None = None

    def see(self, status: ServerStatus, reason: str) -> None:
        """Log a status that differs from the one before."""
        if status is self._last:
            return
        before, self._last = self._last, status
        level = logging.WARNING if status is ServerStatus.ERROR else logging.INFO
        because = f": {reason}" if reason else ""
        change = f"{before} -> {status}" if before else f"{status}"
        logger.log(level, "status: %s%s", change, because)
