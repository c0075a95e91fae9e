"""Text threads: rendering and tokenizing outside the event loop, a few requests at a time.

Tenants take turns. Short texts have separate threads, so none waits for a long one. While a
thread waits for the process of a chat template, a different thread computes.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_Work = Callable[[], Any]

SHORT_BYTES = 32 * 1024  # some milliseconds' work


class TextThreads:
    """Threads of one application, `num_computing` for short texts and as many for long ones.

    That many of each compute at once; `num_waiting` more for short texts may wait for a process,
    and fewer for long ones, which leave a process to short ones if `num_computing` is smaller than
    `num_waiting`.
    """

    def __init__(self, num_computing: int, num_waiting: int) -> None:
        self._short = FairThreads("yaie-text-short", num_computing, num_waiting)
        self._long = FairThreads(
            "yaie-text-long", num_computing, max(0, num_waiting - num_computing - 1)
        )

    async def run(
        self,
        work: Callable[..., _Result],
        *arguments: Any,
        tenant: str = "",
        num_bytes: int | None = None,
    ) -> _Result:
        """Run text work in a thread, when its tenant has a turn.

        `num_bytes`: of the texts; unknown ones count as long. Work cancelled before its turn is
        skipped.
        """
        is_short = num_bytes is not None and num_bytes <= SHORT_BYTES
        lane = self._short if is_short else self._long
        return await asyncio.wrap_future(lane.submit(partial(work, *arguments), tenant))

    def close(self) -> None:
        """Drop work that waits; work that has begun is left to its end."""
        self._short.close()
        self._long.close()


class FairThreads:
    """Threads, and the work of each tenant that waits for them; see `TextThreads`."""

    def __init__(self, name: str, num_computing: int, num_waiting: int = 0) -> None:
        """`num_computing` run at once; `num_waiting` more may have given up their turn."""
        self._pool = ThreadPoolExecutor(num_computing + num_waiting, thread_name_prefix=name)
        self._turns = threading.BoundedSemaphore(num_computing)
        self._lock = threading.Lock()
        # By tenant; the tenant whose turn is next is first.
        self._waiting: OrderedDict[str, OrderedDict[Future[Any], _Work]] = OrderedDict()

    def submit(self, work: Callable[[], _Result], tenant: str) -> Future[_Result]:
        """Run work in a thread, when its tenant has a turn; work cancelled before is skipped."""
        future: Future[_Result] = Future()
        with self._lock:
            self._waiting.setdefault(tenant, OrderedDict())[future] = work
        future.add_done_callback(partial(self._forget, tenant))
        self._pool.submit(self._run_next)
        return future

    def _forget(self, tenant: str, future: Future[Any]) -> None:
        """Drop work that was cancelled: it takes no turn, and its texts leave the memory."""
        with self._lock:
            queue = self._waiting.get(tenant)
            if queue and queue.pop(future, None) and not queue:
                del self._waiting[tenant]

    def _run_next(self) -> None:
        with in_turn(self._turns):
            if (found := self._take_next()) is None:
                return
            future, work = found
            try:
                if future.set_running_or_notify_cancel():
                    future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            finally:
                del found, future, work  # an error refers to this frame, and the future to it

    def _take_next(self) -> tuple[Future[Any], _Work] | None:
        """Return work of the tenant whose turn is next; None if what remained was cancelled."""
        with self._lock:
            if not self._waiting:
                return None
            tenant, queue = next(iter(self._waiting.items()))
            found = queue.popitem(last=False)
            if queue:
                self._waiting.move_to_end(tenant)
            else:
                del self._waiting[tenant]
        return found

    def close(self) -> None:
        """Drop work that waits; work that has begun is left to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            futures = [future for queue in self._waiting.values() for future in queue]
        for future in futures:
            future.cancel()


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
