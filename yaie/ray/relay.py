"""`Relay`: one request's way to its last delta, over as many replicas as it takes.

A request that a replica refuses or loses goes to another replica. After the first token, a request
with one sequence continues there: prompt and output are sent as a prompt that ends with earlier
output (`GenerationRequest.num_resumed`).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Protocol

import msgspec

from yaie.base.errors import EngineDied, EngineUnavailable, Overloaded, YaieError
from yaie.base.types import GenerationRequest, Timings, TokenDelta
from yaie.ray.engine_replica import encode, failure_of, read_deltas
from yaie.ray.route import Route

MAX_DEATHS = 3  # engines that died under one request: it may be the cause
RETRY_S = 30.0  # of refusals, as while every engine restarts
FIRST_PAUSE_S, MAX_PAUSE_S = 0.02, 1.0


class ReplicaStream(Protocol):
    """Messages of one attempt: Ray's streaming response."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Return the messages."""

    def cancel(self) -> None:
        """End the attempt in the replica."""


class RelayLog(Protocol):
    """Counter of relays."""

    def count_answer(self, route: Route, num_cached: int) -> None:
        """Count an attempt with a first token."""

    def count_retry(self, *, is_resumed: bool) -> None:
        """Count a further attempt."""


Send = Callable[[bytes, Route], ReplicaStream]
Names = Callable[[GenerationRequest], list[int]]


class Relay:
    """One request. `deliver` takes its deltas, in order."""

    def __init__(
        self,
        request: GenerationRequest,
        *,
        send: Send,
        names: Names,
        deliver: Callable[[TokenDelta], None],
        count_replicas: Callable[[], int],
        log: RelayLog,
    ) -> None:
        self._request = request  # as sent next
        self._request_id, self._number = request.request_id, request.submission
        self._key = f"{request.request_id}-{secrets.token_hex(4)}"
        self._num_attempts = 0
        self._prompt = request.prompt_token_ids
        self._send, self._names, self._deliver = send, names, deliver
        self._count_replicas, self._log = count_replicas, log
        self._tried: set[str] = set()
        self._output: list[int] = []
        self._first: TokenDelta | None = None
        self._began_at, self._first_at = time.monotonic(), 0.0
        self._num_finished = 0  # sequences
        self.replica = ""  # the last one with an answer

    @property
    def sent_id(self) -> str:
        """Id of the last attempt. Callers of several ingresses may use one id at the same time."""
        return f"{self._key}-{self._num_attempts}"

    @property
    def _is_over(self) -> bool:
        return self._num_finished == self._request.sampling.n

    async def run(self) -> None:
        """Deliver every delta of the request, the last one with an error if it has to be."""
        deaths, pause_s = 0, FIRST_PAUSE_S
        while True:
            route = Route(
                self._names(self._request), len(self._request.prompt_token_ids), self._tried
            )
            try:
                await self._attempt(route)
                return
            except EngineUnavailable as failure:
                error: YaieError = failure
                deaths += isinstance(failure, _Lost)
            except YaieError as failure:
                error = failure
                if not self._may_be_elsewhere(failure):
                    break
            if self._is_over:
                return
            may_wait = time.monotonic() - self._began_at < RETRY_S
            if deaths >= MAX_DEATHS or not may_wait or not self._resume():
                break
            self._log.count_retry(is_resumed=bool(self._output))
            if route.placement is not None:
                self._tried.add(route.placement.replica)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)
        self._deliver(
            TokenDelta(
                request_id=self._request_id,
                submission=self._number,
                index=0,
                finish_reason="error",
                error=error.to_wire(),
            )
        )

    async def _attempt(self, route: Route) -> None:
        """Pass one replica's deltas on. Raises `YaieError`, `_Lost` if the replica is lost."""
        stream: ReplicaStream | None = None
        self._num_attempts += 1
        request = replace(self._request, request_id=self.sent_id)
        try:
            stream = self._send(encode(request), route)
            async for packed in stream:
                for delta in read_deltas(packed):
                    self._pass(delta, route)
        except (asyncio.CancelledError, YaieError):
            if stream is not None:
                stream.cancel()
            raise
        except Exception as failure:
            known = failure_of(failure)
            if known is not None:
                raise known from None
            raise _Lost(f"a replica was lost ({type(failure).__name__}); {_ADVICE}") from None
        finally:
            route.note_end()
        if not self._is_over:
            raise _Lost(f"a replica ended an answer too early; {_ADVICE}")

    def _pass(self, delta: TokenDelta, route: Route) -> None:
        if delta.error is not None:
            error = YaieError.from_wire(delta.error)
            raise _Lost(error.message) if isinstance(error, EngineDied) else error
        if self.replica != (name := "" if route.placement is None else route.placement.replica):
            self.replica = name
        if self._first is None:
            self._first, self._first_at = delta, time.monotonic()
        if route.placement is not None and not route.is_counted:
            route.is_counted = True
            route.note_first_token()
            self._log.count_answer(route, delta.num_cached_tokens)
        self._output += delta.token_ids
        self._num_finished += delta.finish_reason is not None
        self._deliver(self._as_one(delta))

    def _as_one(self, delta: TokenDelta) -> TokenDelta:
        """Return a delta of one uninterrupted answer to the caller's submission."""
        delta = msgspec.structs.replace(delta, request_id=self._request_id, submission=self._number)
        if not self._request.num_resumed:
            return delta
        assert self._first is not None
        timings = delta.timings
        if timings is not None:
            total_s = time.monotonic() - self._began_at
            first_s = self._first_at - self._began_at
            timings = Timings(queued_s=0.0, first_token_s=first_s, total_s=total_s)
        return msgspec.structs.replace(
            delta,
            num_cached_tokens=self._first.num_cached_tokens,
            timings=timings,
        )

    def _may_be_elsewhere(self, error: YaieError) -> bool:
        """Return True for a full queue while another replica has not been asked."""
        return isinstance(error, Overloaded) and len(self._tried) + 1 < self._count_replicas()

    def _resume(self) -> bool:
        """Prepare the next attempt; False if the answer cannot be continued."""
        if self._first is None:
            return True
        if self._request.sampling.n > 1:
            return False
        self._request = replace(
            self._request,
            prompt_token_ids=(*self._prompt, *self._output),
            num_resumed=len(self._output),
            sampling=replace(self._request.sampling, prompt_logprobs=None),
        )
        return True


_ADVICE = "the request is lost, send it again"


class _Lost(EngineDied):
    """A replica or an engine that ended with the request."""
