"""Text threads: rendering and tokenizing outside the event loop, a few requests at a time.

While a thread waits for the process of a chat template, a different thread computes.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class TextThreads:
    """Threads of one application: `num_computing` compute, `num_waiting` more may wait."""

    def __init__(self, num_computing: int, num_waiting: int) -> None:
        self._pool = ThreadPoolExecutor(num_computing + num_waiting, thread_name_prefix="yaie-text")
        self._turns = threading.BoundedSemaphore(num_computing)

    async def run(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        """Run text work in a thread; work cancelled before its turn is skipped."""

        is_wanted = True

        def work_in_turn() -> _Result:
            with in_turn(self._turns):
                if not is_wanted:
                    raise CancelledError
                return work(*arguments)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work_in_turn)
        finally:
            is_wanted = False

    def close(self) -> None:
        """Drop work that waits; work that has begun is left to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Turn:
    """A place among the threads that compute.

    A thread takes it again once it has no process: threads that wait for both would wait for ever.
    """

    def __init__(self, turns: threading.Semaphore) -> None:
        self._turns = turns
        self._is_held = False

    def take(self) -> None:
        if not self._is_held:
            self._turns.acquire()
            self._is_held = True

    def give_up(self) -> None:
        if self._is_held:
            self._is_held = False
            self._turns.release()


_turn: ContextVar[_Turn | None] = ContextVar("turn", default=None)


@contextlib.contextmanager
def in_turn(turns: threading.Semaphore) -> Iterator[None]:
    """Hold one of the turns, except between `give_up_turn` and `take_turn`."""
    turn = _Turn(turns)
    turn.take()
    token = _turn.set(turn)
    try:
        yield
    finally:
        _turn.reset(token)
        turn.give_up()


def give_up_turn() -> None:
    """Let a different thread compute while this thread waits."""
    if (turn := _turn.get()) is not None:
        turn.give_up()


def take_turn() -> None:
    """Wait until this thread may compute again."""
    if (turn := _turn.get()) is not None:
        turn.take()
