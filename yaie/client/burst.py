"""`Burst`: starts requests that arrive together in one step. Used by `ProcessClient`.

An idle engine would begin a step with the first request in a burst, and later requests would wait
for that step to end. While more requests are being read, messages to an idle engine are therefore
delayed, for `MAX_DELAY_S` at most. A single request is sent at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from yaie.client.supervision import Clock, Timer

MAX_DELAY_S = 0.05  # for a request that is ready, and for one still being read


class Burst:
    """Requests on their way to an idle engine, and messages delayed for them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected: dict[object, float] = {}  # start times of their reading
        self._delayed: list[Callable[[], None]] = []
        self._timer: Timer | None = None

    @contextmanager
    def expect_request(self) -> Iterator[None]:
        """Surround the reading of a request; it is sent, or refused, right afterwards."""
        key = object()
        self._expected[key] = self._clock.time()
        try:
            yield
        finally:
            del self._expected[key]
            if self._delayed and not self._expects_more():
                self._clock.call_later(0, self.release)

    def send(self, send: Callable[[], None], *, is_idle: bool) -> None:
        """Call `send` now, or soon if the engine is idle and more requests are expected."""
        if (is_idle or self._delayed) and self._expects_more():
            self._delayed.append(send)
            if self._timer is None:
                self._timer = self._clock.call_later(MAX_DELAY_S, self.release)
            return
        self.release()
        send()

    def release(self) -> None:
        """Send every delayed message, in order of arrival."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        delayed, self._delayed = self._delayed, []
        for send in delayed:
            send()

    def _expects_more(self) -> bool:
        """Return True if a request is being read, unless its client is slow to send it."""
        oldest = self._clock.time() - MAX_DELAY_S
        return any(began > oldest for began in self._expected.values())
