"""Responses in the background: made to their end for clients that fetch them later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from yaie.base.errors import RequestFailed, YaieError
from yaie.server.replies.delivery import encode_events, encode_whole
from yaie.server.replies.generation import Generation
from yaie.server.replies.reply import GenerationReply, InThread

# Unread events of a reader; beyond it the reader's stream ends.
MAX_UNREAD_EVENTS = 16_384

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
    """One reader: an iterator over events, until the reply ends."""

    def __init__(self, events: Sequence[bytes], *, skip: int = 0) -> None:
        """Begin with `events`; skip the first `skip` later events."""
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._skip = skip
        for event in events:
            self._queue.put_nowait(event)

    def send(self, events: Sequence[bytes], *, is_end: bool) -> None:
        """Add events; any thread may call it."""
        self._loop.call_soon_threadsafe(self._add, events, is_end)

    def _add(self, events: Sequence[bytes], is_end: bool) -> None:
        if self._queue.qsize() > MAX_UNREAD_EVENTS:
            is_end = True
        else:
            for event in events[self._skip :]:
                self._queue.put_nowait(event)
            self._skip = max(0, self._skip - len(events))
        if is_end:
            self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the events in order."""
        while (event := await self._queue.get()) is not None:
            yield event
