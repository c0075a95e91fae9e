"""Results of `LLM`: request outputs and stream pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from yaie.base.types import FinishReason, Timings, TokenLogprobs, Usage
from yaie.text.output_parts import ToolCall, ToolCallPart, calls_of, reasoning_of, text_of

if TYPE_CHECKING:  # it loads the tokenizer
    from yaie.text.answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionOutput:
    """One sequence that continues a prompt."""

    index: int
    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    stop_reason: str | int | None  # the stop string or stop token id that ended it
    logprobs: tuple[TokenLogprobs, ...] | None  # one for each token, if requested
    timings: Timings
    reasoning: str = ""  # chats only: the thoughts before the answer
    tool_calls: tuple[ToolCall, ...] = ()  # chats with tools only
    parse_fault: str = ""  # why a tool call was not parsed; it is text then


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutput:
    """Output for one prompt: its sequences and their usage.

    `text`, `token_ids`, `reasoning` and the other properties describe the first sequence; `choices`
    has all `n`.
    """

    request_id: str
    prompt: str | None  # None for a prompt of token ids
    prompt_token_ids: tuple[int, ...]
    choices: tuple[CompletionOutput, ...]
    usage: Usage
    prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None
    error: str | None = None  # the cause of a finish reason "error"

    @property
    def outputs(self) -> tuple[CompletionOutput, ...]:
        """The sequences, as `choices`, under vLLM's name."""
        return self.choices

    @property
    def finished(self) -> bool:
        """True: an output is made when all of its sequences have ended."""
        return all(choice.finish_reason for choice in self.choices)

    @property
    def text(self) -> str:
        """Text of the first sequence."""
        return self.choices[0].text

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Tokens of the first sequence."""
        return self.choices[0].token_ids

    @property
    def finish_reason(self) -> FinishReason:
        """Finish reason of the first sequence."""
        return self.choices[0].finish_reason

    @property
    def stop_reason(self) -> str | int | None:
        """Stop string or stop token id at the end of the first sequence, if any."""
        return self.choices[0].stop_reason

    @property
    def logprobs(self) -> tuple[TokenLogprobs, ...] | None:
        """Log-probabilities of the first sequence's tokens, if requested."""
        return self.choices[0].logprobs

    @property
    def reasoning(self) -> str:
        """Thoughts before the first answer of a chat; empty without any."""
        return self.choices[0].reasoning

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Tool calls in the first answer of a chat with tools."""
        return self.choices[0].tool_calls

    @property
    def timings(self) -> Timings:
        """Timings of the first sequence."""
        return self.choices[0].timings


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPiece:
    """Text and tokens that one step added to one sequence of a stream."""

    request_id: str
    index: int
    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprobs, ...]
    finish_reason: FinishReason | None  # on the last piece of each sequence
    stop_reason: str | int | None
    usage: Usage  # token counts of the request so far
    reasoning: str = ""
    tool_calls: tuple[ToolCallPart, ...] = ()  # growth of the calls

    @property
    def finished(self) -> bool:
        """True for the last piece of a sequence."""
        return self.finish_reason is not None


GenerationOutput = RequestOutput  # mini-vLLM's name


def make_output(answer: Answer, prompt: str | None) -> RequestOutput:
    """Return the whole answer to `prompt` (None for a prompt of token ids)."""
    request = answer.request
    return RequestOutput(
        request_id=request.request_id,
        prompt=prompt,
        prompt_token_ids=request.prompt_token_ids,
        choices=tuple(_make_completion(answer, index) for index in range(request.sampling.n)),
        usage=answer.usage,
        prompt_logprobs=answer.prompt_logprobs,
        error=answer.error.message if answer.error is not None else None,
    )


def _make_completion(answer: Answer, index: int) -> CompletionOutput:
    piece = answer.take(index)
    return CompletionOutput(
        index=index,
        text=text_of(piece.parts),
        reasoning=reasoning_of(piece.parts),
        tool_calls=calls_of(piece.parts),
        parse_fault=piece.parse_fault,
        token_ids=piece.token_ids,
        # An error ends the whole request, also its running sequences.
        finish_reason=piece.finish_reason or "error",
        stop_reason=piece.stop_reason,
        logprobs=piece.logprobs if answer.request.sampling.logprobs is not None else None,
        timings=answer.timings[index],
    )


def take_piece(answer: Answer, index: int) -> StreamPiece:
    """Return what one sequence added since the last call, for the caller of a stream."""
    piece = answer.take(index)
    return StreamPiece(
        request_id=answer.request.request_id,
        index=index,
        text=text_of(piece.parts),
        reasoning=reasoning_of(piece.parts),
        tool_calls=tuple(part for part in piece.parts if isinstance(part, ToolCallPart)),
        token_ids=piece.token_ids,
        logprobs=piece.logprobs,
        finish_reason=piece.finish_reason,
        stop_reason=piece.stop_reason,
        usage=answer.usage,
    )
