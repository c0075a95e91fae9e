"""Where answers come from: a running server, or a model in this process. Used by `run` and `chat`.

Both give an `AnswerStream`: pieces of text as they come, then the finished `Answer`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from yaie.types import Usage

Message = dict[str, str]  # {"role": ..., "content": ...}
Question = str | list[Message]  # a raw prompt, or a conversation for the chat template


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How to answer; None leaves it to the model's own defaults."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    may_be_shorter: bool = False  # max_tokens was not typed: less will do if the context is full

    def given(self) -> dict[str, Any]:
        """The wishes that were expressed, by their name in the API."""
        fields = ("max_tokens", "temperature", "top_p", "top_k", "seed")
        values = {name: getattr(self, name) for name in fields}
        given = {name: value for name, value in values.items() if value is not None}
        return given | ({"stop": list(self.stop)} if self.stop else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One finished answer. Times are seconds as this process saw them."""

    text: str
    finish_reason: str
    usage: Usage
    first_token_s: float
    total_s: float
    model: str
    place: str  # the device, or the server's address

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints."""
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
        }

    def as_line(self) -> str:
        """One line of statistics for a person."""
        usage = self.usage
        share = 100 * usage.cached_tokens / max(usage.prompt_tokens, 1)
        decoding_s = self.total_s - self.first_token_s
        rate = (usage.completion_tokens - 1) / decoding_s if decoding_s > 0 else 0.0
        speed = f" · {rate:.0f} tok/s" if usage.completion_tokens > 1 and rate else ""
        return (
            f"{self.model} · {self.place} · prompt {usage.prompt_tokens:,} tok "
            f"({usage.cached_tokens:,} cached, {share:.0f} %) · "
            f"TTFT {self.first_token_s * 1000:.0f} ms · {usage.completion_tokens} tok{speed}"
            + (" · cut by --max-tokens" if self.finish_reason == "length" else "")
        )


@dataclass(slots=True)
class AnswerStream:
    """Pieces of one answer as they come; `answer` is there once they are all read.

    Closing it early ends the request where it runs.
    """

    pieces: Generator[str, None, Answer]
    answer: Answer | None = field(default=None)

    def __iter__(self) -> Iterator[str]:
        self.answer = yield from self.pieces

    def finish(self) -> Answer:
        """Read what is left and return the answer."""
        for _ in self:
            pass
        if self.answer is None:
            raise RuntimeError("the answer was read before, and only in part")
        return self.answer

    def close(self) -> None:
        """End the answer here."""
        with contextlib.suppress(KeyboardInterrupt):
            self.pieces.close()


class AnswerSource(Protocol):
    """A model that answers, here or elsewhere."""

    @property
    def name(self) -> str:
        """Which model answers and where, for a person."""

    def stream(self, question: Question, wishes: Wishes) -> AnswerStream:
        """Begin an answer."""

    def settle(self) -> None:
        """All was answered: finish what the next start gains by."""

    def close(self) -> None:
        """Free what the source holds."""
