"""Requests that come together are begun together. Called by `process` on its event loop.

An engine that has nothing to do would begin a step with the first request of a burst, and the
others would wait for the end of that step. While more requests are being read, an idle engine is
therefore sent nothing, for a moment at most; a request that comes alone never waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_S = 0.05  # that a request is held back, and that one on its way is waited for


class Gathering:
    """What is on its way to an idle engine, and what waits for it."""

    def __init__(self) -> None:
        self._arrivals: dict[object, float] = {}  # loop times of their beginnings
        self._held: list[Callable[[], None]] = []
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """While a request is read; it is sent, or refused, right after."""
        loop, key = asyncio.get_running_loop(), object()
        self._arrivals[key] = loop.time()
        try:
            yield
        finally:
            del self._arrivals[key]
            if self._held and not self._are_more_coming():
                loop.call_soon(self.release)

    def send(self, send: Callable[[], None], *, is_idle: bool) -> None:
        """Call `send` now, or, where the engine is idle and more are coming, soon."""
        if (is_idle or self._held) and self._are_more_coming():
            self._held.append(send)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(LONGEST_S, self.release)
            return
        self.release()
        send()

    def release(self) -> None:
        """Send what is held back, in the order in which it came."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held = self._held, []
        for send in held:
            send()

    def _are_more_coming(self) -> bool:
        """Whether a request is being read; not one whose client takes its time to send it."""
        oldest = asyncio.get_running_loop().time() - LONGEST_S
        return any(began > oldest for began in self._arrivals.values())
