"""Readers of a response that another request has begun, and the events that they get."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

# Unread events of a reader; beyond it the reader's stream ends.
MAX_UNREAD_EVENTS = 16_384


class Follower:
    """One reader: an iterator over events, until the response ends."""

    def __init__(self, events: Sequence[bytes], *, skip: int = 0) -> None:
        """Begin with `events`; leave out the first `skip` of the later ones."""
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
