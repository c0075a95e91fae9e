"""Replies of `POST /v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import UNSET

from yaie.base.types import TokenLogprobs
from yaie.server.replies.chunked_reply import ChunkedReply, end_of
from yaie.server.replies.custom_input import CustomInput, read_input
from yaie.server.replies.generation import Generation
from yaie.server.replies.logprob_formats import chat_logprobs
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.server.schemas.generation_replies import (
    CalledCustom,
    CalledFunction,
    ChatChoice,
    ChatChunkChoice,
    ChatCompletion,
    ChatCompletionChunk,
    ChatDelta,
    ChatLogprobs,
    ChatMessage,
    CustomDelta,
    FinishReason,
    FunctionDelta,
    ToolCallDelta,
    ToolCallReply,
    WholeCompletion,
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


class ChatReply(ChunkedReply):
    """Reply with messages: content, reasoning and tool calls."""

    whole = ChatCompletion
    event = ChatCompletionChunk

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        super().__init__(generation, tokenizer, notes)
        self._has_called = [False] * self.call.num_choices  # tools, by choice
        # The custom tool's call that grows, by choice: its number and its text.
        self._inputs: dict[int, tuple[int, CustomInput]] = {}

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
        deltas = list(self._deltas(index, piece))
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

    def _shown(self, piece: TextPiece) -> Sequence[Part]:
        """Return the parts of a piece that the client wants."""
        if not self.call.hides_reasoning:
            return piece.parts
        return [part for part in piece.parts if not isinstance(part, ReasoningPart)]

    def _deltas(self, index: int, piece: TextPiece) -> Iterator[ChatDelta]:
        """Yield the deltas of a piece, and note that a choice calls tools."""
        for part in self._shown(piece):
            if not isinstance(part, ToolCallPart) or part.name:
                yield from self._end_input(index)
            if isinstance(part, TextPart):
                yield ChatDelta(content=part.text)
            elif isinstance(part, ReasoningPart):
                yield ChatDelta(reasoning_content=part.text)
            else:
                self._has_called[index] = True
                yield from self._call_deltas(index, part)
        if piece.finish_reason is not None:
            yield from self._end_input(index)

    def _call_deltas(self, index: int, part: ToolCallPart) -> Iterator[ChatDelta]:
        if part.name in self.call.custom_tools:
            self._inputs[index] = part.index, CustomInput()
            custom = CustomDelta(name=part.name, input="")
            call = ToolCallDelta(index=part.index, id=part.call_id, type="custom", custom=custom)
            yield ChatDelta(tool_calls=[call])
        if index in self._inputs:
            yield from self._grow_input(index, self._inputs[index][1].push(part.arguments))
            return
        function = FunctionDelta(name=part.name or UNSET, arguments=part.arguments)
        if self.call.calls_functions:
            yield ChatDelta(function_call=function)
            return
        call = ToolCallDelta(index=part.index, function=function)
        if part.name:
            call.id, call.type = part.call_id, "function"
        yield ChatDelta(tool_calls=[call])

    def _grow_input(self, index: int, text: str) -> Iterator[ChatDelta]:
        if text:
            call = ToolCallDelta(index=self._inputs[index][0], custom=CustomDelta(input=text))
            yield ChatDelta(tool_calls=[call])

    def _end_input(self, index: int) -> Iterator[ChatDelta]:
        """Yield the rest of the text of a custom tool's call, if one grows."""
        if index in self._inputs:
            yield from self._grow_input(index, self._inputs[index][1].end())
            del self._inputs[index]

    def _finish_reason(self, index: int, piece: TextPiece) -> FinishReason:
        has_called = self._has_called[index] and not piece.is_in_call
        if piece.finish_reason == "stop" and has_called:
            return "function_call" if self.call.calls_functions else "tool_calls"
        return end_of(piece)

    def collect(self, pieces: Mapping[int, TextPiece]) -> WholeCompletion:
        """Return the whole reply."""
        choices = []
        for index, piece in pieces.items():
            message = whole_message(self._shown(piece), self.call.custom_tools)
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


def whole_message(parts: Sequence[Part], custom_tools: Collection[str] = ()) -> ChatMessage:
    """Return the assistant's message of a whole answer."""
    text = text_of(parts)
    calls = [_whole_call(call, call.name in custom_tools) for call in calls_of(parts)]
    return ChatMessage(
        content=text or None if calls else text,
        reasoning_content=reasoning_of(parts) or UNSET,
        tool_calls=calls or UNSET,
    )


def _whole_call(call: ToolCall, is_custom: bool) -> ToolCallReply:
    if not is_custom:
        function = CalledFunction(name=call.name, arguments=call.arguments)
        return ToolCallReply(id=call.call_id, function=function)
    custom = CalledCustom(name=call.name, input=read_input(call.arguments))
    return ToolCallReply(id=call.call_id, type="custom", custom=custom)


def _chunk_choice(index: int, delta: ChatDelta) -> ChatChunkChoice:
    return ChatChunkChoice(index=index, delta=delta, logprobs=None, finish_reason=None)


def _text_choice(index: int, text: str) -> ChatChunkChoice:
    return _chunk_choice(index, ChatDelta(content=text))
