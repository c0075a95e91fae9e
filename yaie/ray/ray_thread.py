"""`RayThread`: makes calls to Ray that may hang, one after another.

It is a daemon: a call that hangs does not hold up the end of the process. It stays until then,
since the kernel ends Ray's processes together with the thread that started them.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class RayThread:
    """One thread and its calls."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="yaie-ray", daemon=True).start()

    def call(self, function: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Call a function after those before it; return the future result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Result] = loop.create_future()

        def tell(take: Callable[[Any], None], value: object) -> None:
            def take_unless_cancelled() -> None:
                if not future.done():
                    take(value)

            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(take_unless_cancelled)

        def run() -> None:
            try:
                result = function()
            except BaseException as error:
                tell(future.set_exception, error)
            else:
                tell(future.set_result, result)

        self._calls.put(run)
        return future

    def _run(self) -> None:
        while True:
            self._calls.get()()
