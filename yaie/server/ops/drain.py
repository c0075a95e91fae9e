"""Draining at SIGTERM and SIGINT: answer the requests in flight, then stop the web server.

uvicorn alone would close its port at once, and clients would see refused connections instead of a
503 with the reason. A second signal ends the requests in flight with an error and stops the web
server. `return_after_drain` makes SIGTERM a success once every request has been answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from yaie.server.models.service import Service

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
            service.was_cut_short = True
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


@contextlib.contextmanager
def return_after_drain(service: Service) -> Iterator[None]:
    """Let a web server that SIGTERM stopped return, instead of ending the process by the signal.

    uvicorn raises the signals that stopped it again, at its end. A drain that was cut short, or a
    signal before the start, still ends the process by the signal. A program's own handler stays.
    """
    is_default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if threading.current_thread() is not threading.main_thread() or not is_default:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if service.is_draining and not service.was_cut_short:
            return
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        sys.exit(128 + number)  # the first process of a container outlives the signal

    signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
