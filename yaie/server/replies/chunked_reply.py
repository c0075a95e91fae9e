"""`ChunkedReply`: base of chat and text completion replies; writes usage, chunks and choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from yaie.base.types import Usage
from yaie.server.replies.generation import Generation
from yaie.server.replies.logprob_formats import prompt_logprobs
from yaie.server.replies.reply import GenerationReply, encode_event
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.server.schemas.generation_replies import (
    CachedTokens,
    CompletionChunk,
    CompletionUsage,
    FinishReason,
    ReasoningTokens,
    WholeCompletion,
)
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.text.answer import TextPiece
from yaie.text.tokenizer import Tokenizer

DONE_MARK = "[DONE]"
DONE = encode_event(DONE_MARK.encode())


def make_usage(usage: Usage, seconds: float | None = None) -> CompletionUsage:
    """Return OpenAI's `usage`, always with the cached tokens.

    `seconds`: the time of a finished request, which adds it and the rate.
    """
    made = CompletionUsage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.total_tokens,
        prompt_tokens_details=CachedTokens(cached_tokens=usage.cached_tokens),
    )
    num_drafted = usage.accepted_prediction_tokens + usage.rejected_prediction_tokens
    if usage.reasoning_tokens or num_drafted:
        details = ReasoningTokens(reasoning_tokens=usage.reasoning_tokens)
        if num_drafted:
            details.accepted_prediction_tokens = usage.accepted_prediction_tokens
            details.rejected_prediction_tokens = usage.rejected_prediction_tokens
        made.completion_tokens_details = details
    if seconds is not None:
        made.processing_time = round(seconds, 4)
        made.tokens_per_second = round(usage.completion_tokens / max(seconds, 1e-6), 2)
    return made


def end_of(piece: TextPiece) -> FinishReason:
    """Return the finish reason of a last piece; an error ends a call without pieces."""
    assert piece.finish_reason is not None and piece.finish_reason != "error"
    return piece.finish_reason


class ChunkedReply(GenerationReply):
    """Reply with choices; a subclass names its types and writes its choices."""

    whole: type[WholeCompletion]
    event: type[CompletionChunk]

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        super().__init__(generation, tokenizer, notes)
        call = self.call
        self._num_written = 0  # tokens
        self._prompt_logprobs: dict[int, msgspec.Raw] = {}  # by prompt
        self._about: dict[str, Any] = {
            "id": call.response_id,
            "created": call.created,
            "model": call.model,
            "system_fingerprint": call.system_fingerprint,
            "service_tier": UNSET if call.service_tier is None else call.service_tier,
        }
        self._text_events: dict[int, TextEvents] = {}  # by choice
        # Chunks that carry nothing besides their text, which is true of most streams.
        self._is_text_only = call.sampling.logprobs is None and not (
            call.return_token_ids or call.continuous_usage
        )

    def chunk(self, choice: ReplyStruct, **extra: Any) -> bytes:
        """Return the event of a chunk with one choice and `extra` top-level fields."""
        usage: CompletionUsage | UnsetType | None = None if self.call.include_usage else UNSET
        if self.call.continuous_usage:
            so_far = replace(self.generation.usage, completion_tokens=self._num_written)
            usage = make_usage(so_far)
        chunk = self.event(**self._about, choices=[choice], usage=usage, **extra)
        return encode_event(msgspec.json.encode(chunk))

    def text_chunk(self, index: int, text: str, make: Callable[[int, str], ReplyStruct]) -> bytes:
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

    def closing(self) -> bytes:
        """Return the last events: the usage chunk if it was requested, and the end mark."""
        if not self.call.include_usage:
            return DONE
        last = self.event(**self._about, choices=[], usage=self._whole_usage())
        return encode_event(msgspec.json.encode(last)) + DONE

    def document(self, choices: list[Any], **extra: Any) -> WholeCompletion:
        """Return the whole reply with these choices and `extra` fields."""
        fields = self._about | self.prompt_ids() | extra
        return self.whole(**fields, choices=choices, usage=self._whole_usage())

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

    def _whole_usage(self) -> CompletionUsage:
        usage = make_usage(self.generation.usage, self.generation.seconds)
        if self.notes.explanation is not None:
            usage.cache_explanation = self.notes.explanation
        return usage


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
