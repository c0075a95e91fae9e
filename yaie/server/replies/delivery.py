"""Delivery of replies: one JSON document, or server-sent events while tokens arrive.

Both watch the connection: a disconnect ends the sequences within one step.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from yaie.base.errors import RequestFailed, YaieError
from yaie.server.http.fast_writes import FastWriter, find_writer
from yaie.server.replies.generation import Generation
from yaie.server.replies.reply import GenerationReply, InThread
from yaie.text.answer import TextPiece

log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class ClientGone(Exception):
    """The client closed its connection."""


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Return the result of `work`; cancel it and raise `ClientGone` if the client disconnects."""
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_until_gone(receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGone
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def reply_whole(
    receive: Receive,
    generation: Generation,
    reply: GenerationReply,
    headers: dict[str, str],
    in_thread: InThread,
) -> Response:
    """Return the answer as one document. Raises the error that ended the call, or `ClientGone`."""
    pieces = await unless_gone(receive, generation.whole())
    body = await encode_whole(reply, pieces, in_thread)
    headers = {**headers, **reply.headers(pieces)}
    return WholeReply(body, headers=headers, media_type="application/json")


async def encode_whole(
    reply: GenerationReply, pieces: Mapping[int, TextPiece], in_thread: InThread
) -> bytes:
    """Return the whole reply as JSON; a large one is encoded in a thread."""

    def build() -> bytes:
        return msgspec.json.encode(reply.collect(pieces))

    # Logprobs of many tokens, many samples and twenty alternatives take seconds to encode, as
    # vectors of two thousand texts do.
    is_large = has_logprobs(reply) or reply.call.is_pooled
    return await in_thread(build) if is_large else build()


def has_logprobs(reply: GenerationReply) -> bool:
    """Return True if logprobs of answer or prompt were requested."""
    sampling = reply.call.sampling
    return sampling.logprobs is not None or sampling.prompt_logprobs is not None


# Time after which a client that reads nothing counts as gone, even with an open connection.
READ_TIMEOUT_S = 60.0
# Size of one write: a slow reader of a large event makes visible progress.
PIECE_BYTES = 64 * 1024
# Events with logprobs of more tokens are encoded in a thread: they take milliseconds.
MAX_LOGPROBS_ON_THE_LOOP = 256


class WholeReply(Response):
    """Reply as one document, given up if the client does not read it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the document; stop quietly if the client disconnects."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        with contextlib.suppress(OSError):  # or TimeoutError, a subclass
            await send(start)
            async with read_limit(send) as send_limited:
                await _send_pieces(send_limited, bytes(self.body), more_body=False)


Pieces = Mapping[int, TextPiece]


async def first_pieces(
    receive: Receive, generation: Generation, ping_s: float
) -> Pieces | asyncio.Task[Pieces]:
    """Return the first pieces of a stream, or the task that waits for them longer than `ping_s`.

    0 waits for as long as it takes. Raises the error that ended the call, or `ClientGone`.
    """
    if not ping_s:
        return await unless_gone(receive, generation.next())
    waiting = asyncio.create_task(_next(generation))
    try:
        await unless_gone(receive, _wait(waiting, ping_s))
        return waiting.result() if waiting.done() else waiting
    except BaseException:
        waiting.cancel()
        raise


async def _next(generation: Generation) -> Pieces:
    return await generation.next()


async def _wait(task: asyncio.Task[Pieces], timeout_s: float) -> None:
    """Wait for a task at most this long, without cancelling it: a cut read would lose pieces."""
    await asyncio.wait((task,), timeout=timeout_s)


class _FastTaker:
    """Reader that writes the events of pieces to the connection as they arrive."""

    __slots__ = ("_reply", "_writer")

    def __init__(self, reply: GenerationReply, writer: FastWriter) -> None:
        self._reply = reply
        self._writer = writer

    @property
    def is_free(self) -> bool:
        """True while the client keeps up."""
        return self._writer.is_free

    def take(self, pieces: Pieces) -> None:
        """Write the events of pieces, if there are any."""
        if body := self._reply.events(pieces):
            self._writer.write(body)


class EventStream(Response):
    """Reply as server-sent events, or in the reply's own form of a stream.

    `first` has arrived, so that a refusal has a status, or is awaited longer than `ping_s`.
    """

    def __init__(
        self,
        generation: Generation,
        reply: GenerationReply,
        first: Pieces | asyncio.Task[Pieces],
        headers: dict[str, str],
        in_thread: InThread,
        *,
        ping_s: float = 0.0,
    ) -> None:
        super().__init__(
            headers={**headers, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
            media_type=reply.media_type,
        )
        del self.headers["content-length"]
        self._generation = generation
        self._reply = reply
        self._first = first
        self._in_thread = in_thread
        self._ping_s = ping_s
        self._has_logprobs = has_logprobs(reply)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; stop quietly if the client disconnects."""
        try:
            await unless_gone(receive, self._send_all(scope, send))
        except (ClientGone, OSError):  # or TimeoutError, a subclass
            pass  # closing the generation ends its sequences
        finally:
            self._generation.close()

    async def _send_all(self, scope: Scope, send: Send) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as overflow, read_limit(send) as send_limited:
            self._generation.at_overflow = lambda: overflow.reschedule(loop.time())
            await self._send_events(scope, send_limited)

    async def _send_events(self, scope: Scope, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        taker = self._taker(scope)
        try:
            first = self._first
            if isinstance(first, asyncio.Task):
                first = await self._ping_until(send, first, is_overdue=True)
            body = self._reply.opening() + await self._events(first)
            while True:
                if self._generation.is_done:
                    body += self._reply.closing()
                    break
                await _send_pieces(send, body, more_body=True)
                pieces = await self._next(send, taker)
                if self._has_logprobs:
                    body = await self._events(pieces)
                else:
                    body = self._reply.events(pieces)
        except YaieError as error:
            body = self._reply.failure(error)
        except OSError:
            raise  # the connection failed
        except Exception as error:
            log.exception("the stream failed")
            body = self._reply.failure(
                RequestFailed(f"the request failed: {type(error).__name__}; send the request again")
            )
        await _send_pieces(send, body, more_body=False)

    def _taker(self, scope: Scope) -> _FastTaker | None:
        writer = None if self._has_logprobs else find_writer(scope)
        return None if writer is None else _FastTaker(self._reply, writer)

    async def _next(self, send: Send, taker: _FastTaker | None) -> Pieces:
        if not self._ping_s:
            return await self._generation.next(taker)
        return await self._ping_until(send, asyncio.create_task(_next(self._generation)))

    async def _ping_until(
        self, send: Send, waiting: asyncio.Task[Pieces], *, is_overdue: bool = False
    ) -> Pieces:
        """Return the pieces of a task; send comments while it waits."""
        try:
            while not waiting.done():
                if is_overdue:
                    await _send_pieces(send, self._reply.ping(), more_body=True)
                await _wait(waiting, self._ping_s)
                is_overdue = True
            return waiting.result()
        finally:
            waiting.cancel()

    async def _events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        return await encode_events(self._reply, pieces, self._in_thread)


async def encode_events(
    reply: GenerationReply, pieces: Mapping[int, TextPiece], in_thread: InThread
) -> bytes:
    """Return the events of pieces; many logprobs are encoded in a thread."""
    if reply.num_logprobs(pieces) <= MAX_LOGPROBS_ON_THE_LOOP:
        return reply.events(pieces)
    return await in_thread(lambda: reply.events(pieces))


@contextlib.asynccontextmanager
async def read_limit(send: Send) -> AsyncIterator[Send]:
    """Give a `send` for this task; raise `TimeoutError` if the client reads nothing for too long.

    Each write may take the whole time. A timeout for each write would cost more than the write, so
    one timer watches all writes.
    """
    loop = asyncio.get_running_loop()
    began_s: float | None = None  # start of the write in progress, loop time
    timer: asyncio.TimerHandle | None = None

    async def send_limited(message: Message) -> None:
        nonlocal began_s
        began_s = loop.time()
        await send(message)
        began_s = None

    def check() -> None:
        nonlocal timer
        left_s = READ_TIMEOUT_S if began_s is None else began_s + READ_TIMEOUT_S - loop.time()
        if left_s <= 0:
            limit.reschedule(loop.time())
        else:
            timer = loop.call_later(left_s, check)

    async with asyncio.timeout(None) as limit:
        timer = loop.call_later(READ_TIMEOUT_S, check)
        try:
            yield send_limited
        finally:
            timer.cancel()


async def _send_pieces(send: Send, body: bytes, more_body: bool) -> None:
    if len(body) <= PIECE_BYTES:
        await send({"type": "http.response.body", "body": body, "more_body": more_body})
        return
    for at in range(0, len(body), PIECE_BYTES):
        piece = body[at : at + PIECE_BYTES]
        is_last = at + PIECE_BYTES >= len(body)
        await send(
            {"type": "http.response.body", "body": piece, "more_body": more_body or not is_last}
        )
