"""`Answer`: the answer to one request, put together from the engine's deltas.

The server and `LLM` both use it, so they cut text at the same character and count alike. The
engine checks stop tokens. Stop strings are found here, and the caller aborts the sequence.

Tokens of a request without stop strings are decoded by `decode` or `take`, when the caller has time
for it. Until then a sequence keeps all of them, so the caller bounds their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from yaie.base.errors import InvalidRequest, RequestError
from yaie.base.types import (
    FinishReason,
    GenerationRequest,
    SamplingParams,
    Timings,
    TokenDelta,
    TokenLogprobs,
    Usage,
)
from yaie.text.detokenize import make_detokenizer
from yaie.text.output_parts import OutputParser, Part, PlainText, TextPart, reasoning_of
from yaie.text.stops import StopScanner
from yaie.text.tokenizer import Tokenizer


class TextPiece(msgspec.Struct, frozen=True, kw_only=True):
    """Text and tokens that one sequence added since the last piece."""

    text: str = ""
    parts: tuple[Part, ...] = ()  # parts in `text`, and in text held back before
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprobs, ...] = ()
    parse_fault: str = ""  # on the last piece: why a tool call could not be parsed
    is_in_call: bool = False  # on the last piece: a limit or stop string cut a tool call
    finish_reason: FinishReason | None = None  # on the last piece
    stop_reason: str | int | None = None  # the stop string, pattern or token id that ended it


class SequenceText:
    """Text of one sequence. Invariant: after its finish reason it never grows."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        prompt_token_ids: Sequence[int],
        sampling: SamplingParams,
        parser: OutputParser | None = None,
    ) -> None:
        self._parser = PlainText() if parser is None else parser
        self.num_tokens = 0
        self.num_reasoning_tokens = 0  # in the text taken so far
        self._tokenizer = tokenizer
        self.finish_reason: FinishReason | None = None
        self.stop_reason: str | int | None = None
        self._sampling = sampling
        self._may_end = self._parser.may_end
        has_stops = bool(sampling.stop or sampling.stop_regex)
        self._is_scanned = has_stops or self._may_end  # token by token, for its end
        self._detokenizer = make_detokenizer(
            tokenizer, prompt_token_ids, sampling.skip_special_tokens, self._parser.markers
        )
        self._stops = StopScanner(
            sampling.stop, sampling.include_stop_str_in_output, sampling.stop_regex
        )
        self._undecoded: list[int] = []
        # Since the last `take`:
        self._texts: list[str] = []
        self._parts: list[Part] = []
        self._token_ids: list[int] = []
        self._logprobs: list[TokenLogprobs] = []
        self._is_end_taken = False

    def push(self, delta: TokenDelta) -> bool:
        """Add a delta; return True if the text ended a sequence still running in the engine.

        A delta after the end, of a sequence being aborted, is ignored.
        """
        if self.finish_reason is not None:
            return False
        token_ids, is_cut = delta.token_ids, False
        shown = token_ids
        if delta.stop_token_id is not None:
            shown = self._without_stop_token(delta)
            if delta.stop_token_id in self._sampling.stop_token_ids:
                self.stop_reason = delta.stop_token_id
        if self._is_scanned:
            num_scanned, is_cut = self._scan(shown)
            if is_cut:
                token_ids = token_ids[:num_scanned]
        else:
            self._undecoded += shown
        self.num_tokens += len(token_ids)
        self._token_ids += token_ids
        if delta.logprobs:
            self._logprobs += delta.logprobs[: len(token_ids)]
        if self._is_scanned and not is_cut and delta.finish_reason is not None:
            is_cut = self._flush()
        self.finish_reason = "stop" if is_cut else delta.finish_reason
        return is_cut and delta.finish_reason is None

    def fail(self) -> bool:
        """End with the finish reason `error`; return False if the sequence has ended before."""
        is_running = self.finish_reason is None
        self.finish_reason = self.finish_reason or "error"
        return is_running

    @property
    def may_pass(self) -> bool:
        """True if the text cannot end the sequence, so that `pass_on` may be used."""
        return not self._is_scanned

    def pass_on(self, token_ids: tuple[int, ...]) -> TextPiece:
        """Return a piece for tokens that are taken as they arrive, after all earlier pieces."""
        self.num_tokens += len(token_ids)
        text = self._detokenizer.push(token_ids)
        piece = TextPiece(text=text, parts=tuple(self._parser.push(text)), token_ids=token_ids)
        self._count_reasoning(piece)
        return piece

    def _without_stop_token(self, delta: TokenDelta) -> tuple[int, ...]:
        """Return the tokens to show: not the stop token that ended the sequence."""
        is_last = delta.token_ids[-1:] == (delta.stop_token_id,)
        if is_last and not self._sampling.include_stop_str_in_output:
            return delta.token_ids[:-1]
        return delta.token_ids

    @property
    def num_undecoded(self) -> int:
        """Number of tokens for `decode`; always 0 if the text may end the sequence."""
        return len(self._undecoded)

    def decode(self, max_tokens: int | None = None) -> None:
        """Decode the next `max_tokens` undecoded tokens, by default all. Many cost less each."""
        undecoded = self._undecoded
        if not undecoded:
            return
        if max_tokens is None or len(undecoded) <= max_tokens:
            self._undecoded = []
        else:
            undecoded, self._undecoded = undecoded[:max_tokens], undecoded[max_tokens:]
        self._texts.append(self._detokenizer.push(undecoded))

    def take(self) -> TextPiece:
        """Return everything since the last call; decode the rest of it."""
        self.decode()
        is_end = self.finish_reason is not None and not self._is_end_taken
        if is_end and not self._is_scanned:
            self._texts.append(self._detokenizer.flush())
        text = "".join(self._texts)
        parts = self._parts if self._may_end else self._parser.push(text)
        if is_end:
            parts += self._parser.end(is_cut=self._is_cut)
        piece = TextPiece(
            text=text,
            parts=tuple(parts),
            token_ids=tuple(self._token_ids),
            logprobs=tuple(self._logprobs),
            parse_fault=self._parser.fault if is_end else "",
            is_in_call=is_end and self._is_cut and self._parser.is_in_call,
            finish_reason=self.finish_reason if is_end else None,
            stop_reason=self.stop_reason if is_end else None,
        )
        self._count_reasoning(piece)
        self._is_end_taken = self._is_end_taken or is_end
        self._texts, self._parts, self._token_ids, self._logprobs = [], [], [], []
        return piece

    @property
    def _is_cut(self) -> bool:
        """True if a limit or a stop string ended the text, not the model."""
        return self.finish_reason != "stop" or isinstance(self.stop_reason, str)

    def _count_reasoning(self, piece: TextPiece) -> None:
        if len(piece.parts) == 1 and type(piece.parts[0]) is TextPart:
            return  # true of most pieces
        reasoning = reasoning_of(piece.parts)
        if not reasoning:
            return
        if len(piece.parts) == 1:  # reasoning alone
            self.num_reasoning_tokens += len(piece.token_ids)
            return
        ids = self._tokenizer.encode(reasoning, add_special_tokens=False)
        self.num_reasoning_tokens += min(len(ids), len(piece.token_ids))

    def _scan(self, token_ids: tuple[int, ...]) -> tuple[int, bool]:
        """Decode tokens up to the end of the text; return their number, and whether it ended.

        Token by token: the token that ends a stop string must not depend on the delta size, and the
        first `min_tokens` tokens cannot end the text.
        """
        for place, token_id in enumerate(token_ids):
            piece = self._detokenizer.push((token_id,))
            may_stop = self.num_tokens + place >= self._sampling.min_tokens
            safe, stop = self._stops.push(piece, may_stop=may_stop)
            self._add(safe)
            if stop is not None:
                self.stop_reason = stop
            if stop is not None or self._parser.is_done:
                return place + 1, True
        return len(token_ids), False

    def _flush(self) -> bool:
        """Add the text held back, at the end; return True if it contains a stop string."""
        may_stop = self.num_tokens >= self._sampling.min_tokens
        safe, stop = self._stops.push(self._detokenizer.flush(), may_stop=may_stop)
        self._add(safe + self._stops.flush())
        if stop is not None:
            self.stop_reason = stop
        return stop is not None

    def _add(self, text: str) -> None:
        self._texts.append(text)
        if self._may_end:
            self._parts += self._parser.push(text)


