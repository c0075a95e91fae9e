"""Base of the chat and text completion responses: usage, chunks and collected choices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from yaie.base.errors import YaieError
from yaie.base.types import Usage
from yaie.server.http.http_errors import error_reply
from yaie.server.replies.generation import Generation
from yaie.server.replies.logprob_formats import prompt_logprobs
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.text.answer import TextPiece
from yaie.text.tokenizer import Tokenizer

DONE_MARK = "[DONE]"
DONE = f"data: {DONE_MARK}\n\n".encode()

PARSE_FAULT_HEADER = "X-YAIE-Tool-Parse-Error"
MAX_FAULT_CHARS = 300

InThread = Callable[[Callable[[], bytes]], Awaitable[bytes]]  # runs a serialization
RunLater = Callable[[Coroutine[Any, Any, None]], None]  # runs work without a waiting client


def usage_json(usage: Usage, seconds: float | None = None) -> dict[str, Any]:
    """Return OpenAI's `usage`, always with the cached tokens; with those of reasoning, if any.

    `seconds`: the time of a finished request, which adds it and the rate.
    """
    counts: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
    if usage.reasoning_tokens:
        counts["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    if seconds is not None:
        counts["processing_time"] = round(seconds, 4)
        counts["tokens_per_second"] = round(usage.completion_tokens / max(seconds, 1e-6), 2)
    return counts


class GenerationReply(ABC):
    """Response to one call; a subclass names its objects and writes its choices."""

    object_name = ""
    chunk_name = ""
    whole: type[ReplyStruct]
    event: type[ReplyStruct]

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        self.generation = generation
        self.notes = notes
        self.call = generation.call
        self.tokenizer = tokenizer
        self._num_written = 0  # tokens
        self._prompt_logprobs: dict[int, msgspec.Raw] = {}  # by prompt
        self._head = msgspec.json.encode(
            {**self._about(self.chunk_name), "choices": None}
        ).removesuffix(b"null}")
        self._tail = b',"usage":null}' if self.call.include_usage else b"}"
        self._text_events: dict[int, TextEvents] = {}  # by choice
        sampling = self.call.sampling
        # Chunks that carry nothing besides their text, which is true of most streams.
        self._is_text_only = sampling.logprobs is None and not (
            self.call.return_token_ids or self.call.continuous_usage
        )

    @abstractmethod
    def opening(self) -> bytes:
        """Return the events before the first piece."""

    @abstractmethod
    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return the events for pieces of several choices."""

    @abstractmethod
    def reply(self, pieces: Mapping[int, TextPiece]) -> dict[str, Any]:
        """Return the whole response, with one piece for each choice."""

    def begin(
        self, run_later: RunLater, in_thread: InThread
    ) -> bytes | AsyncIterable[bytes] | None:
        """Start a response in the background; return its JSON or events, None for any other."""
        return None

    def fail(self, error: YaieError) -> None:
        """Keep the error of a response without a waiting client."""
        raise error

    def headers(self, pieces: Mapping[int, TextPiece]) -> dict[str, str]:
        """Return the headers of the whole response."""
        faults = [piece.parse_fault for piece in pieces.values() if piece.parse_fault]
        if not faults:
            return {}
        shown = "; ".join(faults)[:MAX_FAULT_CHARS].encode("ascii", "backslashreplace").decode()
        return {PARSE_FAULT_HEADER: "".join(map(_printable, shown))}

    def chunk(self, choice: dict[str, Any], **extra: Any) -> bytes:
        """Return the event of a chunk with one choice and `extra` top-level fields."""
        tail = self._usage_so_far() if self.call.continuous_usage else self._tail
        if extra:
            tail = b"," + msgspec.json.encode(extra)[1:-1] + tail
        return encode_event(self._head + b"[" + msgspec.json.encode(choice) + b"]" + tail)

    def text_chunk(
        self, index: int, text: str, make: Callable[[int, str], dict[str, Any]]
    ) -> bytes:
        """Return the event of a chunk with the choice `make(index, text)`.

        `text` is its last string. All other bytes are encoded once for each choice.
        """
        events = self._text_events.get(index)
        if events is None:
            chunk = self.chunk(make(index, TextEvents.PLACEHOLDER))
            events = self._text_events[index] = TextEvents(chunk)
        return events.encode(text)

    def count(self, piece: TextPiece) -> None:
        """Count the tokens of a piece before its chunks are written."""
        self._num_written += len(piece.token_ids)

    def _whole_usage(self) -> dict[str, Any]:
        usage = usage_json(self.generation.usage, self.generation.seconds)
        if (explanation := self.notes.explanation) is not None:
            usage["cache_explanation"] = explanation
        return usage

    def _usage_so_far(self) -> bytes:
        usage = replace(self.generation.usage, completion_tokens=self._num_written)
        return b',"usage":' + msgspec.json.encode(usage_json(usage)) + b"}"

    def num_logprobs(self, pieces: Mapping[int, TextPiece]) -> int:
        """Return the number of tokens whose logprobs `events` would write."""
        return sum(len(piece.logprobs) for piece in pieces.values())

    def closing(self) -> bytes:
        """Return the last events: the usage chunk if it was requested, and the end mark."""
        if not self.call.include_usage:
            return DONE
        usage = msgspec.json.encode(self._whole_usage())
        return encode_event(self._head + b'[],"usage":' + usage + b"}") + DONE

    def failure(self, error: YaieError) -> bytes:
        """Return the last event of a stream that fails."""
        return encode_event(msgspec.json.encode(error_reply(error, self.generation.http_id)))

    def document(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the whole response with these choices."""
        document = self._about(self.object_name)
        document["choices"] = choices
        document["usage"] = self._whole_usage()
        return document | self.prompt_ids()

    def prompt_ids(self) -> dict[str, Any]:
        """Return `prompt_token_ids` if ids were requested and the call has one prompt."""
        if not self.call.return_token_ids or len(self.call.requests) != 1:
            return {}
        return {"prompt_token_ids": self.call.requests[0].prompt_token_ids}

    def prompt_logprobs(self, prompt: int) -> dict[str, Any]:
        """Return `prompt_logprobs` of one prompt, if requested; encoded at first use."""
        num_top = self.call.prompt_logprobs
        if num_top is None:
            return {}
        if prompt not in self._prompt_logprobs:
            given = self.generation.answers[prompt].prompt_logprobs or ()
            self._prompt_logprobs[prompt] = prompt_logprobs(self.tokenizer, given, num_top)
        return {"prompt_logprobs": self._prompt_logprobs[prompt]}

    def _about(self, name: str) -> dict[str, Any]:
        about: dict[str, Any] = {
            "id": self.call.response_id,
            "object": name,
            "created": self.call.created,
            "model": self.call.model,
            "system_fingerprint": self.call.system_fingerprint,
        }
        if self.call.service_tier is not None:
            about["service_tier"] = self.call.service_tier
        return about


def _printable(character: str) -> str:
    return character if " " <= character <= "~" else " "


class TextEvents:
    """The events of a stream that differ in one text: all other bytes are written once."""

    PLACEHOLDER = "\x00"

    def __init__(self, with_placeholder: bytes) -> None:
        """`with_placeholder`: such an event, with `PLACEHOLDER` as its text, the last string."""
        placeholder = msgspec.json.encode(self.PLACEHOLDER)
        self._before, found, self._after = with_placeholder.rpartition(placeholder)
        assert found

    def encode(self, text: str) -> bytes:
        """Return the event with `text`."""
        return self._before + msgspec.json.encode(text) + self._after


def encode_event(data: bytes) -> bytes:
    """Return `data` as one server-sent event."""
    return b"data: " + data + b"\n\n"


def encode_named_event(name: str, data: bytes) -> bytes:
    """Return `data` as one server-sent event with a name."""
    return b"event: " + name.encode() + b"\n" + encode_event(data)
