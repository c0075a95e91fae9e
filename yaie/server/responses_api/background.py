"""Responses in the background: made to their end for clients that fetch them later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice

from starlette.concurrency import run_in_threadpool

from yaie.base.errors import RequestFailed, YaieError
from yaie.server.replies.delivery import encode_events, encode_whole
from yaie.server.replies.generation import Generation
from yaie.server.replies.reply import GenerationReply, InThread

# Unread events of a reader; beyond it the reader's stream ends.
MAX_UNREAD_EVENTS = 16_384
_WRITTEN_AT_ONCE = 256

logger = logging.getLogger(__name__)


async def make_whole(generation: Generation, reply: GenerationReply, in_thread: InThread) -> None:
    """Wait for the end of the call, and have the reply keep its document or its error.

    Readers of a stream get its events while tokens arrive.
    """
    try:
        if not reply.call.stream:
            await encode_whole(reply, await generation.whole(), in_thread)
            return
        reply.opening()
        while not generation.is_done:
            await encode_events(reply, await generation.next(), in_thread)
        reply.closing()
    except YaieError as error:
        reply.fail(error)
    except Exception:
        logger.exception("request %s failed in the background", generation.http_id)
        reply.fail(RequestFailed("the request failed inside the server; send it again"))
    finally:
        generation.close()


class Follower:
    """One reader: an iterator over events, until the reply ends.

    Events of the past are written in threads, a few at a time: a long response has many.
    """

    def __init__(
        self,
        past: Iterator[bytes],
        num_past: int,
        *,
        skip: int = 0,
        at_close: Callable[[Follower], None],
    ) -> None:
        """Begin with `past`, `num_past` events; skip the first `skip` of all events.

        `at_close` is called when the reader has all events, or leaves.
        """
        self._at_close = at_close
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._past = islice(past, skip, None)
        self._skip = max(0, skip - num_past)
        self._rest: Iterator[bytes] = iter(())

    def send(self, events: Sequence[bytes], *, is_end: bool) -> None:
        """Add events; any thread may call it."""
        self._loop.call_soon_threadsafe(self._add, events, is_end)

    def end(self, rest: Iterator[bytes]) -> None:
        """End with these events; any thread may call it."""
        self._loop.call_soon_threadsafe(self._end, rest)

    def _add(self, events: Sequence[bytes], is_end: bool) -> None:
        if self._queue.qsize() > MAX_UNREAD_EVENTS:
            is_end = True
        else:
            for event in events[self._skip :]:
                self._queue.put_nowait(event)
            self._skip = max(0, self._skip - len(events))
        if is_end:
            self._queue.put_nowait(None)

    def _end(self, rest: Iterator[bytes]) -> None:
        self._rest = islice(rest, self._skip, None)
        self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the events in order."""
        try:
            async for written in _in_threads(self._past):
                yield written
            while (event := await self._queue.get()) is not None:
                yield event
            async for written in _in_threads(self._rest):
                yield written
        finally:
            self._at_close(self)


async def _in_threads(events: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield events that are written in threads, several at a time."""
    while some := await run_in_threadpool(lambda: b"".join(islice(events, _WRITTEN_AT_ONCE))):
        yield some