class Answer:
    """The `n` sequences of one request, its usage and its first error."""

    def __init__(
        self,
        request: GenerationRequest,
        tokenizer: Tokenizer,
        make_parser: Callable[[], OutputParser] = PlainText,
    ) -> None:
        self.request = request
        self.error: RequestError | None = None  # it ends the whole request
        self._is_failed = False  # in the engine
        self.prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None
        self.pooled = b""  # of a request with pooling
        self.timings = [Timings()] * request.sampling.n
        self._num_cached_tokens = 0
        self._num_accepted = self._num_rejected = 0  # draft tokens
        self._sequences = [
            SequenceText(tokenizer, request.prompt_token_ids, request.sampling, make_parser())
            for _ in range(request.sampling.n)
        ]
        self._num_running = request.sampling.n  # in the engine

    @property
    def is_over(self) -> bool:
        """True once the engine has ended every sequence, or the request with an error."""
        return self._num_running == 0 or self._is_failed

    @property
    def usage(self) -> Usage:
        """Token counts so far; tokens after a stop string do not count."""
        return Usage(
            prompt_tokens=len(self.request.prompt_token_ids),
            completion_tokens=sum(self.num_tokens),
            cached_tokens=self._num_cached_tokens,
            reasoning_tokens=sum(sequence.num_reasoning_tokens for sequence in self._sequences),
            accepted_prediction_tokens=self._num_accepted,
            rejected_prediction_tokens=self._num_rejected,
        )

    def push(self, delta: TokenDelta) -> bool:
        """Add a delta, in order; return True if its sequence has to be aborted in the engine."""
        sequence = self._sequences[delta.index]
        was_over, num_before = sequence.finish_reason is not None, sequence.num_tokens
        must_abort = False
        if self.error is None:
            try:
                must_abort = sequence.push(delta)
            except InvalidRequest as error:  # a stop pattern took too long
                self.error = error.to_wire()
        if self.error is not None:
            must_abort = sequence.fail() and delta.finish_reason is None
        if delta.finish_reason is not None:
            self._num_running -= 1
        if not was_over:
            self._count(delta, sequence.num_tokens - num_before)
        if delta.prompt_logprobs is not None:
            self.prompt_logprobs = delta.prompt_logprobs
        self.pooled = delta.pooled or self.pooled
        if delta.timings is not None:
            self.timings[delta.index] = delta.timings
        if delta.error is not None:
            self.error, self._is_failed = delta.error, True
        return must_abort

    @property
    def may_pass(self) -> bool:
        """True if `pass_on` may be used: the engine alone ends the only sequence."""
        return len(self._sequences) == 1 and self._sequences[0].may_pass

    def pass_on(self, delta: TokenDelta) -> TextPiece:
        """Add a plain delta and return its piece; all earlier pieces were taken."""
        self._count(delta, len(delta.token_ids))
        return self._sequences[0].pass_on(delta.token_ids)

    def _count(self, delta: TokenDelta, num_kept: int) -> None:
        """Count for the usage; `num_kept`: the delta's tokens up to the end of the text."""
        self._num_cached_tokens = max(self._num_cached_tokens, delta.num_cached_tokens)
        self._num_accepted += min(delta.num_accepted, num_kept)  # the first tokens of the delta
        self._num_rejected += delta.num_rejected

    def finish_reason(self, index: int) -> FinishReason | None:
        """Return the finish reason of one sequence; None while its text grows."""
        return self._sequences[index].finish_reason

    @property
    def num_tokens(self) -> tuple[int, ...]:
        """Completion tokens of each sequence so far."""
        return tuple(sequence.num_tokens for sequence in self._sequences)

    def num_undecoded(self, index: int) -> int:
        """Return the number of tokens of one sequence for `decode`."""
        return self._sequences[index].num_undecoded

    def decode(self, index: int, max_tokens: int) -> None:
        """Decode at most `max_tokens` tokens of one sequence, to be taken later."""
        self._sequences[index].decode(max_tokens)

    def take(self, index: int) -> TextPiece:
        """Return everything of one sequence since the last call."""
        return self._sequences[index].take()
