"""Replies of `POST /v1/chat/completions`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from msgspec import UNSET

from yaie.base.types import TokenLogprobs
from yaie.server.replies.chunked_reply import ChunkedReply, end_of
from yaie.server.replies.generation import Generation
from yaie.server.replies.logprob_formats import chat_logprobs
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.server.schemas.generation_replies import (
    CalledFunction,
    ChatChoice,
    ChatChunkChoice,
    ChatCompletion,
    ChatCompletionChunk,
    ChatDelta,
    ChatLogprobs,
    ChatMessage,
    FinishReason,
    FunctionDelta,
    ToolCallDelta,
    ToolCallReply,
    WholeCompletion,
)
from yaie.text.answer import TextPiece
from yaie.text.output_parts import Part, ReasoningPart, TextPart, ToolCallPart
from yaie.text.tokenizer import Tokenizer


class ChatReply(ChunkedReply):
    """Reply with messages: content, reasoning and tool calls."""

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
        delta = ChatDelta(role="assistant", content="".join(self.call.echoes))
        return b"".join(
            self.chunk(_chunk_choice(index, delta), **extra)
            for index in range(self.call.num_choices)
        )

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
            deltas = [ChatDelta(content="")]
        body = b""
        for at, delta in enumerate(deltas):
            is_first = at == 0  # tokens and logprobs belong to the whole piece
            choice = _chunk_choice(index, delta)
            choice.logprobs = self._logprobs(piece.logprobs if is_first else ())
            if self.call.return_token_ids:
                choice.token_ids = piece.token_ids if is_first else ()
            body += self.chunk(choice)
        if piece.finish_reason is not None:
            choice = _chunk_choice(index, ChatDelta())
            choice.finish_reason = self._finish_reason(index, piece)
            choice.stop_reason = piece.stop_reason
            choice.tool_parse_error = piece.parse_fault or UNSET
            body += self.chunk(choice)
        return body

    def _delta(self, index: int, part: Part) -> ChatDelta:
        """Return the delta of one part, and note that a choice calls tools."""
        if isinstance(part, TextPart):
            return ChatDelta(content=part.text)
        if isinstance(part, ReasoningPart):
            return ChatDelta(reasoning_content=part.text)
        self._has_called[index] = True
        function = FunctionDelta(name=part.name or UNSET, arguments=part.arguments)
        if self.call.calls_functions:
            return ChatDelta(function_call=function)
        call = ToolCallDelta(index=part.index, function=function)
        if part.name:
            call.id, call.type = _call_id(part), "function"
        return ChatDelta(tool_calls=[call])

    def _finish_reason(self, index: int, piece: TextPiece) -> FinishReason:
        has_called = self._has_called[index] and not piece.is_in_call
        if piece.finish_reason == "stop" and has_called:
            return "function_call" if self.call.calls_functions else "tool_calls"
        return end_of(piece)

    def collect(self, pieces: Mapping[int, TextPiece]) -> WholeCompletion:
        """Return the whole reply."""
        choices = []
        for index, piece in pieces.items():
            message = whole_message(piece.parts)
            if self.call.echoes:
                message.content = "".join(self.call.echoes) + (message.content or "")
            self._has_called[index] = message.tool_calls is not UNSET
            if self.call.calls_functions and message.tool_calls:
                (called,) = message.tool_calls  # the parser ends the answer with it
                message.tool_calls, message.function_call = UNSET, called.function
            choice = ChatChoice(
                index=index,
                message=message,
                logprobs=self._logprobs(piece.logprobs),
                finish_reason=self._finish_reason(index, piece),
                stop_reason=piece.stop_reason,
                tool_parse_error=piece.parse_fault or UNSET,
                token_ids=piece.token_ids if self.call.return_token_ids else UNSET,
            )
            choices.append(choice)
        return self.document(choices, **self.prompt_logprobs(0))

    def _logprobs(self, given: Sequence[TokenLogprobs]) -> ChatLogprobs | None:
        if self.call.sampling.logprobs is None:
            return None
        return chat_logprobs(self.tokenizer, given, by_id=self.call.names_by_id)


def whole_message(parts: Sequence[Part]) -> ChatMessage:
    """Return the assistant's message of a whole answer."""
    text = "".join(part.text for part in parts if isinstance(part, TextPart))
    reasoning = "".join(part.text for part in parts if isinstance(part, ReasoningPart))
    calls: dict[int, ToolCallReply] = {}
    for part in parts:
        if isinstance(part, ToolCallPart):
            if part.index not in calls:
                function = CalledFunction(name=part.name, arguments=part.arguments)
                calls[part.index] = ToolCallReply(id=_call_id(part), function=function)
            else:
                calls[part.index].function.arguments += part.arguments
    return ChatMessage(
        content=text or None if calls else text,
        reasoning_content=reasoning or UNSET,
        tool_calls=list(calls.values()) or UNSET,
    )


def _chunk_choice(index: int, delta: ChatDelta) -> ChatChunkChoice:
    return ChatChunkChoice(index=index, delta=delta, logprobs=None, finish_reason=None)


def _text_choice(index: int, text: str) -> ChatChunkChoice:
    return _chunk_choice(index, ChatDelta(content=text))


def _call_id(first: ToolCallPart) -> str:
    """Return the id of a tool call, given its first part."""
    return first.call_id or f"call_{uuid.uuid4().hex[:24]}"
