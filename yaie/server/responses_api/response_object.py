"""Responses of `POST /v1/responses`: response objects and their stream events."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from yaie.base.errors import Overloaded, YaieError
from yaie.base.types import TokenLogprobs
from yaie.server.http.http_errors import ResponseCancelled, error_reply
from yaie.server.replies.ended_call import EndedCall
from yaie.server.replies.generation import Generation
from yaie.server.replies.logprob_formats import token_logprobs
from yaie.server.replies.reply import GenerationReply, InThread, RunLater, encode_named_event
from yaie.server.requests.comparison import NO_NOTES, CacheNotes, openai_diagnostics
from yaie.server.responses_api.background import Follower, make_whole
from yaie.server.responses_api.output_items import Event, OutputItems, replay
from yaie.server.responses_api.response_store import Item, Link
from yaie.server.responses_api.responses_translation import Turn
from yaie.server.schemas.response_replies import (
    InputTokensDetails,
    OutputTokensDetails,
    ResponseDocument,
    ResponseEvent,
    ResponseUsage,
)
from yaie.text.answer import TextPiece
from yaie.text.tokenizer import Tokenizer

MAX_READERS = 64  # of one response in progress


class ResponseObject(GenerationReply):
    """Response with output items, stored at its end unless the request forbids it."""

    whole = ResponseDocument
    event = ResponseEvent

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        super().__init__(generation, tokenizer, notes)
        assert isinstance(self.call.body, Turn)
        self._turn = self.call.body
        self._items = OutputItems(self._turn.tools.find)
        self._num_events = 0
        self._finish_reason: str | None = None
        self._parse_fault = ""
        self._last: dict[str, Any] | None = None  # document, once it is over
        self._followers: list[Follower] = []
        self._lock = threading.Lock()  # events are written in threads too
        generation.at_close.append(self._end_followers)
        self._about_request = _about(self._turn)
        place = self._turn.body.place
        place.store.begin(place.tenant, self.call.response_id, self)

    @property
    def is_running(self) -> bool:
        """True until the response ends, with or without its client."""
        if self._turn.body.background:  # until it is stored, for clients that poll
            return self._last is None
        return self.generation.is_running

    def so_far(self) -> bytes:
        """Return the response as JSON, with the output so far."""
        return msgspec.json.encode(self._describe_progress())

    def input_items(self) -> list[Item]:
        """Return the items that the model sees: earlier turns, then this turn's input."""
        before = self._turn.before
        return [*([] if before is None else before.items()), *self._turn.items]

    def begin(self, run_later: RunLater, in_thread: InThread) -> bytes | Follower | None:
        """See `GenerationReply.begin`; returns the queued response, or its events."""
        if not self._turn.body.background:
            return None
        run_later(make_whole(self.generation, self, in_thread))
        return self.follow(-1) if self.call.stream else self.so_far()

    def fail(self, error: YaieError) -> None:
        """Store the response with its error, unless it was cancelled."""
        if not isinstance(error, ResponseCancelled):
            self._store(self._describe_failure(error))

    def cancel(self) -> bytes:
        """End the generation; return the cancelled response as JSON."""
        self.generation.fail(ResponseCancelled("the response was cancelled by a request"))
        return msgspec.json.encode(self._finish("cancelled"))

    def follow(self, after: int) -> Follower:
        """Return a reader of the events with numbers above `after`, those to come included.

        Raises `Overloaded` with too many readers: each one costs time at each event.
        """
        with self._lock:
            if len(self._followers) >= MAX_READERS:
                raise Overloaded(
                    f"{MAX_READERS} readers follow this response; end one of their streams, or GET "
                    "it without stream"
                )
            document = self._document("in_progress", self._items.items())
            past = itertools.islice(replay(document, self._items.cuts()), self._num_events)
            follower = Follower(
                number_events(past), self._num_events, skip=after + 1, at_close=self._forget
            )
            self._followers.append(follower)
        return follower

    def _forget(self, follower: Follower) -> None:
        with self._lock:
            if follower in self._followers:
                self._followers.remove(follower)

    def _end_followers(self, ended: EndedCall) -> None:
        """Send followers the rest of a response that was not streamed, or that had no end."""
        if not self._followers:
            return
        if self._last is None:
            message = "the response was interrupted before it was complete; send the request again"
            about = {"code": "response_ended", "message": message, "param": None}
            self._write([{"type": "error", **about}], is_end=True)
        else:
            for follower in self._followers:
                events = number_events(replay(self._last, self._items.cuts()))
                follower.end(itertools.islice(events, self._num_events, None))
            self._followers = []

    def opening(self) -> bytes:
        """Return the events `response.created` and `response.in_progress`."""
        document = self._document("in_progress", [])
        return self._write(
            {"type": f"response.{name}", "response": document}
            for name in ("created", "in_progress")
        )

    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return the events of items that begin, grow and end."""
        with self._lock:
            return b"".join(self._write(self._push(piece)) for piece in pieces.values())

    def closing(self) -> bytes:
        """Return the last event, with the whole response, after storing it."""
        if self._last is not None:  # cancelled while its last tokens were decoded
            return b""
        return self._ending(self._finish(self._status))

    def failure(self, error: YaieError) -> bytes:
        """Return the events `error` and `response.failed`; a cancelled stream is incomplete."""
        if isinstance(error, ResponseCancelled):
            return self._ending(self._finish("cancelled"))
        shown = error_reply(error).error
        document = self._describe_failure(error)
        about = {"code": shown.code, "message": shown.message, "param": shown.param}
        return self._write(
            [{"type": "error", **about}, {"type": "response.failed", "response": document}],
            is_end=True,
        )

    def collect(self, pieces: Mapping[int, TextPiece]) -> dict[str, Any]:
        """Return the whole response, after storing it."""
        if self._last is not None:  # cancelled while its last tokens were decoded
            return self._describe_progress()
        for piece in pieces.values():
            self._push(piece)
        return self._finish(self._status)

    def _push(self, piece: TextPiece) -> Sequence[Event]:
        """Add a piece to the items; return their events."""
        events = list(self._items.push(piece.parts, self._logprobs(piece.logprobs)))
        if piece.finish_reason is not None:
            self._finish_reason = piece.finish_reason
            self._parse_fault = piece.parse_fault
            is_whole = piece.finish_reason == "stop"
            events += self._items.end("completed" if is_whole else "incomplete")
        return events

    @property
    def _status(self) -> str:
        return "completed" if self._finish_reason == "stop" else "incomplete"

    def _ending(self, document: dict[str, Any]) -> bytes:
        """Return the last event of a stream with this response."""
        name = "completed" if document["status"] == "completed" else "incomplete"
        return self._write([{"type": f"response.{name}", "response": document}], is_end=True)

    def _finish(self, status: str) -> dict[str, Any]:
        """Return the document of a response that has ended with a status, and store it."""
        document = self._document(status, self._items.items())
        if status == "completed":
            document["completed_at"] = int(time.time())
        elif self._finish_reason == "length":
            document["incomplete_details"] = {"reason": "max_output_tokens"}
        if self._parse_fault:
            document["tool_parse_error"] = self._parse_fault
        document["usage"] = self._usage()
        if self.call.is_compared:
            usage = self.generation.usage
            document["prompt_cache_diagnostics"] = openai_diagnostics(
                self.notes.compared, usage.prompt_tokens, usage.cached_tokens
            )
        self._store(document)
        return document

    def _describe_failure(self, error: YaieError) -> dict[str, Any]:
        document = self._document("failed", self._items.items())
        message = error_reply(error).error.message
        document["error"] = {"code": _failure_code(error), "message": message}
        return document

    def _describe_progress(self) -> dict[str, Any]:
        is_queued = self._turn.body.background and not self.generation.usage.completion_tokens
        return self._document("queued" if is_queued else "in_progress", self._items.items())

    def _store(self, document: dict[str, Any]) -> None:
        """Store the last document of the response, and note in it whether it is stored."""
        if self._turn.is_stored:
            place = self._turn.body.place
            link = Link(self._turn.before, self._turn.items, document["output"])
            raw = msgspec.json.encode(document)
            cuts = msgspec.json.encode(self._items.cuts())
            document["store"] = place.store.put(
                place.tenant, document["id"], raw, link, cuts, is_in_batch=place.is_in_batch
            )
        self._last = document

    def _document(self, status: str, output: list[Item]) -> dict[str, Any]:
        return {
            "id": self.call.response_id,
            "object": "response",
            "created_at": self.call.created,
            "status": status,
            "model": self.call.model,
            "output": output,
            "temperature": self.call.sampling.temperature,
            "top_p": self.call.sampling.top_p,
            **self._about_request,
        }

    def _usage(self) -> ResponseUsage:
        usage = self.generation.usage
        return ResponseUsage(
            input_tokens=usage.prompt_tokens,
            input_tokens_details=InputTokensDetails(
                cached_tokens=usage.cached_tokens,
                cache_write_tokens=usage.prompt_tokens - usage.cached_tokens,
            ),
            output_tokens=usage.completion_tokens,
            output_tokens_details=OutputTokensDetails(reasoning_tokens=usage.reasoning_tokens),
            total_tokens=usage.total_tokens,
            cache_explanation=self.notes.explanation or UNSET,
        )

    def _logprobs(self, given: Sequence[TokenLogprobs]) -> list[Any]:
        if self.call.sampling.logprobs is None:
            return []
        return token_logprobs(self.tokenizer, given)

    def _write(self, events: Iterable[Event], *, is_end: bool = False) -> bytes:
        written = list(number_events(events, self._num_events))
        self._num_events += len(written)
        for follower in [*self._followers]:  # one may leave meanwhile
            follower.send(written, is_end=is_end)
        if is_end:
            self._followers = []
        return b"".join(written)


def number_events(events: Iterable[Event], first: int = 0) -> Iterator[bytes]:
    """Return events as they are sent, with their numbers from `first` on."""
    for number, each in enumerate(events, first):
        named = {"type": each["type"], "sequence_number": number, **each}
        yield encode_named_event(each["type"], msgspec.json.encode(named))


def _about(turn: Turn) -> dict[str, Any]:
    """Return the response fields that repeat request fields."""
    body = turn.body
    effort = None if body.reasoning is None else body.reasoning.effort
    text = body.text
    return {
        "background": bool(body.background),
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "instructions": body.instructions,
        "max_output_tokens": body.max_output_tokens,
        "max_tool_calls": body.max_tool_calls,
        "metadata": body.metadata or {},
        "parallel_tool_calls": body.parallel_tool_calls is not False,
        "previous_response_id": body.previous_response_id,
        "prompt_cache_key": body.prompt_cache_key,
        "reasoning": {"effort": effort, "summary": None},
        "safety_identifier": body.safety_identifier,
        "service_tier": "default",
        "store": turn.is_stored,
        "text": {"format": (None if text is None else text.format) or {"type": "text"}},
        "tool_choice": "auto" if body.tool_choice is None else body.tool_choice,
        "tools": [
            {"parameters": None, "strict": None, **tool} if tool["type"] == "function" else tool
            for tool in body.tools or ()
        ],
        "top_logprobs": body.top_logprobs or 0,
        "truncation": body.truncation or "disabled",
        "usage": None,
        "user": body.user,
        **({"warnings": warnings} if (warnings := turn.warnings) else {}),
    }


def _failure_code(error: YaieError) -> str:
    """Return OpenAI's code for a failed response; the event `error` has ours."""
    if error.status == 429:
        return "rate_limit_exceeded"
    return "invalid_prompt" if 400 <= error.status < 500 else "server_error"
