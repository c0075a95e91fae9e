"""`Generation`: one API call while it runs, as pieces of text per choice.

Made by `Service.open`; the endpoint must close it. The engine client pushes deltas into it. The
reader takes everything since its last call: few writes for a slow HTTP client, no delay for a
fast one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial

from msgspec.structs import replace

from yaie.base.errors import RequestFailed, YaieError
from yaie.base.types import TokenDelta, Usage
from yaie.client.submission import Submission, Submitter
from yaie.server.http.fast_writes import Taker
from yaie.server.http.http_errors import (
    AnswerTooLarge,
    ClientTooSlow,
    RequestTimedOut,
    public_error,
    timeout_error,
)
from yaie.server.metrics.latencies import Latencies
from yaie.server.metrics.prometheus import Metrics
from yaie.server.metrics.request_log import log_end
from yaie.server.replies.detokenize_budget import BATCH_TOKENS, DetokenizeBudget
from yaie.server.replies.logprob_formats import num_logprobs, num_prompt_logprobs
from yaie.server.requests.call import Call, EndedTurn
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.text.answer import Answer, TextPiece
from yaie.text.output_parts import Part, TextPart, ToolCallPart, with_call_id
from yaie.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

# Maximum number of unread tokens of a choice of a stream; beyond it the request is ended.
MAX_UNREAD_TOKENS = 16_384
# Tokens and log-probabilities (half a KiB each) held for a call.
MAX_HELD_NUMBERS = 2**20


class Generation:
    """The answers of one call. Choice `p * n + i` is sequence `i` of prompt `p`."""

    def __init__(
        self,
        call: Call,
        client: Submitter,
        *,
        http_id: str,
        tokenizer: Tokenizer,
        metrics: Metrics,
        budget: DetokenizeBudget,
        deadline: float,
        timeout_s: float,
        stream_interval: int = 1,
        cache_notes: CacheNotes = NO_NOTES,
        on_close: Callable[[Generation], None],
    ) -> None:
        self.call = call
        self.cache_notes = cache_notes
        self.answers = [Answer(each, tokenizer, call.make_parser) for each in call.requests]
        self.http_id = http_id  # of the response's headers
        self._name = f"request {http_id}, {call.response_id}"  # the HTTP client knows both
        self.client = client
        self._metrics = metrics
        self._budget = budget
        self._deadline = deadline  # in the event loop's time
        self._timeout_s = timeout_s
        self._interval = stream_interval  # tokens of a choice that are given together
        self._given: set[int] = set()  # choices with a first piece, unless the interval is 1
        self._on_close = on_close
        self._submissions: list[Submission] = []
        self._num_choices = call.num_choices
        self._num_finished = 0  # choices
        self._unread: dict[int, int] = {}  # number of tokens, by choice
        self._unread_numbers = self._kept_numbers = 0
        self._wake = asyncio.Event()
        self._error: YaieError | None = None
        self._has_given = False
        self._timer: asyncio.TimerHandle | None = None
        self._latencies = Latencies(metrics)
        self._taker: Taker | None = None  # the reader, while it waits
        self._reasons: set[str] = set()
        self._parts: list[Part] = []  # of the answer, for the next turn
        self._token_ids: list[int] = []
        # Two choices of a step are written together, so they wait for the reader.
        is_single = self._num_choices == 1 and stream_interval == 1
        self._may_pass = is_single and self.answers[0].may_pass
        self._closed = False
        self.outcome = ""  # in the metrics' words, once it is closed
        self.at_close: list[Callable[[], None]] = []

    def start(self) -> None:
        """Send the requests to the engine. Raises `AnswerTooLarge`, before anything is computed."""
        if self.call.prompt_copies * num_prompt_logprobs(self.call.requests) > MAX_HELD_NUMBERS:
            raise self._too_large()
        self._timer = asyncio.get_running_loop().call_at(self._deadline, self._time_out)
        try:
            for prompt, request in enumerate(self.call.requests):
                self._submissions.append(self.client.submit(request, partial(self._push, prompt)))
        except YaieError as error:
            self.fail(error)
        except Exception:
            logger.exception("%s: the engine client failed", self._name)
            self.fail(_server_fault())

    @property
    def is_done(self) -> bool:
        """True once every choice has its finish reason and all of it was taken."""
        return self._is_finished and not self._unread

    @property
    def _is_finished(self) -> bool:
        return self._num_finished == self._num_choices

    @property
    def is_answered(self) -> bool:
        """True once every choice came to an end of its own, and all of it was taken."""
        return self.is_done and "abort" not in self._reasons

    @property
    def is_running(self) -> bool:
        """True until it ends or fails, or its reader closes it."""
        return not (self._is_finished or self._closed) and self._error is None

    async def next(self, taker: Taker | None = None) -> dict[int, TextPiece]:
        """Wait for pieces and return them by choice; empty when all are done.

        `taker` may take pieces meanwhile, as they arrive. Raises the request's error, after the
        pieces before it.
        """
        while not self._is_due:
            if self._is_finished:
                return {}
            if self._error is not None:
                raise self._error
            self._wake.clear()
            self._taker = taker if self._may_pass and self._has_given else None
            try:
                await self._wake.wait()
            finally:
                self._taker = None
        self._raise_early_error()
        self._latencies.read(self._unread)
        pieces = await self._take()
        self._raise_early_error()
        self._has_given = True
        return pieces

    @property
    def _is_due(self) -> bool:
        """True if there is text to give: the first token of a choice, or enough of them."""
        if self._interval == 1 or self._is_finished or self._error is not None:
            return bool(self._unread)
        found = self._unread.items()
        due = any(num >= self._interval or choice not in self._given for choice, num in found)
        self._given.update(self._unread if due else ())
        return due

    def _raise_early_error(self) -> None:
        """Raise an error before anything is sent: it still becomes a status."""
        if self._error is not None and not self._has_given:
            raise self._error

    async def whole(self) -> dict[int, TextPiece]:
        """Wait for the end of all choices; return each as one piece. Raises as `next` does."""
        while True:
            self._wake.clear()
            if self._error is not None:
                raise self._error
            self._latencies.read(self._unread)
            unread, self._unread = self._unread, {}
            if self._is_finished:
                return await self._take(range(self.call.num_choices))
            for choice in unread:
                await self._decode(choice, at_least=BATCH_TOKENS)
            await self._wake.wait()

    @property
    def usage(self) -> Usage:
        """Tokens of the call so far."""
        usages = [answer.usage for answer in self.answers]
        num_completion = sum(usage.completion_tokens for usage in usages)
        return Usage(
            prompt_tokens=sum(usage.prompt_tokens for usage in usages),
            completion_tokens=0 if self.call.prompt_only else num_completion,
            cached_tokens=sum(usage.cached_tokens for usage in usages),
            reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
        )

    @property
    def finish_reasons(self) -> list[str]:
        """Kinds of ends that its choices came to."""
        return sorted(self._reasons)

    @property
    def seconds(self) -> float:
        """Seconds since the requests were sent to the engine."""
        return self._latencies.elapsed_s

    def fail(self, error: YaieError) -> None:
        """End the call with `error`; its sequences leave the engine within one step."""
        if self._error is None and not self.is_done:
            self._error = error
            self._close_submissions()
            self._wake.set()

    def abort(self) -> None:
        """End every choice where it is, with the finish reason `abort`."""
        for prompt, submission in enumerate(self._submissions):
            for index in range(self.call.sampling.n):
                if self.answers[prompt].finish_reason(index) is None:
                    submission.abort(index)

    def is_named(self, name: str) -> bool:
        """Return whether `name` is the id of the response or of its HTTP request."""
        return name in (self.call.response_id, self.http_id)

    def close(self) -> None:
        """End running sequences and report the outcome. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._close_submissions()
        self._report()
        # Cycles: the traceback of a raised error holds frames with this generation.
        self._submissions, self._error = [], None
        self._on_close(self)
        for call in self.at_close:
            call()
        self.at_close = []

    def _close_submissions(self) -> None:
        for submission in self._submissions:
            submission.close()

    def _push(self, prompt: int, delta: TokenDelta) -> None:
        """Add a delta. This is the sink of the engine client and must not raise."""
        if self._error is not None:
            return
        try:
            if delta.error is None:
                if self._pass(delta):
                    return
                self._add(prompt, delta)
            else:
                level = logging.WARNING if delta.error.status == 500 else logging.INFO
                logger.log(level, "%s failed in the engine: %s", self._name, delta.error.message)
                self.fail(public_error(delta.error))
        except YaieError as error:
            self.fail(error)
        except Exception:
            logger.exception("%s: an answer could not be put together", self._name)
            self.fail(_server_fault())
        self._wake.set()

    def _pass(self, delta: TokenDelta) -> bool:
        """Give a delta in the middle of a stream to the reader, if it takes it now."""
        taker, num_tokens = self._taker, len(delta.token_ids)
        if (
            taker is None
            or self._unread
            or delta.finish_reason is not None
            or not num_tokens
            or delta.logprobs
            or not taker.is_free
            or not self._budget.take(num_tokens)
        ):
            return False
        self._metrics.rate.add(num_tokens)
        self._latencies.observe_now(0, num_tokens)
        taker.take({0: self._set_call_ids(self.answers[0].pass_on(delta))})
        return True

    def _add(self, prompt: int, delta: TokenDelta) -> None:
        answer, index = self.answers[prompt], delta.index
        if answer.finish_reason(index) is not None:
            return  # the last delta of an aborted sequence
        if answer.push(delta):
            self._submissions[prompt].abort(index)
        reason = answer.finish_reason(index)
        if reason is not None:
            self._num_finished += 1
            self._reasons.add(reason)
        num_tokens = len(delta.token_ids)
        choice = prompt * self.call.sampling.n + index
        if num_tokens:
            self._latencies.note_arrival(choice)
        self._metrics.rate.add(num_tokens)
        num_unread = self._unread[choice] = self._unread.get(choice, 0) + num_tokens
        if delta.logprobs or delta.prompt_logprobs is not None:
            self._add_logprobs(delta)
        if not self.call.stream:
            return
        self._unread_numbers += num_tokens
        if num_unread > MAX_UNREAD_TOKENS:
            raise ClientTooSlow(
                f"the client left {MAX_UNREAD_TOKENS} tokens of a choice unread; the request was "
                f"aborted"
            )
        if self._unread_numbers > MAX_HELD_NUMBERS:
            raise ClientTooSlow(
                f"the client left {MAX_HELD_NUMBERS} tokens and log-probabilities unread; the "
                f"request was aborted"
            )

    def _add_logprobs(self, delta: TokenDelta) -> None:
        """Count log-probabilities; raise if too many are kept until the answer is written."""
        number = num_logprobs(delta.logprobs)
        if self.call.stream:
            self._unread_numbers += number
        else:
            self._kept_numbers += number
        if delta.prompt_logprobs is not None:
            self._kept_numbers += num_logprobs(filter(None, delta.prompt_logprobs))
        if self._kept_numbers > MAX_HELD_NUMBERS:
            raise self._too_large()

    async def _take(self, choices: Iterable[int] | None = None) -> dict[int, TextPiece]:
        """Take the text of `choices`, by default of the unread ones."""
        unread, self._unread, self._unread_numbers = self._unread, {}, 0
        pieces: dict[int, TextPiece] = {}
        for choice in unread if choices is None else choices:
            prompt, index = divmod(choice, self.call.sampling.n)
            answer = self.answers[prompt]
            num_undecoded = answer.num_undecoded(index)
            if num_undecoded > BATCH_TOKENS or not self._budget.take(num_undecoded):
                await self._decode(choice)
            pieces[choice] = self._set_call_ids(answer.take(index))
        return pieces

    def _set_call_ids(self, piece: TextPiece) -> TextPiece:
        """Return a piece whose calls have ids, and keep its parts for the next turn."""
        parts = piece.parts
        is_text = len(parts) == 1 and type(parts[0]) is TextPart  # true of most pieces
        if not is_text and any(isinstance(part, ToolCallPart) for part in parts):
            prefix = self.call.call_id_prefix
            piece = replace(piece, parts=tuple(with_call_id(part, prefix) for part in piece.parts))
        if self.call.next_turn is not None:
            self._parts += piece.parts
            self._token_ids += piece.token_ids
        return piece

    @property
    def ended_turn(self) -> EndedTurn | None:
        """The turn of a chat once it has been answered to its end."""
        turn = self.call.next_turn
        if turn is None or not self.is_answered or self.call.prompt_only:
            return None
        return EndedTurn(turn, self.call.requests[0], self._parts, self._token_ids)

    async def _decode(self, choice: int, at_least: int = 1) -> None:
        """Decode tokens of a choice in batches, each in its turn, until fewer are left."""
        prompt, index = divmod(choice, self.call.sampling.n)
        answer = self.answers[prompt]
        while (num_undecoded := answer.num_undecoded(index)) >= at_least:
            num_tokens = min(num_undecoded, BATCH_TOKENS)
            await self._budget.reserve(num_tokens)
            answer.decode(index, num_tokens)

    def _too_large(self) -> AnswerTooLarge:
        or_else = "" if self.call.stream else ", or for a stream"
        return AnswerTooLarge(
            f"this answer has more than {MAX_HELD_NUMBERS} log-probabilities that must be held "
            "until it is written; ask for fewer of them, or for fewer tokens, choices or prompts"
            + or_else
        )

    def _time_out(self) -> None:
        self.fail(timeout_error(self._timeout_s))

    def _report(self) -> None:
        error = None if self.is_done else self._error
        if self.is_done:
            outcome = "length" if self._reasons == {"length"} else "stop"
            if "abort" in self._reasons:
                outcome = "abort"
        elif error is not None:
            outcome = error.code or "error"
        else:
            outcome = "disconnect"
        self.outcome = outcome
        usage = self.usage
        total_s = self.seconds
        has_waited = isinstance(error, RequestTimedOut)
        is_lost = error is not None and self._latencies.first_at is None and not has_waited
        self._metrics.count_outcome(outcome, usage, total_s, is_lost=is_lost)
        ids = self.http_id, self.call.response_id
        log_end(*ids, outcome, usage, first_token_s=self._latencies.first_s, total_s=total_s)


def _server_fault() -> RequestFailed:
    return RequestFailed("the request failed inside the server; its log says more")
