"""Answer sources for `run` and `chat`: a running server, or a model in this process.

Both return an `AnswerStream`: pieces of text as they arrive, then the `FinishedAnswer`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from yaie.base.types import Grammar, Usage
from yaie.cli import terminal
from yaie.cli.sampling_options import SamplingOptions

Message = dict[str, str]  # {"role": ..., "content": ...}
Question = str | list[Message]  # a raw prompt, or a conversation for the chat template


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAnswer:
    """One finished answer. Times are in seconds, measured in this process."""

    text: str
    finish_reason: str
    usage: Usage
    first_token_s: float
    total_s: float
    model: str
    place: str  # the device, or the server's address
    explanation: dict[str, Any] | None = None  # the server's cache explanation, if requested

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        explained = {"cache_explanation": self.explanation} if self.explanation else {}
        return {
            "text": self.text,
            "finish_reason": self.finish_reason,
            "model": self.model,
            "place": self.place,
            "usage": {
                "prompt_tokens": self.usage.prompt_tokens,
                "completion_tokens": self.usage.completion_tokens,
                "cached_tokens": self.usage.cached_tokens,
            },
            "timings": {
                "first_token_s": round(self.first_token_s, 6),
                "total_s": round(self.total_s, 6),
            },
            **explained,
        }

    def as_line(self) -> str:
        """Return the statistics line that `--stats` prints."""
        usage = self.usage
        share = 100 * usage.cached_tokens / max(usage.prompt_tokens, 1)
        decoding_s = self.total_s - self.first_token_s
        rate = (usage.completion_tokens - 1) / decoding_s if decoding_s > 0 else 0.0
        accepted = usage.accepted_prediction_tokens
        drafted = f" ({accepted} from drafts)" if accepted else ""
        speed = f" · {rate:.0f} tok/s" if usage.completion_tokens > 1 and rate else ""
        return (
            f"{self.model} · {self.place} · prompt {usage.prompt_tokens:,} tok "
            f"({usage.cached_tokens:,} cached, {share:.0f} %) · "
            f"TTFT {self.first_token_s * 1000:.0f} ms · {usage.completion_tokens} tok"
            f"{drafted}{speed}"
            + (" · cut by --max-tokens" if self.finish_reason == "length" else "")
        )


@dataclass(slots=True)
class AnswerStream:
    """Text pieces of one answer as they arrive; `answer` is set after the last piece.

    Closing the stream early aborts the request.
    """

    pieces: Generator[str, None, FinishedAnswer]
    answer: FinishedAnswer | None = field(default=None)

    def __iter__(self) -> Iterator[str]:
        self.answer = yield from self.pieces

    def finish(self) -> FinishedAnswer:
        """Read the remaining pieces and return the answer."""
        for _ in self:
            pass
        if self.answer is None:
            raise RuntimeError("the stream was closed before its end")
        return self.answer

    def close(self) -> None:
        """Abort the answer."""
        with contextlib.suppress(KeyboardInterrupt):
            self.pieces.close()


class ReasoningOnScreen:
    """Reasoning of one answer, shown dim on a terminal before the answer itself."""

    def __init__(self) -> None:
        self._is_open = False

    def show(self, reasoning: str) -> None:
        """Show more of the reasoning; empty text, the beginning of the answer, ends it."""
        if reasoning:
            self._is_open = True
            terminal.aside(reasoning)
        elif self._is_open:
            self._is_open = False
            terminal.aside("\n\n")


class AnswerSource(Protocol):
    """A model in this process or behind a server."""

    @property
    def name(self) -> str:
        """The model and its location, as shown to the user."""

    @property
    def sampling(self) -> dict[str, float]:
        """The sampling where an option is not given; empty if a server does not tell its own."""

    def models(self) -> list[str]:
        """Return the names of the models that `use_model` accepts."""

    def use_model(self, name: str) -> None:
        """Switch to another model; raises a usage error for an unknown model."""

    def stream(
        self, question: Question, options: SamplingOptions, grammar: Grammar | None = None
    ) -> AnswerStream:
        """Begin an answer, constrained by `grammar` if given."""

    def settle(self) -> None:
        """Finish work that speeds up the next start, after the last answer."""

    def close(self) -> None:
        """Free the model or the connection."""
