"""Answers from a model in this process: `LLM`, with the settings of the flags and variables."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from yaie.cli import terminal
from yaie.cli.answers import Answer, AnswerStream, Question, Wishes
from yaie.cli.failures import usage_error
from yaie.errors import ContextLengthExceeded
from yaie.process.gc_pause import gc_paused_then_frozen
from yaie.types import Usage

if TYPE_CHECKING:
    from yaie.llm import LLM, StreamPiece

_SAVING_BEFORE_A_NOTE_S = 0.5
_SAVING_S = 60.0  # gigabytes on a slow disk take longer; a server writes those


def load_model(settings: dict[str, Any]) -> LLM:
    """An `LLM` made from flags and `YAIE_*` variables; raises the `StartupError` of either."""
    from yaie.config import BUILTIN_MODEL, load_settings

    config = load_settings(**settings).engine_config()
    given = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    hint = (
        " (a small demonstration model; -m names another)" if config.model == BUILTIN_MODEL else ""
    )
    terminal.note(f"loading {config.model}{hint} …")
    with gc_paused_then_frozen():
        from yaie.llm import LLM

        return LLM(given.pop("model"), **given)


class ModelAnswers:
    """A model in this process."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._llm = load_model(settings)

    @property
    def name(self) -> str:
        """The model and its device."""
        info = self._llm.info
        return f"{info.model} ({info.num_parameters / 1e6:.1f} M, {info.device})"

    def stream(self, question: Question, wishes: Wishes) -> AnswerStream:
        """Begin an answer; the engine runs while pieces are read."""
        if not isinstance(question, str) and not self._llm.get_tokenizer().has_chat_template:
            raise usage_error(
                f"{self._llm.info.model} has no chat template",
                why="it continues text and does not answer questions",
                advice="yaie run --raw …",
            )
        return AnswerStream(self._pieces(question, wishes))

    def settle(self) -> None:
        """Wait for the packed weights of a first start; who does not want to presses Ctrl-C."""
        with contextlib.suppress(KeyboardInterrupt):
            if not self._llm.wait_until_saved(_SAVING_BEFORE_A_NOTE_S):
                terminal.note("keeping packed weights for the next start …")
                self._llm.wait_until_saved(_SAVING_S)

    def close(self) -> None:
        """Free the model."""
        self._llm.close()

    def _pieces(self, question: Question, wishes: Wishes) -> Generator[str, None, Answer]:
        began = time.perf_counter()
        first_s: float | None = None
        text, reason = "", "error"
        usage = Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0)
        for piece in self._begin(question, wishes):
            if first_s is None:
                first_s = time.perf_counter() - began
            usage, reason = piece.usage, piece.finish_reason or reason
            text += piece.text
            if piece.text:
                yield piece.text
        total_s = time.perf_counter() - began
        info = self._llm.info
        return Answer(
            text=text,
            finish_reason=reason,
            usage=usage,
            first_token_s=total_s if first_s is None else first_s,
            total_s=total_s,
            model=info.model,
            place=info.device,
        )

    def _begin(self, question: Question, wishes: Wishes) -> Generator[StreamPiece, None, None]:
        # No wish means no limit, as in the server's chat; the default of `LLM` is 16 tokens.
        given = {"max_tokens": None} | wishes.given()
        if "stop" in given:
            given["stop"] = tuple(given["stop"])
        sampling = dataclasses.replace(self._llm.default_sampling, **given)
        try:
            return self._llm.stream(question, sampling)
        except ContextLengthExceeded:
            if not wishes.may_be_shorter:
                raise
            return self._llm.stream(question, dataclasses.replace(sampling, max_tokens=None))
