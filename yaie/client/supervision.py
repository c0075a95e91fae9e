"""Timers of a supervised engine: pauses between restarts, and limits of steps and loads.

Used by `ProcessClient`. Time comes from a `Clock`: the running event loop, or a test's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

FIRST_BACK_OFF_S = 0.1
MAX_BACK_OFF_S = 30.0
RELOAD_TIMEOUT_FACTOR = 10  # a reload hangs if it takes this many times as long as the first load


class Timer(Protocol):
    """A pending call."""

    def cancel(self) -> None:
        """Drop the call."""


class Clock(Protocol):
    """Time in seconds, and delayed calls."""

    def time(self) -> float:
        """Return a monotonic time."""

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` after `delay` seconds."""


class LoopClock:
    """The clock of the running event loop."""

    def time(self) -> float:
        """Return the event loop's time."""
        return asyncio.get_running_loop().time()

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` on the event loop after `delay` seconds."""
        return asyncio.get_running_loop().call_later(delay, callback)


async def sleep(clock: Clock, delay_s: float) -> None:
    """Sleep for `delay_s` seconds of `clock`."""
    is_over = asyncio.Event()
    timer = clock.call_later(delay_s, is_over.set)
    try:
        await is_over.wait()
    finally:
        timer.cancel()


class BackOff:
    """Growing pauses between restarts: 0.1 s, doubled each time, 30 s at most."""

    def __init__(self) -> None:
        self._next_s = FIRST_BACK_OFF_S

    def reset(self) -> None:
        """Begin with the shortest pause again."""
        self._next_s = FIRST_BACK_OFF_S

    def next_s(self) -> float:
        """Return the length of the next pause."""
        pause_s = self._next_s
        self._next_s = min(2 * pause_s, MAX_BACK_OFF_S)
        return pause_s


class StallWatch:
    """Calls `on_stall` when the engine leaves a message unanswered for `limit_s`.

    Silence counts from the first unanswered message, so callers who leave one after another within
    the limit do not hide a hung engine.
    """

    def __init__(self, clock: Clock, limit_s: float, on_stall: Callable[[], object]) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._on_stall = on_stall
        self._awaiting_since: float | None = None  # None: none is pending
        self._timer: Timer | None = None

    def expect_reply(self) -> None:
        """Note a pending reply, from now on unless one was pending before."""
        if self._awaiting_since is not None:
            return
        self._awaiting_since = self._clock.time()
        if self._timer is None:
            self._timer = self._clock.call_later(self._limit_s, self._check)

    def replied(self) -> None:
        """Note a reply; the next one is pending from the next `expect_reply`."""
        self._awaiting_since = None

    def stop(self) -> None:
        """Pause until the next `expect_reply`."""
        self._awaiting_since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        """Run once every `limit_s` at most, rather than once for each reply."""
        self._timer = None
        if self._awaiting_since is None:
            return
        left_s = self._awaiting_since + self._limit_s - self._clock.time()
        if left_s > 0:
            self._timer = self._clock.call_later(left_s, self._check)
        else:
            self._on_stall()


class LoadWatch:
    """Calls `on_stall` when a reload takes far longer than the first load did."""

    def __init__(self, clock: Clock, least_s: float, on_stall: Callable[[float], object]) -> None:
        self._clock = clock
        self._least_s = least_s
        self._on_stall = on_stall
        self._began_at = 0.0
        self._first_load_s: float | None = None
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Note the start of a load."""
        self._began_at = self._clock.time()
        if self._first_load_s is not None:
            limit_s = max(self._least_s, RELOAD_TIMEOUT_FACTOR * self._first_load_s)
            self._timer = self._clock.call_later(limit_s, lambda: self._on_stall(limit_s))

    def loaded(self) -> None:
        """Note the end of a load."""
        if self._first_load_s is None:
            self._first_load_s = self._clock.time() - self._began_at
        self.stop()

    def stop(self) -> None:
        """Cancel the time limit of the present load."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
