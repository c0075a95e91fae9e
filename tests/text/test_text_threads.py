"""Text threads: tenants take turns, short texts wait for no long one, and what ends is skipped."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

from yaie.text.template_renderer import MAX_PROCESSES
from yaie.text.text_threads import SHORT_BYTES, TextThreads, give_up_turn


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
        first = await _occupy(threads, release)
        later = asyncio.create_task(threads.run(release.wait))
        await asyncio.sleep(0)  # it is submitted
        threads.close()
        with pytest.raises(asyncio.CancelledError):
            await later
        release.set()
        assert await first

    asyncio.run(close())


async def _occupy(threads: TextThreads, release: threading.Event) -> asyncio.Task[bool]:
    """Return work that has begun, and computes until `release`."""
    has_begun = threading.Event()

    def wait() -> bool:
        has_begun.set()
        return release.wait(30)

    first = asyncio.create_task(threads.run(wait))
    assert await asyncio.to_thread(has_begun.wait, 30)
    return first


def test_work_of_clients_that_left_takes_no_turns_and_no_memory() -> None:
    async def leave() -> str:
        threads, release, done = TextThreads(1, num_waiting=0), threading.Event(), list[str]()
        first = await _occupy(threads, release)
        held = await _send_and_leave(threads)
        await asyncio.sleep(0.01)  # asyncio calls the last callbacks
        assert [each() for each in held] == [None] * 5
        later = [
            asyncio.create_task(threads.run(done.append, name, tenant=name)) for name in "abbb"
        ]
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(first, *later)
        threads.close()
        return "".join(done)

    assert asyncio.run(leave()) == "abbb"


async def _send_and_leave(threads: TextThreads) -> list[weakref.ref[_Body]]:
    bodies = [_Body() for _ in range(5)]
    gone = [asyncio.create_task(threads.run(id, body, tenant="a")) for body in bodies]
    await asyncio.sleep(0)  # they are submitted
    for task in gone:
        task.cancel()
    await asyncio.gather(*gone, return_exceptions=True)
    return [weakref.ref(body) for body in bodies]


class _Body:
    """A client's body."""


def test_a_refused_body_leaves_the_memory_at_once() -> None:
    def refuse(_body: _Body) -> None:
        raise ValueError

    async def send(threads: TextThreads) -> weakref.ref[_Body]:
        body = _Body()
        with pytest.raises(ValueError):
            await threads.run(refuse, body)
        return weakref.ref(body)

    async def send_some() -> int:
        threads = TextThreads(1, num_waiting=0)
        sent = [await send(threads) for _ in range(5)]
        await threads.run(id, None)  # the thread has left the last of them
        threads.close()
        return sum(body() is not None for body in sent)

    gc.disable()
    try:
        assert asyncio.run(send_some()) == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("num_computing", [1, 2, 3])
def test_long_texts_leave_a_template_process_to_short_ones(num_computing: int) -> None:
    async def begin_all() -> None:
        threads = TextThreads(num_computing, num_waiting=MAX_PROCESSES)
        release, num_begun = threading.Event(), 0

        def wait_for_a_process() -> None:
            nonlocal num_begun
            give_up_turn()
            num_begun += 1
            release.wait(30)

        long = [asyncio.create_task(threads.run(wait_for_a_process)) for _ in range(8)]
        while num_begun < MAX_PROCESSES - 1:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.02)
        assert num_begun == MAX_PROCESSES - 1
        release.set()
        await asyncio.gather(*long)
        threads.close()

    asyncio.run(begin_all())
