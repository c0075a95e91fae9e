"""Questions in flight to an engine process: one future each, by number."""

from __future__ import annotations

import asyncio
import itertools

from yaie.base.errors import EngineUnavailable, RequestFailed, YaieError
from yaie.base.queries import Answer, Query
from yaie.client.wire import Ask, QueryReply


class Questions:
    """Futures of unanswered queries, used on one event loop."""

    def __init__(self) -> None:
        self._open: dict[int, asyncio.Future[Answer]] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._open)

    def ask(self, query: Query) -> tuple[Ask, asyncio.Future[Answer]]:
        """Return the message for a query, and the future of its reply."""
        number = next(self._numbers)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[number] = future
        future.add_done_callback(lambda done: self._open.pop(number, None))  # also if cancelled
        return Ask(number, query), future

    def take(self, reply: QueryReply) -> None:
        """Hand a reply to its question; one that was given up is dropped."""
        future = self._open.pop(reply.number, None)
        if future is None or future.done():
            return
        if reply.answer is not None:
            future.set_result(reply.answer)
        elif reply.error is not None:
            future.set_exception(YaieError.from_wire(reply.error))
        else:
            future.set_exception(RequestFailed("the engine gave no answer"))

    def fail_all(self, error: YaieError) -> None:
        """End every open question with an error."""
        for future in list(self._open.values()):
            if not future.done():
                future.set_exception(error)


async def within(future: asyncio.Future[Answer], timeout_s: float) -> Answer:
    """Wait for an answer. Raises `EngineUnavailable` after `timeout_s`, or the query's error."""
    try:
        async with asyncio.timeout(timeout_s):
            return await future
    except TimeoutError:
        raise EngineUnavailable(
            f"the engine did not answer within {timeout_s:g} s, as it computes a long step; retry "
            "in a moment",
            code="engine_busy",
        ) from None
