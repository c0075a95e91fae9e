"""Reload at SIGHUP: API keys and TLS certificate from their files, while requests continue.

A bad file leaves the old keys, or the old certificate, and logs one line. A closed terminal sends
SIGHUP too; the server then stops as without files to reload.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import YaieError
from yaie.server.models.service import Service

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def reloading_signal(service: Service) -> Iterator[None]:
    """Call the functions of `service.at_reload` at SIGHUP, if there are any."""
    if not service.at_reload or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGHUP)
    had_terminal = _has_terminal()

    def reload() -> None:
        for each in service.at_reload:
            each()

    def handle(number: int, frame: FrameType | None) -> None:
        if not had_terminal or _has_terminal():
            loop.call_soon_threadsafe(reload)
        elif callable(before):
            before(number, frame)
        elif before is signal.SIG_DFL:
            signal.raise_signal(signal.SIGTERM)

    signal.signal(signal.SIGHUP, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


class Certificate:
    """The TLS certificate of new connections.

    `context` belongs to the listener. `read` returns a new context from the files, or raises
    `YaieError` or `OSError`.
    """

    def __init__(self, context: ssl.SSLContext, read: Callable[[], ssl.SSLContext]) -> None:
        self._read, self._current = read, context
        context.sni_callback = self._choose  # called at each handshake, also without a name

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        connection.context = self._current

    def reload(self) -> None:
        """Read the files again; bad ones leave the certificate as it is, with a log line."""
        try:
            self._current = self._read()
        except (YaieError, OSError) as error:
            logger.error("the TLS certificate stays as it was: %s", _reason(error))
        else:
            logger.info("read the TLS certificate again")


def _reason(error: Exception) -> str:
    return f"{error}: {error.why}" if isinstance(error, AdvisedError) else str(error)
