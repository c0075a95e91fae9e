"""One API call while it runs: its engine requests, merged, as pieces of text per choice.

Made by `Service.open`, read by the routes, which must close it. All that arrived since the last
look is handed out together, so that a slow client costs few writes and a fast one no delay.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from itertools import chain
from typing import cast

from server.errors import (
    AnswerTooLarge,
    ClientTooSlow,
    RequestTimedOut,
    public_error,
    timed_out,
)
from server.metrics import Metrics
from server.translate import Call
from yaie.client.base import EngineClient
from yaie.errors import RequestFailed, YaieError
from yaie.text.assemble import SequenceText, TextPiece
from yaie.text.tokenizer import Tokenizer
from yaie.types import GenerationRequest, TokenDelta, TokenLogprobs, Usage

logger = logging.getLogger(__name__)

# Deltas of a choice that may wait for a client which does not read; beyond it the request is ended.
MAX_UNREAD_DELTAS = 16_384
# Tokens, and log-probabilities of others in their places, that a call may hold: half a KiB each.
MAX_HELD_NUMBERS = 2**20
# Deltas that become text in one go: other requests and probes wait meanwhile.
DELTAS_IN_A_ROW = 256


class Generation:
    """The sequences of one call. Choice `p * n + i` is sequence `i` of prompt `p`."""

    def __init__(
        self,
        call: Call,
        client: EngineClient,
        *,
        http_id: str,
        tokenizer: Tokenizer,
        metrics: Metrics,
        deadline: float,
        timeout_s: float,
        on_close: Callable[[Generation], None],
    ) -> None:
        self.call = call
        self._name = f"request {http_id}, {call.response_id}"  # both are known to the client
        self.prompt_logprobs: list[tuple[TokenLogprobs | None, ...] | None]
        self.prompt_logprobs = [None] * len(call.requests)
        self._client = client
        self._metrics = metrics
        self._deadline = deadline  # of the event loop's clock, and what it was set by:
        self._timeout_s = timeout_s
        self._on_close = on_close
        self._sequences = [
            SequenceText(tokenizer, request.prompt_token_ids, request.sampling)
            for request in call.requests
            for _ in range(request.sampling.n)
        ]
        self._cached = [0] * len(call.requests)
        self._num_open = len(self._sequences)
        self._arrived: list[tuple[int, TokenDelta]] = []  # with the choice
        self._num_unread: Counter[int] = Counter()  # of those, by choice
        self._unread_numbers = self._kept_numbers = 0
        self._wake = asyncio.Event()
        self._error: YaieError | None = None
        self._has_given = False
        self._pumps: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._started_at = self._last_at = time.monotonic()
        self._first_at: float | None = None
        self._reasons: set[str] = set()
        self._closed = False

    def start(self) -> None:
        """Send the requests to the engine. Raises `AnswerTooLarge`, before anything is computed."""
        if _num_of_prompts(self.call.requests) > MAX_HELD_NUMBERS:
            raise self._too_large()
        self._pumps = [
            asyncio.create_task(self._pump(prompt, request))
            for prompt, request in enumerate(self.call.requests)
        ]
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(self._deadline, self._time_out)

    @property
    def is_done(self) -> bool:
        """Whether every choice has its finish reason."""
        return self._num_open == 0

    async def next(self) -> dict[int, TextPiece]:
        """What arrived since the last call, per choice; empty when all are done.

        Raises the error that ended the request, after what came before it was handed out.
        """
        while not self.is_done:
            if self._error is not None and not (self._arrived and self._has_given):
                raise self._error
            if self._arrived:
                pieces = await self._take()
                if self._error is not None and not self._has_given:
                    raise self._error  # while it can still become a status
                if pieces:
                    self._has_given = True
                    return pieces
                continue
            self._wake.clear()
            await self._wake.wait()
        return {}

    @property
    def usage(self) -> Usage:
        """Tokens of the call so far."""
        return Usage(
            prompt_tokens=sum(len(request.prompt_token_ids) for request in self.call.requests),
            completion_tokens=0
            if self.call.prompt_only
            else sum(sequence.num_tokens for sequence in self._sequences),
            cached_tokens=sum(self._cached),
        )

    def fail(self, error: YaieError) -> None:
        """End the call with `error`; its sequences leave the engine within one step."""
        if self._error is None and not self.is_done:
            self._error = error
            for pump in self._pumps:
                pump.cancel()
            self._wake.set()

    async def close(self) -> None:
        """End what still runs and report how it went. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        self._report()
        self._on_close(self)

    async def _pump(self, prompt: int, request: GenerationRequest) -> None:
        generate = cast(AsyncGenerator[TokenDelta, None], self._client.generate(request))
        try:
            async with contextlib.aclosing(generate) as deltas:
                async for delta in deltas:
                    choice = prompt * self.call.sampling.n + delta.index
                    self._arrived.append((choice, delta))
                    self._num_unread[choice] += 1
                    self._unread_numbers += len(delta.token_ids) + _num_scored(delta.logprobs)
                    self._wake.set()
                    if self._num_unread[choice] > MAX_UNREAD_DELTAS:
                        raise ClientTooSlow(
                            f"{MAX_UNREAD_DELTAS} pieces of a choice were not read; "
                            "the request was ended"
                        )
                    if self._unread_numbers > MAX_HELD_NUMBERS:
                        raise ClientTooSlow(
                            f"{MAX_HELD_NUMBERS} tokens and log-probabilities were not read; "
                            "the request was ended"
                        )
        except YaieError as error:
            self.fail(error)
        except Exception:
            logger.exception("%s: the engine client failed", self._name)
            self.fail(RequestFailed("the request failed inside the server; its log says more"))

    async def _take(self) -> dict[int, TextPiece]:
        arrived, self._arrived = self._arrived, []
        self._num_unread.clear()
        self._unread_numbers = 0
        pieces: dict[int, list[TextPiece]] = {}
        for place, (choice, delta) in enumerate(arrived, start=1):
            if place % DELTAS_IN_A_ROW == 0:
                await asyncio.sleep(0)
            if delta.error is not None:
                level = logging.WARNING if delta.error.status >= 500 else logging.INFO
                logger.log(level, "%s failed in the engine: %s", self._name, delta.error.message)
                self.fail(public_error(delta.error))
                break
            prompt = choice // self.call.sampling.n
            self._cached[prompt] = max(self._cached[prompt], delta.num_cached_tokens)
            if delta.prompt_logprobs is not None:
                self.prompt_logprobs[prompt] = delta.prompt_logprobs
            if not self._has_room_for(delta):
                self.fail(self._too_large())
                break
            piece = self._sequences[choice].push(delta)
            if piece.must_abort:
                await self._client.abort(delta.request_id, delta.index)
            if piece.finish_reason is not None:
                self._num_open -= 1
                self._reasons.add(piece.finish_reason)
            pieces.setdefault(choice, []).append(piece)
        joined = {choice: _joined(parts) for choice, parts in pieces.items()}
        self._measure(joined)
        return joined

    def _has_room_for(self, delta: TokenDelta) -> bool:
        """Whether log-probabilities that stay until the answer is written are not too many."""
        if delta.prompt_logprobs is not None:
            self._kept_numbers += _num_scored(filter(None, delta.prompt_logprobs))
        if not self.call.stream:
            self._kept_numbers += _num_scored(delta.logprobs)
        return self._kept_numbers <= MAX_HELD_NUMBERS

    def _too_large(self) -> AnswerTooLarge:
        or_else = "" if self.call.stream else ", or for a stream"
        return AnswerTooLarge(
            f"this answer has more than {MAX_HELD_NUMBERS} log-probabilities that must be held "
            "until it is written; ask for fewer of them, or for fewer tokens, choices or prompts"
            + or_else
        )

    def _measure(self, pieces: dict[int, TextPiece]) -> None:
        num_tokens = max((len(piece.token_ids) for piece in pieces.values()), default=0)
        if not num_tokens:
            return
        now = time.monotonic()
        if self._first_at is None:
            self._first_at = now
            self._metrics.first_token_s.observe(now - self._started_at)
        else:
            self._metrics.inter_token_s.observe((now - self._last_at) / num_tokens)
        self._last_at = now

    def _time_out(self) -> None:
        self.fail(timed_out(self._timeout_s))

    def _report(self) -> None:
        if self.is_done:
            outcome = "length" if self._reasons == {"length"} else "stop"
            if "abort" in self._reasons:
                outcome = "abort"
        elif self._error is not None:
            outcome = self._error.code or "error"
        else:
            outcome = "disconnect"
        usage = self.usage
        total_s = time.monotonic() - self._started_at
        has_waited = isinstance(self._error, RequestTimedOut)
        is_lost = self._error is not None and self._first_at is None and not has_waited
        self._metrics.count_outcome(outcome, usage, total_s, is_lost=is_lost)
        first_s = "-" if self._first_at is None else f"{self._first_at - self._started_at:.3f}"
        logger.info(
            "%s outcome=%s prompt=%d cached=%d completion=%d first_token_s=%s total_s=%.3f",
            self._name,
            outcome,
            usage.prompt_tokens,
            usage.cached_tokens,
            usage.completion_tokens,
            first_s,
            total_s,
        )


def _num_of_prompts(requests: Iterable[GenerationRequest]) -> int:
    """How many log-probabilities of prompts are asked for."""
    return sum(
        (1 + request.sampling.prompt_logprobs) * (len(request.prompt_token_ids) - 1)
        for request in requests
        if request.sampling.prompt_logprobs is not None
    )


def _num_scored(logprobs: Iterable[TokenLogprobs]) -> int:
    """How many log-probabilities there are, of the tokens themselves and of others."""
    return sum(1 + len(each.top) for each in logprobs)


def _joined(pieces: Sequence[TextPiece]) -> TextPiece:
    if len(pieces) == 1:
        return pieces[0]
    last = next((piece for piece in pieces if piece.finish_reason is not None), pieces[-1])
    return TextPiece(
        text="".join(piece.text for piece in pieces),
        token_ids=tuple(chain.from_iterable(piece.token_ids for piece in pieces)),
        logprobs=tuple(chain.from_iterable(piece.logprobs for piece in pieces)),
        finish_reason=last.finish_reason,
        stop_reason=last.stop_reason,
    )
