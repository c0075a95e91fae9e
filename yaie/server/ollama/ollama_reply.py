"""Replies of `/api/chat` and `/api/generate`: one JSON document, or one JSON object a line."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from yaie.base.errors import YaieError
from yaie.base.types import TokenLogprobs
from yaie.server.http.body import NDJSON
from yaie.server.http.http_errors import ollama_error_reply
from yaie.server.ollama.ollama_turns import call_id, count_calls
from yaie.server.replies.call_arguments import read_arguments
from yaie.server.replies.chunked_reply import TextEvents, end_of
from yaie.server.replies.embeddings import EmbeddingReply
from yaie.server.replies.generation import Generation
from yaie.server.replies.logprob_formats import token_logprobs
from yaie.server.replies.reply import GenerationReply
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.server.schemas.generation_replies import TokenLogprob
from yaie.server.schemas.ollama_bodies import OllamaChatBody
from yaie.server.schemas.ollama_replies import (
    OllamaAnswer,
    OllamaChatAnswer,
    OllamaEmbedAnswer,
    OllamaFunction,
    OllamaGenerateAnswer,
    OllamaMessage,
    OllamaToolCall,
)
from yaie.text.answer import TextPiece
from yaie.text.output_parts import (
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolCallPart,
    calls_of,
    reasoning_of,
    text_of,
)
from yaie.text.tokenizer import Tokenizer

_NS = 1_000_000_000
_BREAKS = tuple((c.encode(), f"\\u{ord(c):04x}".encode()) for c in "\x85\u2028\u2029")


def timestamp(unix_s: float) -> str:
    """Return a unix time in RFC 3339."""
    return datetime.fromtimestamp(unix_s, UTC).isoformat().replace("+00:00", "Z")


def encode_line(answer: object) -> bytes:
    """Return an answer as one line of a stream."""
    return _escape_breaks(msgspec.json.encode(answer)) + b"\n"


def _escape_breaks(line: bytes) -> bytes:
    """Return JSON whose texts have no line break of Unicode: httpx and others split lines at it."""
    for character, escaped in _BREAKS:
        if character in line:
            line = line.replace(character, escaped)
    return line


class OllamaReply(GenerationReply):
    """Reply whose stream has a line for each growth, and a last one with counts and times."""

    whole: type[OllamaAnswer]
    event: type[OllamaAnswer]
    media_type = NDJSON

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        super().__init__(generation, tokenizer, notes)
        self._about: dict[str, Any] = {
            "model": self.call.model,
            "created_at": timestamp(self.call.created),
        }
        self._last = TextPiece()
        self._open: list[ToolCallPart] = []  # parts of a call that may still grow
        self._texts: TextEvents | None = None

    @abstractmethod
    def _answer(
        self, text: str, thinking: str, calls: Sequence[ToolCall], **fields: Any
    ) -> OllamaAnswer:
        """Return a whole answer, or a growth."""

    def opening(self) -> bytes:
        """Return nothing: a stream begins with its first text."""
        return b""

    def ping(self) -> bytes:
        """Return a line without text: clients of lines know no comments."""
        return self._line()

    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return one line for each part."""
        return b"".join(self._lines_of(piece) for piece in pieces.values())

    def _lines_of(self, piece: TextPiece) -> bytes:
        if piece.finish_reason is not None:
            self._last = piece
        logprobs = self._logprobs(piece.logprobs)
        if len(piece.parts) == 1 and not self._open and not logprobs:
            (part,) = piece.parts
            if isinstance(part, TextPart):
                return self._text_line(part.text)
        body = b""
        for part in piece.parts:
            body += self._lines_of_part(part)
        if not logprobs:
            return body
        return self._line(logprobs=logprobs) + body

    def _lines_of_part(self, part: Part) -> bytes:
        if isinstance(part, ToolCallPart):
            is_new = bool(self._open) and part.index != self._open[0].index
            body = self._close_call() if is_new else b""
            self._open.append(part)
            return body
        body = self._close_call()
        if not part.text:
            return body
        if isinstance(part, ReasoningPart):
            return body + self._line(thinking=part.text)
        return body + self._text_line(part.text)

    def _close_call(self) -> bytes:
        """Return the line of a call that has ended: its arguments are an object."""
        if not self._open:
            return b""
        calls = calls_of(self._open)
        self._open = []
        return self._line(calls=calls)

    def _text_line(self, text: str) -> bytes:
        if not text:
            return b""
        if self._texts is None:
            self._texts = TextEvents(self._line(TextEvents.PLACEHOLDER))
        return _escape_breaks(self._texts.encode(text))

    def _line(
        self, text: str = "", thinking: str = "", calls: Sequence[ToolCall] = (), **fields: Any
    ) -> bytes:
        return encode_line(self._answer(text, thinking, calls, done=False, **fields))

    def closing(self) -> bytes:
        """Return the last call, and the line with counts and times."""
        return self._close_call() + encode_line(self._answer("", "", (), **self._end(self._last)))

    def collect(self, pieces: Mapping[int, TextPiece]) -> OllamaAnswer:
        """Return the whole answer."""
        (piece,) = pieces.values()
        fields = self._end(piece)
        if logprobs := self._logprobs(piece.logprobs):
            fields["logprobs"] = logprobs
        parts = piece.parts
        return self._answer(text_of(parts), reasoning_of(parts), calls_of(parts), **fields)

    def failure(self, error: YaieError) -> bytes:
        """Return the last line of a stream that fails."""
        return encode_line(ollama_error_reply(error))

    def _logprobs(self, given: Sequence[TokenLogprobs]) -> list[TokenLogprob] | None:
        if self.call.sampling.logprobs is None or not given:
            return None
        return token_logprobs(self.tokenizer, given)

    def _end(self, piece: TextPiece) -> dict[str, Any]:
        """Return the fields of the end."""
        usage, times = self.generation.usage, self.generation.times
        return {
            "done": True,
            "done_reason": end_of(piece),
            "total_duration": round(times.total_s * _NS),
            "load_duration": round(times.load_s * _NS),
            "prompt_eval_count": usage.prompt_tokens,
            "prompt_eval_duration": round(times.prompt_s * _NS),
            "eval_count": usage.completion_tokens,
            "eval_duration": round(times.answer_s * _NS),
            "tool_parse_error": piece.parse_fault or UNSET,
        }


