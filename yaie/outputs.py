"""What `LLM` gives back, and how it is put together from the engine's deltas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from yaie.errors import RequestError
from yaie.text.assemble import SequenceText, TextPiece
from yaie.text.tokenizer import Tokenizer
from yaie.types import (
    FinishReason,
    GenerationRequest,
    Timings,
    TokenDelta,
    TokenLogprobs,
    Usage,
)

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionOutput:
    """One sequence that continues a prompt."""

    index: int
    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    stop_reason: str | int | None  # the stop string or stop token id that ended it, if one did
    logprobs: tuple[TokenLogprobs, ...] | None  # one for each token, where asked for
    timings: Timings


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutput:
    """The answer to one prompt: its sequences, and what they cost together.

    `text`, `token_ids`, `finish_reason`, `stop_reason`, `logprobs` and `timings` are those of
    the first sequence; `choices` holds all `n`.
    """

    request_id: str
    prompt: str | None  # None for a prompt that was given as token ids
    prompt_token_ids: tuple[int, ...]
    choices: tuple[CompletionOutput, ...]
    usage: Usage
    prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None
    error: str | None = None  # why the engine ended it, with finish reason "error"

    @property
    def text(self) -> str:
        """What the first sequence says."""
        return self.choices[0].text

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The first sequence's tokens."""
        return self.choices[0].token_ids

    @property
    def finish_reason(self) -> FinishReason:
        """Why the first sequence ended."""
        return self.choices[0].finish_reason

    @property
    def stop_reason(self) -> str | int | None:
        """The stop string or stop token id that ended the first sequence, if one did."""
        return self.choices[0].stop_reason

    @property
    def logprobs(self) -> tuple[TokenLogprobs, ...] | None:
        """Log-probabilities of the first sequence's tokens, where asked for."""
        return self.choices[0].logprobs

    @property
    def timings(self) -> Timings:
        """Where the first sequence spent its time."""
        return self.choices[0].timings


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPiece:
    """What one step added to one sequence of a stream."""

    request_id: str
    index: int
    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprobs, ...]
    finish_reason: FinishReason | None  # on the last piece of each sequence
    stop_reason: str | int | None
    usage: Usage  # of the request so far


class _Sequence:
    """One sequence while it grows."""

    def __init__(self, text: SequenceText) -> None:
        self.text = text
        self.pieces: list[TextPiece] = []
        self.timings = Timings()
        self.collected: list[TokenDelta] = []  # not yet made into text


class RequestAssembly:
    """Puts the answer to one request together. Fed with all its deltas, in order."""

    def __init__(
        self, request: GenerationRequest, prompt: str | None, tokenizer: Tokenizer
    ) -> None:
        self.request = request
        self._prompt = prompt
        self._sequences = [
            _Sequence(SequenceText(tokenizer, request.prompt_token_ids, request.sampling))
            for _ in range(request.sampling.n)
        ]
        self._num_cached = 0
        self._num_completion = 0
        self._prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None
        self.error: RequestError | None = None

    @property
    def usage(self) -> Usage:
        """Token counts so far; tokens behind a stop string do not count."""
        return Usage(
            prompt_tokens=len(self.request.prompt_token_ids),
            completion_tokens=self._num_completion,
            cached_tokens=self._num_cached,
        )

    def collect(self, delta: TokenDelta) -> bool:
        """As `push`, where nobody reads along; returns whether the sequence has to be ended.

        Without stop strings the text is made once, at the end: the same text for less work
        between two steps.
        """
        if self.request.sampling.stop:
            return self.push(delta).must_abort
        self._sequences[delta.index].collected.append(delta)
        if delta.finish_reason is not None:
            self._push_collected(self._sequences[delta.index])
        return False

    def _push_collected(self, sequence: _Sequence) -> None:
        """Make text of what was collected of a sequence."""
        collected, sequence.collected = sequence.collected, []
        if collected:
            self._num_cached = max(self._num_cached, *(one.num_cached_tokens for one in collected))
            self._prompt_logprobs = self._prompt_logprobs or collected[0].prompt_logprobs
            token_ids = _joined(one.token_ids for one in collected)
            logprobs = _joined(one.logprobs for one in collected)
            self.push(replace(collected[-1], token_ids=token_ids, logprobs=logprobs))

    def push(self, delta: TokenDelta) -> TextPiece:
        """Take a delta; a piece with `must_abort` says that the sequence has to be ended."""
        sequence = self._sequences[delta.index]
        piece = sequence.text.push(delta)
        sequence.pieces.append(piece)
        self._num_completion += len(piece.token_ids)
        self._num_cached = max(self._num_cached, delta.num_cached_tokens)
        if delta.timings is not None:
            sequence.timings = delta.timings
        if delta.prompt_logprobs is not None:
            self._prompt_logprobs = delta.prompt_logprobs
        if self.error is None:
            self.error = delta.error
        return piece

    def stream_piece(self, delta: TokenDelta, piece: TextPiece) -> StreamPiece:
        """`piece` as the caller of a stream sees it."""
        return StreamPiece(
            request_id=delta.request_id,
            index=delta.index,
            text=piece.text,
            token_ids=piece.token_ids,
            logprobs=piece.logprobs,
            finish_reason=piece.finish_reason,
            stop_reason=piece.stop_reason,
            usage=self.usage,
        )

    def output(self) -> RequestOutput:
        """The finished answer."""
        for sequence in self._sequences:  # another's error may have cut them off
            self._push_collected(sequence)
        return RequestOutput(
            request_id=self.request.request_id,
            prompt=self._prompt,
            prompt_token_ids=self.request.prompt_token_ids,
            choices=tuple(
                self._completion(index, sequence) for index, sequence in enumerate(self._sequences)
            ),
            usage=self.usage,
            prompt_logprobs=self._prompt_logprobs,
            error=self.error.message if self.error is not None else None,
        )

    def _completion(self, index: int, sequence: _Sequence) -> CompletionOutput:
        pieces = sequence.pieces
        # An error ends the whole request: a sequence that did not come to its own end shares it.
        end = next((piece for piece in pieces if piece.finish_reason is not None), None)
        wants_logprobs = self.request.sampling.logprobs is not None
        return CompletionOutput(
            index=index,
            text="".join(piece.text for piece in pieces),
            token_ids=_joined(piece.token_ids for piece in pieces),
            finish_reason=end.finish_reason or "error" if end is not None else "error",
            stop_reason=end.stop_reason if end is not None else None,
            logprobs=_joined(piece.logprobs for piece in pieces) if wants_logprobs else None,
            timings=sequence.timings,
        )


def _joined(parts: Iterable[tuple[_Item, ...]]) -> tuple[_Item, ...]:
    return tuple(chain.from_iterable(parts))
