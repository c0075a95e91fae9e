"""Timers of a supervised engine: pauses between restarts, and limits of steps and loads.

Used by `ProcessClient`. Time comes from a `Clock`: the running event loop, or a test's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from yaie.process.session_work import SessionWork

FIRST_BACK_OFF_S = 0.1
MAX_BACK_OFF_S = 30.0
MAX_PING_S = 5.0  # between two questions to a silent engine
LATE_S = 1.0  # of a timer: beyond it this process was stopped, or held by other work
IDLE_SHARE = 0.01  # of a processor: a load that uses less and reads less than this hangs
IDLE_BYTES = 1 << 20
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
    """Calls `on_stall` when the engine shows no sign of life for `limit_s`, idle or busy.

    Signs are its messages, and progress inside a step (`count_beats`). A silent engine is asked for
    one (`ping`) every tenth of the limit, every 5 s at most. Time in which this process did not run
    does not count: what it missed meanwhile is still to be read.
    """

    def __init__(
        self,
        clock: Clock,
        limit_s: float,
        *,
        count_beats: Callable[[], int],
        ping: Callable[[], object],
        on_stall: Callable[[], object],
    ) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._count_beats = count_beats
        self._ping = ping
        self._on_stall = on_stall
        self._every_s = min(limit_s / 10, MAX_PING_S)
        self._heard_at = self._checked_at = self._due_at = 0.0
        self._num_beats = 0
        self._timer: Timer | None = None

    def start(self) -> None:
        """Begin to watch; now counts as a sign."""
        self._num_beats = self._count_beats()
        self.heard()
        self._check_after(self._every_s)

    def heard(self) -> None:
        """Note a sign of life."""
        self._heard_at = self._clock.time()

    def stop(self) -> None:
        """End the watch until the next `start`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_after(self, delay_s: float) -> None:
        self._checked_at = self._clock.time()
        self._due_at = self._checked_at + delay_s
        self._timer = self._clock.call_later(delay_s, self._check)

    def _check(self) -> None:
        now = self._clock.time()
        if now - self._due_at > LATE_S:
            self._heard_at = min(now, self._heard_at + now - self._due_at)
        if self._num_beats != (num_beats := self._count_beats()):
            self._num_beats, self._heard_at = num_beats, now
        left_s = self._heard_at + self._limit_s - now
        if left_s <= 0:
            self._timer = None
            self._on_stall()
            return
        if self._heard_at <= self._checked_at:
            self._ping()
        self._check_after(min(self._every_s, left_s))


class LoadWatch:
    """Calls `on_stall` with the reason when a load hangs.

    The first load hangs if its processes do no work for `limit_s`: hardly any processor time, and
    nothing read. A later load hangs if it takes far longer than the first load did, and more than
    `limit_s`. `measure_work`: the work until now; None if the system does not tell, which sets the
    first load no limit.
    """

    def __init__(
        self,
        clock: Clock,
        limit_s: float,
        *,
        measure_work: Callable[[], SessionWork | None],
        on_stall: Callable[[str], object],
    ) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._measure_work = measure_work
        self._on_stall = on_stall
        self._began_at = 0.0
        self._first_load_s: float | None = None
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Note the start of a load."""
        self._began_at = self._clock.time()
        if self._first_load_s is None:
            self._watch_work()
        else:
            limit_s = max(self._limit_s, RELOAD_TIMEOUT_FACTOR * self._first_load_s)
            reason = f"the model was not loaded again within {limit_s:g} s"
            self._timer = self._clock.call_later(limit_s, lambda: self._on_stall(reason))

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

    def _watch_work(self) -> None:
        work, due_at = self._measure_work(), self._clock.time() + self._limit_s
        if work is not None:
            check = partial(self._check_work, work, due_at)
            self._timer = self._clock.call_later(self._limit_s, check)

    def _check_work(self, before: SessionWork, due_at: float) -> None:
        work = self._measure_work()
        if work is None:
            return
        is_late = self._clock.time() - due_at > LATE_S  # both processes may have been stopped
        processor_s = work.processor_s - before.processor_s
        is_busy = processor_s >= IDLE_SHARE * self._limit_s
        if is_late or is_busy or work.bytes_read - before.bytes_read >= IDLE_BYTES:
            self._watch_work()
        else:
            self._on_stall(f"the load of the model did no work for {self._limit_s:g} s")
