"""`in_thread`: a blocking generator as an asynchronous one."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


async def in_thread(
    make: Callable[[Callable[[], bool]], Generator[Item, None, None]],
    on_stop: Callable[[], None] = lambda: None,
) -> AsyncGenerator[Item, None]:
    """Run the generator that `make(is_stopped)` returns in a thread; yield its items.

    Its error is raised here. Closing this one, or cancelling its task, sets `is_stopped`, calls
    `on_stop`, which may interrupt the generator, and waits for it to end.
    """
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[Item] = asyncio.Queue()
    arrived = asyncio.Event()
    stopped = threading.Event()

    def run() -> None:
        with contextlib.closing(make(stopped.is_set)) as generator:
            for item in generator:
                if stopped.is_set():
                    return
                loop.call_soon_threadsafe(put, item)

    def put(item: Item) -> None:
        items.put_nowait(item)
        arrived.set()

    with ThreadPoolExecutor(1, thread_name_prefix="yaie-call") as threads:
        work = loop.run_in_executor(threads, run)
        work.add_done_callback(lambda _: arrived.set())
        try:
            while not (work.done() and items.empty()):
                await arrived.wait()
                arrived.clear()
                while not items.empty():
                    yield items.get_nowait()
            await work  # its error
        finally:
            stopped.set()
            if not work.done():
                on_stop()
                await asyncio.wait([work])
                work.exception()  # an interrupted generator, whose caller has left
