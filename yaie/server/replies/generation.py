"""`Generation`: one API call while it runs, as pieces of text per choice.

Made by `Service.open`; the endpoint must close it. The engine client pushes deltas into it. The
reader takes everything since its last call: few writes for a slow HTTP client, no delay for a
fast one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from yaie.base.errors import RequestFailed, YaieError
from yaie.base.types import TokenDelta, Usage
from yaie.client.submission import Submission, Submitter
from yaie.server.http.fast_writes import Taker
from yaie.server.http.http_errors import (
    ClientTooSlow,
    RequestTimedOut,
    public_error,
    timeout_error,
)
from yaie.server.metrics.latencies import Latencies
from yaie.server.metrics.prometheus import Metrics
from yaie.server.replies.detokenize_budget import BATCH_TOKENS, DetokenizeBudget
from yaie.server.replies.ended_call import EndedCall, report_end
from yaie.server.replies.unread_tokens import UnreadMemory, UnreadTokens
from yaie.server.requests.call import Call, EndedTurn, TurnRecorder
from yaie.text.answer import Answer, TextPiece
from yaie.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTimes:
    """Times of one answer in seconds."""

    total_s: float  # from the request to the end
    load_s: float  # wait for the load of the model
    prompt_s: float  # from the admission to the first token
    answer_s: float  # from the first token to the end


class Generation:
    """The answers of one call. Choice `p * n + i` is sequence `i` of prompt `p`.

    `http_id` is the X-Request-ID. `deadline` is a loop time, `timeout_s` after the request.
    """

    def __init__(
        self,
        call: Call,
        client: Submitter,
        *,
        http_id: str,
        tokenizer: Tokenizer,
        metrics: Metrics,
        budget: DetokenizeBudget,
        memory: UnreadMemory,
        deadline: float,
        timeout_s: float,
        stream_interval: int = 1,
        load_s: float = 0.0,
    ) -> None:
        self.call = call
        self.answers = [Answer(each, tokenizer, call.make_parser) for each in call.requests]
        self.http_id = http_id
        self.client = client
        self.at_close: list[Callable[[EndedCall], None]] = []
        self._metrics = metrics
        self._budget = budget
        self._deadline = deadline
        self._timeout_s = timeout_s
        self._load_s = load_s
        self._waited_s = 0.0  # from the request to `start`
        self._interval = stream_interval  # tokens per chunk of a choice, after its first chunk
        self._given: set[int] = set()  # choices with a first piece, unless the interval is 1
        self._submissions: list[Submission] = []
        self._replica = ""
        self._num_finished = 0  # choices
        self._reasons: set[str] = set()  # finish reasons
        self._unread = UnreadTokens(call, memory, self.overflow)
        self.at_overflow: Callable[[], None] | None = None  # of a stream that is being sent
        self._wake = asyncio.Event()
        self._error: YaieError | None = None
        self._has_given = self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._latencies = Latencies(metrics)
        self._turn = TurnRecorder(call)
        self._taker: Taker | None = None  # the reader, while it waits
        # Choices of one step are written together, so several of them wait for the reader.
        is_single = call.num_choices == 1 and stream_interval == 1
        self._may_pass = is_single and self.answers[0].may_pass

    @property
    def _name(self) -> str:
        """Name of the call in the log; its client knows both ids."""
        return f"request {self.http_id}, {self.call.response_id}"

    def start(self) -> None:
        """Send the requests to the engine. Raises `AnswerTooLarge`, before anything is computed."""
        self._unread.check_prompts()
        loop = asyncio.get_running_loop()
        self._waited_s = max(0.0, loop.time() - (self._deadline - self._timeout_s))
        self._timer = loop.call_at(self._deadline, self._time_out)
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
        return self._is_finished and not self._unread.by_choice

    @property
    def _is_finished(self) -> bool:
        return self._num_finished == self.call.num_choices

    @property
    def is_running(self) -> bool:
        """True until it ends or fails, or its reader closes it."""
        return not (self._is_finished or self._is_closed) and self._error is None

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
        self._latencies.read(self._unread.by_choice)
        pieces = await self._take()
        self._raise_early_error()
        self._has_given = True
        return pieces

    @property
    def _is_due(self) -> bool:
        """True if there is text to give: the first token of a choice, or enough of them."""
        unread = self._unread.by_choice
        if self._interval == 1 or self._is_finished or self._error is not None:
            return bool(unread)
        found = unread.items()
        due = any(num >= self._interval or choice not in self._given for choice, num in found)
        self._given.update(unread if due else ())
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
            self._latencies.read(self._unread.by_choice)
            unread = self._unread.take()
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
            accepted_prediction_tokens=sum(each.accepted_prediction_tokens for each in usages),
            rejected_prediction_tokens=sum(each.rejected_prediction_tokens for each in usages),
        )

    @property
    def seconds(self) -> float:
        """Seconds since the requests were sent to the engine."""
        return self._latencies.elapsed_s

    @property
    def times(self) -> AnswerTimes:
        """Times of a call with one choice that has ended."""
        timings, seconds = self.answers[0].timings[0], self.seconds
        if timings.total_s:
            prompt_s = timings.first_token_s - timings.queued_s
            answer_s = timings.total_s - timings.first_token_s
        else:  # a stop string ended the text before the engine knew
            first_s = self._latencies.first_s
            prompt_s = seconds if first_s is None else first_s
            answer_s = seconds - prompt_s
        return AnswerTimes(
            total_s=self._waited_s + seconds,
            load_s=self._load_s,
            prompt_s=max(prompt_s, 0.0),
            answer_s=max(answer_s, 0.0),
        )

    @property
    def replica(self) -> str:
        """Replica that answers, of several engines; empty with one, or before the first token."""
        return next((each.replica for each in self._submissions if each.replica), self._replica)

    def fail(self, error: YaieError) -> None:
        """End the call with `error`; its sequences leave the engine within one step."""
        if self._error is None and not self.is_done:
            self._error = error
            self._close_submissions()
            self._wake.set()

    def overflow(self) -> None:
        """End a call whose client left the most tokens unread, with the stream as it is."""
        self.fail(ClientTooSlow("the client reads too slowly; the request was aborted"))
        end, self.at_overflow = self.at_overflow, None  # once: a timeout cannot be moved twice
        if end is not None:
            end()

    def abort(self) -> None:
        """End every choice where it is, with the finish reason `abort`."""
        for prompt, submission in enumerate(self._submissions):
            for index in range(self.call.sampling.n):
                if self.answers[prompt].finish_reason(index) is None:
                    submission.abort(index)

    def is_named(self, name: str) -> bool:
        """Return True if `name` is the response id or the X-Request-ID."""
        return name in (self.call.response_id, self.http_id)

    def close(self) -> None:
        """End running sequences; report the outcome to `at_close`. Safe to call twice."""
        if self._is_closed:
            return
        self._is_closed = True
        self._replica = self.replica
        if self._timer is not None:
            self._timer.cancel()
        self._close_submissions()
        self._unread.close()
        ended = self._end()
        report_end(ended, self._metrics)
        # Cycles: the traceback of a raised error holds frames with this generation.
        self._submissions, self._error = [], None
        at_close, self.at_close = self.at_close, []
        for notify in at_close:
            try:
                notify(ended)
            except Exception:  # the answer is complete
                logger.exception("%s: its end could not be noted", self._name)

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
            or self._unread.by_choice
            or delta.finish_reason is not None
            or not num_tokens
            or delta.logprobs
            or not taker.is_free
            or not self._budget.take(num_tokens)
        ):
            return False
        self._metrics.rate.add(num_tokens)
        self._latencies.observe_now(0, num_tokens)
        taker.take({0: self._turn.record(self.answers[0].pass_on(delta))})
        return True

    def _add(self, prompt: int, delta: TokenDelta) -> None:
        answer, index = self.answers[prompt], delta.index
        if answer.finish_reason(index) is not None:
            return  # the last delta of an aborted sequence
        if answer.push(delta):
            self._submissions[prompt].abort(index)
        if answer.error is not None:
            raise YaieError.from_wire(answer.error)
        reason = answer.finish_reason(index)
        if reason is not None:
            self._num_finished += 1
            self._reasons.add(reason)
        choice = prompt * self.call.sampling.n + index
        if delta.token_ids:
            self._latencies.note_arrival(choice)
        self._metrics.rate.add(len(delta.token_ids))
        self._unread.add(choice, delta)

    async def _take(self, choices: Iterable[int] | None = None) -> dict[int, TextPiece]:
        """Take the text of `choices`, by default the unread ones."""
        unread = self._unread.take()
        pieces: dict[int, TextPiece] = {}
        for choice in unread if choices is None else choices:
            prompt, index = divmod(choice, self.call.sampling.n)
            answer = self.answers[prompt]
            num_undecoded = answer.num_undecoded(index)
            if num_undecoded > BATCH_TOKENS or not self._budget.take(num_undecoded):
                await self._decode(choice)
            pieces[choice] = self._turn.record(answer.take(index))
        return pieces

    async def _decode(self, choice: int, at_least: int = 1) -> None:
        """Decode tokens of a choice in batches, each in its turn, until fewer are left."""
        prompt, index = divmod(choice, self.call.sampling.n)
        answer = self.answers[prompt]
        while (num_undecoded := answer.num_undecoded(index)) >= at_least:
            num_tokens = min(num_undecoded, BATCH_TOKENS)
            await self._budget.reserve(num_tokens)
            answer.decode(index, num_tokens)

    def _time_out(self) -> None:
        self.fail(timeout_error(self._timeout_s))

    def _end(self) -> EndedCall:
        """Return the outcome, before the error is forgotten."""
        error = None if self.is_done else self._error
        is_timeout = isinstance(error, RequestTimedOut)
        return EndedCall(
            call=self.call,
            http_id=self.http_id,
            outcome=self._outcome(error),
            finish_reasons=tuple(sorted(self._reasons)),
            usage=self.usage,
            usages=tuple(answer.usage for answer in self.answers),
            num_tokens=tuple(answer.num_tokens for answer in self.answers),
            timings=tuple(
                each for answer in self.answers for each in answer.timings if each.total_s
            ),
            first_token_s=self._latencies.first_s,
            total_s=self.seconds,
            is_lost=error is not None and self._latencies.first_at is None and not is_timeout,
            turn=self._end_turn(),
        )

    def _outcome(self, error: YaieError | None) -> str:
        if error is not None:
            return error.code or "error"
        if not self.is_done:
            return "disconnect"
        if "abort" in self._reasons:
            return "abort"
        return "length" if self._reasons == {"length"} else "stop"

    def _end_turn(self) -> EndedTurn | None:
        """Return the turn of a chat that was answered to its end."""
        is_answered = self.is_done and "abort" not in self._reasons
        return self._turn.end() if is_answered and not self.call.prompt_only else None


def _server_fault() -> RequestFailed:
    return RequestFailed("the request failed inside the server; its log says more")