class OllamaChatReply(OllamaReply):
    """Reply with a message: content, thinking and tool calls."""

    whole = event = OllamaChatAnswer

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        super().__init__(generation, tokenizer, notes)
        body = self.call.body
        given = body.messages if isinstance(body, OllamaChatBody) else None
        self._num_calls = count_calls(given or ())  # in the conversation so far

    def _answer(
        self, text: str, thinking: str, calls: Sequence[ToolCall], **fields: Any
    ) -> OllamaChatAnswer:
        message = OllamaMessage(content=text, thinking=thinking or UNSET)
        if calls:
            message.tool_calls = [self._call(each) for each in calls]
        return OllamaChatAnswer(**self._about, message=message, **fields)

    def _call(self, call: ToolCall) -> OllamaToolCall:
        self._num_calls += 1
        arguments = read_arguments(call.arguments)
        return OllamaToolCall(
            id=call_id(self._num_calls - 1),
            function=OllamaFunction(name=call.name, arguments=arguments),
        )


class OllamaGenerateReply(OllamaReply):
    """Reply with text and thinking."""

    whole = event = OllamaGenerateAnswer

    def _answer(
        self, text: str, thinking: str, calls: Sequence[ToolCall], **fields: Any
    ) -> OllamaGenerateAnswer:
        shown: str | UnsetType = thinking or UNSET
        return OllamaGenerateAnswer(**self._about, response=text, thinking=shown, **fields)


class OllamaEmbedReply(EmbeddingReply):
    """Reply with the vectors of texts."""

    whole = event = OllamaEmbedAnswer

    def collect(self, pieces: Mapping[int, TextPiece]) -> OllamaEmbedAnswer:
        """Return the whole reply."""
        times = self.generation.times
        return OllamaEmbedAnswer(
            model=self.call.model,
            embeddings=[vector.tolist() for vector in self.vectors()],
            total_duration=round(times.total_s * _NS),
            load_duration=round(times.load_s * _NS),
            prompt_eval_count=self.generation.usage.prompt_tokens,
        )
