"""`BatchRun`: sends the requests of a batch, some at a time, until each has a result."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, BinaryIO

import msgspec

from yaie.base.errors import EngineUnavailable
from yaie.base.sliced_json import LARGE_BYTES
from yaie.base.types import Usage
from yaie.batch.batch_lines import BatchInput, BatchLine
from yaie.batch.result_journal import (
    BatchResult,
    ResultError,
    ResultJournal,
    ResultResponse,
    error_of,
)

PATIENCE_S = 600.0  # without any answer, while the server refuses or is away
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_TRIED_AGAIN = (
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,  # a proxy without its server
    HTTPStatus.SERVICE_UNAVAILABLE,
)


@dataclass(frozen=True, slots=True)
class LineReply:
    """The answer to one request: HTTP status, id and body."""

    status: int
    request_id: str
    body: bytes
    retry_after_s: float | None = None


# Sends a body to a URL of the API. Raises `EngineUnavailable` without an answer.
Send = Callable[[str, bytes], Awaitable[LineReply]]


@dataclass(slots=True)
class BatchTotals:
    """Requests and tokens of a run."""

    num_done: int = 0
    num_failed: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    def add(self, usage: Usage, *, has_failed: bool) -> None:
        """Count one result."""
        self.num_done += 1
        self.num_failed += has_failed
        self.prompt_tokens += usage.prompt_tokens
        self.cached_tokens += usage.cached_tokens
        self.output_tokens += usage.completion_tokens


def _see_nothing(usage: Usage) -> None:
    """Do nothing with the tokens of a result."""


@dataclass(slots=True)
class BatchRun:
    """One run over the requests of a batch that have no result yet."""

    batch: BatchInput
    journal: ResultJournal
    patience_s: float = PATIENCE_S
    on_result: Callable[[Usage], None] = _see_nothing
    totals: BatchTotals = field(default_factory=BatchTotals)
    _answered_at: float = 0.0  # loop time of the last answer to any request

    @property
    def num_left(self) -> int:
        """Number of requests without a result."""
        return len(self.batch.lines) - len(self.journal.done)

    async def run(self, send: Send, at_once: int, model: str | None = None) -> None:
        """Send every request without a result, at most `at_once` at a time.

        `model` replaces the model in each body. Statuses 429, 502 and 503, and `EngineUnavailable`
        of `send`, are sent again after `Retry-After`, for as long as any request was answered
        within `patience_s`. Every other answer is a result. Raises the error that ends the run;
        results so far are in the journal.
        """
        self._answered_at = asyncio.get_running_loop().time()
        left = iter([each for each in self.batch.lines if each.custom_id not in self.journal.done])
        with self.batch.path.open("rb") as file:

            async def work() -> None:
                for line in left:
                    body = await self._read(file, line, model)
                    self._take(*make_result(line, await self._answer(send, line, body)))

            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(at_once, self.num_left)):
                        group.create_task(work())
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None

    async def _read(self, file: BinaryIO, line: BatchLine, model: str | None) -> bytes:
        """Return the body of a line; a long one is read in a thread."""
        if line.num_bytes <= LARGE_BYTES:
            return self.batch.read_body(file, line, model)
        return await asyncio.to_thread(self.batch.read_body, file, line, model)

    def _take(self, result: BatchResult, usage: Usage) -> None:
        self.journal.append(result)
        self.totals.add(usage, has_failed=result.has_failed)
        self.on_result(usage)

    async def _answer(self, send: Send, line: BatchLine, body: bytes) -> LineReply:
        loop = asyncio.get_running_loop()
        refused_at, wait_s = math.inf, _FIRST_WAIT_S
        while True:
            try:
                reply = await send(line.url, body)
                if reply.status not in _TRIED_AGAIN:
                    self._answered_at = loop.time()
                    return reply
                told_s, error = reply.retry_after_s, _refusal(reply)
            except EngineUnavailable as unavailable:
                told_s, error = unavailable.retry_after_s, unavailable
            refused_at = min(refused_at, loop.time())
            if loop.time() - max(refused_at, self._answered_at) >= self.patience_s:
                raise error
            # Requests that were refused together come back one after another.
            told_s = wait_s if told_s is None else min(told_s, _LONGEST_WAIT_S)
            await asyncio.sleep(told_s * random.uniform(1.0, 1.2))
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


def make_result(line: BatchLine, reply: LineReply) -> tuple[BatchResult, Usage]:
    """Return the result of an answer, and its tokens."""
    error: ResultError | None = None
    try:
        raw = msgspec.json.format(reply.body, indent=-1)  # one line, whatever the server's form
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raw, body = b"null", None
        error = ResultError("invalid_reply", f"HTTP {reply.status}: the reply is not JSON")
    if reply.status >= HTTPStatus.BAD_REQUEST:
        error = error_of(body, reply.status)
    response = ResultResponse(reply.status, reply.request_id, msgspec.Raw(raw))
    return BatchResult(line.result_id, line.custom_id, response, error), _usage_of(body)


def _usage_of(body: Any) -> Usage:
    """Return the tokens of an answer of any API; 0 where they are missing."""
    usage = body.get("usage") if isinstance(body, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    counts = (
        usage.get("prompt_tokens", usage.get("input_tokens")),
        usage.get("completion_tokens", usage.get("output_tokens")),
        details.get("cached_tokens"),
    )
    prompt, output, cached = (each if isinstance(each, int) else 0 for each in counts)
    return Usage(prompt_tokens=prompt, completion_tokens=output, cached_tokens=cached)


def _refusal(reply: LineReply) -> EngineUnavailable:
    body: Any = None
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        body = msgspec.json.decode(reply.body)
    return EngineUnavailable(error_of(body, reply.status).message)
