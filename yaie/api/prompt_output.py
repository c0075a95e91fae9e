"""`PromptOutput` and `ReturnSample`: answers as records, with rates and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict

from yaie.api.outputs import take_piece
from yaie.base.types import FinishReason, Timings, Usage

if TYPE_CHECKING:  # it loads the tokenizer
    from yaie.text.answer import Answer


class PromptOutput(BaseModel):
    """Answer to one prompt, or the reason why there is none.

    `generated_tokens` counts the sampled tokens, the end token or stop token included.
    `tokens_per_second` is the rate after the first token, None below two tokens. `ttft` is the time
    from arrival to the first token in seconds, None without a token.
    """

    model_config = ConfigDict(frozen=True)

    text: str = ""
    generated_tokens: int = 0
    tokens_per_second: float | None = None
    error: str | None = None
    finish_reason: FinishReason | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0  # prompt tokens served from the cache
    ttft: float | None = None
    token_ids: tuple[int, ...] = ()
    reasoning: str = ""  # chats only: the thoughts before the answer

    @property
    def usage(self) -> Usage:
        """Token counts of prompt and answer."""
        return Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.generated_tokens,
            cached_tokens=self.cached_tokens,
        )

    @classmethod
    def refused(cls, message: str) -> Self:
        """Return the record of a prompt that was not run."""
        return cls(error=message, finish_reason="error")


class ReturnSample(PromptOutput):
    """One piece of a stream, or a whole answer.

    `text` is the new text and `accumulated_text` the answer so far; the counts cover the answer so
    far.
    """

    index: int = 0  # prompt index
    accumulated_text: str = ""


class Gathered:
    """Text and tokens of an answer's first sequence so far."""

    def __init__(self) -> None:
        self.text = ""
        self._reasoning = ""
        self._token_ids: list[int] = []
        self._finish_reason: FinishReason | None = None

    def take(self, answer: Answer) -> str:
        """Gather the growth of `answer` since the last call; return its text."""
        piece = take_piece(answer, 0)
        self.text += piece.text
        self._reasoning += piece.reasoning
        self._token_ids += piece.token_ids
        self._finish_reason = piece.finish_reason or self._finish_reason
        return piece.text

    def output(self, answer: Answer) -> PromptOutput:
        """Return the record of what has been gathered."""
        return PromptOutput(**self.fields(answer))

    def sample(self, answer: Answer, index: int, text: str, elapsed_s: float) -> ReturnSample:
        """Return a stream piece with the new `text`, `elapsed_s` after the first token."""
        fields = self.fields(answer) | {"text": text, "accumulated_text": self.text}
        if fields["finish_reason"] is None:  # the engine tells its times at the end
            timings = Timings(total_s=elapsed_s)
            fields |= {"tokens_per_second": decode_rate(len(self._token_ids), timings)}
        return ReturnSample(index=index, **fields)

    def fields(self, answer: Answer) -> dict[str, Any]:
        """Return the fields of that record."""
        num_tokens, timings, usage = len(self._token_ids), answer.timings[0], answer.usage
        return {
            "text": self.text,
            "generated_tokens": num_tokens,
            "tokens_per_second": decode_rate(num_tokens, timings),
            "error": None if answer.error is None else answer.error.message,
            "finish_reason": self._finish_reason if answer.error is None else "error",
            "prompt_tokens": usage.prompt_tokens,
            "cached_tokens": usage.cached_tokens,
            "ttft": timings.first_token_s if num_tokens else None,
            "token_ids": tuple(self._token_ids),
            "reasoning": self._reasoning,
        }


def decode_rate(num_tokens: int, timings: Timings) -> float | None:
    """Return the tokens per second after the first token; None below two tokens."""
    seconds = timings.total_s - timings.first_token_s
    if num_tokens < 2 or seconds <= 0:
        return None
    return (num_tokens - 1) / seconds
