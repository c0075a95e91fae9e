"""Text threads: work of cancelled requests is skipped."""

from __future__ import annotations

import asyncio
import threading

from yaie.text.text_threads import TextThreads


def test_work_that_is_cancelled_before_its_turn_is_skipped() -> None:
    asyncio.run(_cancel_most())


async def _cancel_most() -> None:
    threads, release, done = TextThreads(1, num_waiting=4), threading.Event(), list[int]()
    first = asyncio.create_task(threads.run(release.wait))
    later = [asyncio.create_task(threads.run(done.append, number)) for number in range(8)]
    await asyncio.sleep(0.05)  # each thread has begun one of them, and waits for its turn
    for each in later[:7]:
        each.cancel()
    await asyncio.gather(*later[:7], return_exceptions=True)
    release.set()
    assert await first
    await later[7]
    assert done == [7]
    threads.close()
