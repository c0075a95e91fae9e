"""Responses of `POST /v1/chat/completions`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from yaie.server.replies.generation import Generation
from yaie.server.replies.logprob_formats import chat_logprobs
from yaie.server.replies.reply import GenerationReply
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.server.schemas.generation_replies import ChatCompletion, ChatCompletionChunk
from yaie.text.answer import TextPiece
from yaie.text.output_parts import Part, ReasoningPart, TextPart, ToolCallPart
from yaie.text.tokenizer import Tokenizer


class ChatReply(GenerationReply):
    """Response with messages: content, reasoning and tool calls."""

    object_name = "chat.completion"
    chunk_name = "chat.completion.chunk"
    whole = ChatCompletion
    event = ChatCompletionChunk

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        super().__init__(generation, tokenizer, notes)
        self._has_called = [False] * self.call.num_choices  # tools, by choice

    def opening(self) -> bytes:
        """Return a chunk with the role for each choice."""
        extra = self.prompt_ids()
        delta = {"role": "assistant", "content": "".join(self.call.echoes)}
        return b"".join(
            self.chunk({"index": index, "delta": delta, "logprobs": None, "finish_reason": None},
                       **extra)
            for index in range(self.call.num_choices)
        )  # fmt: skip

    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return chunks with content, then an empty delta with the finish reason."""
        body = b""
        for index, piece in pieces.items():
            body += self._events_of(index, piece)
        return body

    def _events_of(self, index: int, piece: TextPiece) -> bytes:
        self.count(piece)
        if self._is_text_only and len(piece.parts) == 1 and piece.finish_reason is None:
            (part,) = piece.parts
            if isinstance(part, TextPart):
                return self.text_chunk(index, part.text, _text_choice)
        deltas = [self._delta(index, part) for part in piece.parts]
        wants_ids = self.call.return_token_ids and piece.token_ids
        if not deltas and (piece.logprobs or wants_ids):
            deltas = [{"content": ""}]
        body = b""
        for at, delta in enumerate(deltas):
            is_first = at == 0  # tokens and logprobs belong to the whole piece
            choice: dict[str, Any] = {
                "index": index,
                "delta": delta,
                "logprobs": self._logprobs(piece.logprobs if is_first else ()),
                "finish_reason": None,
            }
            if self.call.return_token_ids:
                choice["token_ids"] = piece.token_ids if is_first else ()
            body += self.chunk(choice)
        if piece.finish_reason is not None:
            choice = {
                "index": index,
                "delta": {},
                "logprobs": None,
                "finish_reason": self._finish_reason(index, piece),
                "stop_reason": piece.stop_reason,
            }
            body += self.chunk(choice | _fault(piece))
        return body

    def _delta(self, index: int, part: Part) -> dict[str, Any]:
        """Return the delta of one part, and note that a choice calls tools."""
        if isinstance(part, TextPart):
            return {"content": part.text}
        if isinstance(part, ReasoningPart):
            return {"reasoning_content": part.text}
        self._has_called[index] = True
        if self.call.calls_functions:
            arguments = {"arguments": part.arguments}
            return {"function_call": {"name": part.name} | arguments if part.name else arguments}
        if not part.name:
            return {
                "tool_calls": [{"index": part.index, "function": {"arguments": part.arguments}}]
            }
        return {"tool_calls": [{"index": part.index, **_call(part)}]}

    def _finish_reason(self, index: int, piece: TextPiece) -> str | None:
        is_call = piece.finish_reason == "stop" and self._has_called[index]
        calls = "function_call" if self.call.calls_functions else "tool_calls"
        return calls if is_call else piece.finish_reason

    def reply(self, pieces: Mapping[int, TextPiece]) -> dict[str, Any]:
        """Return the whole response."""
        choices = []
        for index, piece in pieces.items():
            message = whole_message(piece.parts)
            if self.call.echoes:
                message["content"] = "".join(self.call.echoes) + (message["content"] or "")
            self._has_called[index] = "tool_calls" in message
            if self.call.calls_functions and "tool_calls" in message:
                (made,) = message.pop("tool_calls")  # the parser ends the answer with it
                message["function_call"] = made["function"]
            written: dict[str, Any] = {
                "index": index,
                "message": message,
                "logprobs": self._logprobs(piece.logprobs),
                "finish_reason": self._finish_reason(index, piece),
                "stop_reason": piece.stop_reason,
            }
            if self.call.return_token_ids:
                written["token_ids"] = piece.token_ids
            choices.append(written | _fault(piece))
        return self.document(choices) | self.prompt_logprobs(0)

    def _logprobs(self, given: Any) -> dict[str, Any] | None:
        if self.call.sampling.logprobs is None:
            return None
        return chat_logprobs(self.tokenizer, given, by_id=self.call.names_by_id)


def whole_message(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the assistant's message of a whole answer."""
    text = "".join(part.text for part in parts if isinstance(part, TextPart))
    reasoning = "".join(part.text for part in parts if isinstance(part, ReasoningPart))
    calls: dict[int, dict[str, Any]] = {}
    for part in parts:
        if isinstance(part, ToolCallPart):
            if part.index not in calls:
                calls[part.index] = _call(part)
            else:
                calls[part.index]["function"]["arguments"] += part.arguments
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = list(calls.values())
        message["content"] = text or None
    return message


def _text_choice(index: int, text: str) -> dict[str, Any]:
    delta = {"content": text}
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}


def _fault(piece: TextPiece) -> dict[str, Any]:
    return {"tool_parse_error": piece.parse_fault} if piece.parse_fault else {}


def _call(first: ToolCallPart) -> dict[str, Any]:
    """Return a tool call as its first part begins it."""
    return {
        "id": first.call_id or f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": first.name, "arguments": first.arguments},
    }
