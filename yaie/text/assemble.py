"""One sequence's tokens become the text that a caller sees.

`SequenceText` is fed with the engine's deltas by `LLM` and by the server, so that both stop at the
same character. The engine knows stop tokens; stop strings are found here, and the caller is told
to abort the sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yaie.text.detokenize import make_detokenizer
from yaie.text.stops import StopScanner
from yaie.text.tokenizer import Tokenizer
from yaie.types import FinishReason, SamplingParams, TokenDelta, TokenLogprobs


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """What one delta added to what the caller sees."""

    text: str = ""
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprobs, ...] = ()
    finish_reason: FinishReason | None = None
    stop_reason: str | int | None = None  # the stop string or stop token id that ended it
    must_abort: bool = False  # the engine still works on it: end it there


class SequenceText:
    """The text of one sequence. Invariant: after a finish reason nothing is added."""

    def __init__(
        self, tokenizer: Tokenizer, prompt_token_ids: Sequence[int], sampling: SamplingParams
    ) -> None:
        self._sampling = sampling
        self._detokenizer = make_detokenizer(
            tokenizer, prompt_token_ids, sampling.skip_special_tokens
        )
        self._stops = StopScanner(sampling.stop, sampling.include_stop_str_in_output)
        self.num_tokens = 0
        self.is_finished = False

    def push(self, delta: TokenDelta) -> TextPiece:
        """Take a delta; deltas after the end (of a sequence being aborted) give empty pieces."""
        if self.is_finished:
            return TextPiece()
        # A sequence that its stop token ended does not show that token.
        hides_last = (
            delta.stop_token_id is not None
            and delta.token_ids[-1:] == (delta.stop_token_id,)
            and not self._sampling.include_stop_str_in_output
        )
        text, used, stop = self._read(delta.token_ids, hides_last)
        self.num_tokens += used
        finish_reason: FinishReason | None = delta.finish_reason
        stop_reason: str | int | None = None
        if stop is None and finish_reason is not None:
            tail, stop = self._end()
            text += tail
        if stop is not None:
            stop_reason = stop
            must_abort = finish_reason is None
            finish_reason = "stop"
        else:
            must_abort = False
            if delta.stop_token_id in self._sampling.stop_token_ids:
                stop_reason = delta.stop_token_id
        self.is_finished = finish_reason is not None
        return TextPiece(
            text=text,
            token_ids=delta.token_ids[:used],
            logprobs=delta.logprobs[:used],
            finish_reason=finish_reason,
            stop_reason=stop_reason,
            must_abort=must_abort,
        )

    def _read(self, token_ids: tuple[int, ...], hides_last: bool) -> tuple[str, int, str | None]:
        """Text of `token_ids`, how many of them count, and the stop string met."""
        shown = token_ids[:-1] if hides_last else token_ids
        if not self._sampling.stop:
            return self._detokenizer.push(shown), len(token_ids), None
        # Token by token: which one completes a stop string must not depend on how many came
        # together, and none of the first `min_tokens` ends the text.
        text = ""
        for place, token_id in enumerate(shown):
            piece = self._detokenizer.push((token_id,))
            may_stop = self.num_tokens + place >= self._sampling.min_tokens
            safe, stop = self._stops.push(piece, may_stop=may_stop)
            text += safe
            if stop is not None:
                return text, place + 1, stop
        return text, len(token_ids), None

    def _end(self) -> tuple[str, str | None]:
        rest = self._detokenizer.flush()
        may_stop = self.num_tokens >= self._sampling.min_tokens
        safe, stop = self._stops.push(rest, may_stop=may_stop)
        return safe + self._stops.flush(), stop
