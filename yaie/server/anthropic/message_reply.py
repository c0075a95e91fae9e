"""Replies of `POST /v1/messages`: content blocks, and Anthropic's named events."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from yaie.base.errors import YaieError
from yaie.base.types import Usage
from yaie.server.anthropic.message_tools import read_tools
from yaie.server.http.http_errors import messages_error_reply
from yaie.server.replies.call_arguments import read_arguments
from yaie.server.replies.generation import Generation
from yaie.server.replies.reply import GenerationReply, encode_named_event
from yaie.server.requests.comparison import NO_NOTES, CacheNotes, anthropic_diagnostics
from yaie.server.schemas.message_replies import (
    ContentBlock,
    MessageDocument,
    MessageEvent,
    MessageUsage,
    StopReason,
)
from yaie.text.answer import TextPiece
from yaie.text.output_parts import Part, TextPart, ToolCallPart
from yaie.text.tokenizer import Tokenizer


def messages_usage(usage: Usage) -> MessageUsage:
    """Return Anthropic's `usage`: the sum of its three input counts is the prompt."""
    return MessageUsage(
        input_tokens=usage.prompt_tokens - usage.cached_tokens,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=usage.cached_tokens,
        output_tokens=usage.completion_tokens,
    )


class Block:
    """One content block while it grows: text, thinking or the use of a tool."""

    def __init__(self, part: Part, *, shows_thinking: bool) -> None:
        self._text = ""
        self._shows = shows_thinking
        self.call: int | None = None  # index of a tool's use
        if isinstance(part, ToolCallPart):
            self.kind, self.call = "tool_use", part.index
            self._id = part.call_id or f"toolu_{uuid.uuid4().hex[:24]}"
            self._name = part.name
        else:
            self.kind = "text" if isinstance(part, TextPart) else "thinking"

    def holds(self, part: Part) -> bool:
        """Return whether the part continues this block."""
        if isinstance(part, ToolCallPart):
            return self.call == part.index
        return self.kind == ("text" if isinstance(part, TextPart) else "thinking")

    def add(self, part: Part) -> dict[str, Any] | None:
        """Append a part; return its delta, or None without one."""
        if isinstance(part, ToolCallPart):
            self._text += part.arguments
            delta = {"type": "input_json_delta", "partial_json": part.arguments}
            return delta if part.arguments else None
        self._text += part.text
        if isinstance(part, TextPart):
            return {"type": "text_delta", "text": part.text} if part.text else None
        return {"type": "thinking_delta", "thinking": part.text} if self._shows else None

    def start(self) -> ContentBlock:
        """Return the block before its first delta."""
        if self.kind == "text":
            return ContentBlock(type="text", text="")
        if self.kind == "thinking":
            return ContentBlock(type="thinking", thinking="", signature="")
        return ContentBlock(type="tool_use", id=self._id, name=self._name, input={})

    def last_delta(self) -> dict[str, Any] | None:
        """Return the delta at the end of the block, if it has one."""
        if self.kind != "thinking":
            return None
        return {"type": "signature_delta", "signature": self._signature()}

    def whole(self) -> ContentBlock:
        """Return the finished block."""
        block = self.start()
        if self.kind == "text":
            block.text = self._text
        elif self.kind == "thinking":
            block.thinking = self._text if self._shows else ""
            block.signature = self._signature()
        else:
            block.input = read_arguments(self._text)
        return block

    def _signature(self) -> str:
        """Return a digest: clients drop thinking without a signature. It is not checked."""
        return hashlib.sha256(self._text.encode("utf-8", "replace")).hexdigest()


def blocks_of(parts: Iterable[Part], thinking: Mapping[str, Any] | None) -> list[Block]:
    """Return the content blocks of a whole answer; `thinking` is the request's."""
    blocks: list[Block] = []
    for part in parts:
        if not (blocks and blocks[-1].holds(part)):
            blocks.append(Block(part, shows_thinking=shows_thinking(thinking)))
        blocks[-1].add(part)
    return blocks


def shows_thinking(thinking: Mapping[str, Any] | None) -> bool:
    """Return whether a request with this field `thinking` gets the text of the thinking."""
    return (thinking or {}).get("display") != "omitted"


