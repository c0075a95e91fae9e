"""Text threads: tenants take turns, short texts wait for no long one, and what ends is skipped."""

from __future__ import annotations

import asyncio
import threading

import pytest

from yaie.text.text_threads import SHORT_BYTES, TextThreads


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


@pytest.mark.parametrize("num_bytes", [None, SHORT_BYTES])
def test_tenants_take_turns(num_bytes: int | None) -> None:
    async def take_turns() -> list[str]:
        threads, release, done = TextThreads(1, num_waiting=4), threading.Event(), list[str]()
        first = asyncio.create_task(threads.run(release.wait, num_bytes=num_bytes))
        await asyncio.sleep(0.05)
        later = [
            asyncio.create_task(threads.run(done.append, name, tenant=name, num_bytes=num_bytes))
            for name in "aaaaabb"
        ]
        await asyncio.sleep(0.05)
        release.set()
        await asyncio.gather(first, *later)
        threads.close()
        return done

    assert "".join(asyncio.run(take_turns())) == "ababaaa"


def test_a_short_text_waits_for_no_long_one() -> None:
    async def pass_by() -> None:
        threads, release = TextThreads(1, num_waiting=4), threading.Event()
        long = [
            asyncio.create_task(threads.run(release.wait, num_bytes=each))
            for each in (None, SHORT_BYTES + 1) * 10
        ]
        assert await threads.run(sum, (1, 2), num_bytes=SHORT_BYTES) == 3
        release.set()
        await asyncio.gather(*long)
        with pytest.raises(ZeroDivisionError):
            await threads.run(divmod, 1, 0, num_bytes=1)
        threads.close()

    asyncio.run(pass_by())


def test_work_that_waits_at_the_end_is_cancelled() -> None:
    async def close() -> None:
        threads, release = TextThreads(1, num_waiting=0), threading.Event()
        first, later = (asyncio.create_task(threads.run(release.wait)) for _ in range(2))
        await asyncio.sleep(0.05)
        threads.close()
        with pytest.raises(asyncio.CancelledError):
            await later
        release.set()
        assert await first

    asyncio.run(close())
