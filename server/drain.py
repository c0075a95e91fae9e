"""Draining at SIGTERM and SIGINT: answer the requests in flight, then stop the web server.

uvicorn alone would close its port at once, and clients would see refused connections instead of a
503 with the reason. A second signal ends the requests in flight with an error and stops the web
server.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from server.service import Service

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def draining_signals(service: Service) -> Iterator[None]:
    """Install draining in front of the web server's own signal handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[None]] = []
    previous: dict[int, Callable[[int, FrameType | None], Any]] = {}

    async def drain_then_stop(number: int) -> None:
        await service.drain()
        previous[number](number, None)

    def begin(number: int) -> None:
        tasks.append(loop.create_task(drain_then_stop(number)))

    signals = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal signals
        signals += 1
        if service.is_draining and signals == 2 and service.active:
            loop.call_soon_threadsafe(service.end_all)
        elif service.is_draining:
            previous[number](number, frame)
        else:
            service.is_draining = True
            loop.call_soon_threadsafe(begin, number)

    for one in _SIGNALS:
        handler = signal.getsignal(one)
        # Python's default SIGINT handler: the process has no web server.
        if callable(handler) and handler is not signal.default_int_handler:
            previous[one] = handler
            signal.signal(one, handle)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