class MessageReply(GenerationReply):
    """Reply with one message of content blocks."""

    whole = MessageDocument
    event = MessageEvent

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        super().__init__(generation, tokenizer, notes)
        self._blocks: list[Block] = []
        self._is_open = False  # the last block
        self._last = TextPiece()
        self._shows_thinking = shows_thinking(getattr(self.call.body, "thinking", None))
        self._warnings = read_tools(getattr(self.call.body, "tools", None)).warnings()

    def opening(self) -> bytes:
        """Return the message without content, and a ping."""
        message = self._message([], (None, None))
        message.usage.output_tokens = 0  # clients may add up the counts of both events
        return _event("message_start", message=message) + _event("ping")

    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return the starts, deltas and ends of content blocks."""
        return b"".join(self._events_of(piece) for piece in pieces.values())

    def _events_of(self, piece: TextPiece) -> bytes:
        if piece.finish_reason is not None:
            self._last = piece
        return b"".join(self._event_of(part) for part in self._select_parts(piece))

    def _event_of(self, part: Part) -> bytes:
        body = b""
        if not (self._is_open and self._blocks[-1].holds(part)):
            body = self._close() + self._start(part)
        delta = self._blocks[-1].add(part)
        return body if delta is None else body + self._delta(delta)

    def _start(self, part: Part) -> bytes:
        self._blocks.append(Block(part, shows_thinking=self._shows_thinking))
        self._is_open = True
        block = self._blocks[-1].start()
        return _event("content_block_start", index=len(self._blocks) - 1, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", index=len(self._blocks) - 1, delta=delta)

    def _close(self) -> bytes:
        if not self._is_open:
            return b""
        self._is_open = False
        delta = self._blocks[-1].last_delta()
        body = b"" if delta is None else self._delta(delta)
        return body + _event("content_block_stop", index=len(self._blocks) - 1)

    def closing(self) -> bytes:
        """Return the last block's end, the stop reason and the usage."""
        reason, sequence = self._ending(self._last)
        end = _event(
            "message_delta",
            delta={"stop_reason": reason, "stop_sequence": sequence},
            usage=messages_usage(self.generation.usage),
            tool_parse_error=self._last.parse_fault or UNSET,
        )
        return self._close() + end + _event("message_stop")

    def failure(self, error: YaieError) -> bytes:
        """Return the last event of a stream that fails."""
        body = messages_error_reply(error, self.generation.http_id)
        return encode_named_event("error", msgspec.json.encode(body))

    def collect(self, pieces: Mapping[int, TextPiece]) -> MessageDocument:
        """Return the whole message."""
        (piece,) = pieces.values()
        self._events_of(piece)
        return self._message([block.whole() for block in self._blocks], self._ending(piece))

    def _select_parts(self, piece: TextPiece) -> Iterable[Part]:
        return () if self.call.prompt_only else piece.parts

    def _ending(self, piece: TextPiece) -> tuple[StopReason, str | None]:
        """Return `stop_reason` and `stop_sequence`."""
        if piece.finish_reason == "length":
            is_full = self.call.clipped_to is not None
            return "model_context_window_exceeded" if is_full else "max_tokens", None
        if isinstance(piece.stop_reason, str):
            return "stop_sequence", piece.stop_reason
        has_called = any(block.kind == "tool_use" for block in self._blocks)
        return "tool_use" if has_called else "end_turn", None

    def _message(
        self, content: list[ContentBlock], ending: tuple[StopReason | None, str | None]
    ) -> MessageDocument:
        usage = messages_usage(self.generation.usage)
        if self.notes.explanation is not None:
            usage.cache_explanation = self.notes.explanation
        message = MessageDocument(
            id=self.call.response_id,
            model=self.call.model,
            content=content,
            stop_reason=ending[0],
            stop_sequence=ending[1],
            usage=usage,
            warnings=self._warnings or UNSET,
        )
        if self.call.is_compared:
            cached = self.generation.usage.cached_tokens
            message.diagnostics = anthropic_diagnostics(self.notes.compared, cached)
        return message


def _event(kind: Any, **fields: Any) -> bytes:
    return encode_named_event(kind, msgspec.json.encode(MessageEvent(type=kind, **fields)))
